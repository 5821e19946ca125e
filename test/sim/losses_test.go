package sim

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
)

// TestCrash: a crash costs what the owner had debited since its last snapshot, and never more than a burst.
func TestCrash(t *testing.T) {
	for seed := uint64(1); seed <= min(5, defaultFleets); seed++ {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t, seed, fleetGroups(), nil)
			for i := range 3 {
				f.start(name(i))
			}
			f.settle()
			f.load()
			time.Sleep(3 * time.Second)
			f.fault(false)
			f.crash(name(int(seed) % 3))
			time.Sleep(3 * time.Second)
			f.start(name(int(seed) % 3))
			took := f.settle()
			time.Sleep(time.Second)
			f.stop.Store(true)
			f.loading.Wait()
			time.Sleep(5 * time.Second)
			f.report("crash, settled after " + took.String())
			f.judge(true)
		})
	}
}

// TestCut cuts two of five nodes off for 20 s: each rule for the unreachable does what it says, on both sides.
func TestCut(t *testing.T) {
	if raceDetector {
		t.Skip("takes long with the race detector")
	}
	synctest.Test(t, func(t *testing.T) {
		limit := bucket.Limit{Count: 10, Per: time.Second, Burst: 100}
		var groups []*fleetGroup
		for rule := policy.UnreachableLocal; rule <= policy.UnreachableAllow; rule++ {
			for i := range 8 {
				groups = append(groups, &fleetGroup{policy: rule.String(), key: fmt.Sprint(i), perSec: 30, unreachable: rule,
					limits: []bucket.Limit{limit}})
			}
		}
		f := newFleet(t, 1, groups, nil)
		for i := range 5 {
			f.start(name(i))
		}
		f.settle()
		f.load()
		time.Sleep(15 * time.Second) // the buckets are empty
		f.fault(true)
		const lasts = 20 * time.Second
		heal := f.cut(name(3), name(4))
		time.Sleep(lasts)
		heal()
		took := f.settle()
		time.Sleep(5 * time.Second)
		f.stop.Store(true)
		f.loading.Wait()
		time.Sleep(2 * time.Second)
		f.report("cut, whole again after " + took.String())
		if f.failed.Load() > 0 {
			t.Errorf("%d checks had no answer", f.failed.Load())
		}
		for _, g := range f.groups {
			if w := time.Duration(g.lastRuled - g.firstRuled); w > lasts+3*time.Second {
				t.Errorf("%s/%s: shares were used for %v after a cut of %v", g.policy, g.key, w, lasts)
			}
			// Two of five have their shares of the burst and of what flows in, for as long as they are without a majority.
			share := int64(2.0 / 5 * (float64(limit.Burst) + float64(limit.Count)*time.Duration(g.lastRuled-g.firstRuled).Seconds()))
			switch {
			case g.unreachable == policy.UnreachableLocal && (g.ruled > share || g.ruled == 0):
				t.Errorf("%s/%s: two nodes of five admitted %d by their shares, want some, and at most %d", g.policy, g.key, g.ruled, share)
			case g.unreachable == policy.UnreachableDeny && g.ruled > 0:
				t.Errorf("%s/%s: %d admitted that should have been denied", g.policy, g.key, g.ruled)
			case g.unreachable == policy.UnreachableAllow && g.ruled < 2*g.faulted[0]:
				t.Errorf("%s/%s: %d admitted where all should have been", g.policy, g.key, g.ruled)
			}
		}
		f.judge(true)
	})
}

// TestLostOwnerEmpties: a limit that says so starts with nothing when its owner was lost, and nothing is admitted twice,
// not even what was lent.
func TestLostOwnerEmpties(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var groups []*fleetGroup
		for i := range 20 {
			groups = append(groups, &fleetGroup{policy: "exact", key: fmt.Sprint(i), perSec: 60, unreachable: policy.UnreachableDeny,
				limits: []bucket.Limit{{Count: 1, Per: time.Minute, Burst: 100, OwnerLoss: bucket.LossEmpty}}})
		}
		f := newFleet(t, 1, groups, nil)
		for i := range 3 {
			f.start(name(i))
		}
		f.settle()
		f.load()
		time.Sleep(time.Second) // more than half of every burst is left, and what was taken last no copy has
		f.crash(name(1))
		time.Sleep(3 * time.Second)
		f.stop.Store(true)
		f.loading.Wait()
		f.report("lost owner")
		emptied := 0
		for _, g := range groups {
			if over := g.over(); over > 0 {
				t.Errorf("%s/%s: %d admitted too much", g.policy, g.key, over)
			}
			if g.admitted < 90 {
				emptied++
			}
		}
		if emptied == 0 {
			t.Error("no bucket was emptied: the test shows nothing")
		}
	})
}
