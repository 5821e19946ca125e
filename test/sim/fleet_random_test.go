package sim

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
)

// upset is one thing that happens to a fleet.
type upset struct {
	at   time.Duration
	name string
	do   func(f *fleet)
	// harms says that it may cost extra admissions.
	harms bool
}

// drawUpsets draws what happens in a run: planned changes only, or faults as well.
func drawUpsets(r *rand.Rand, faults bool) (all []upset) {
	next := 10
	at := 2 * time.Second
	kinds := 3
	if faults {
		kinds = 7
	}
	for range 3 + r.IntN(4) {
		u := upset{at: at}
		pickOne, other := r.Float64(), r.Float64()
		some := func(f *fleet, x float64) *member {
			living := f.living()
			return living[int(x*float64(len(living)))]
		}
		switch r.IntN(kinds) {
		case 0:
			id := name(next)
			next++
			u.name, u.do = "join of "+id, func(f *fleet) { f.start(id) }
		case 1:
			u.name, u.do = "leave", func(f *fleet) {
				if len(f.living()) > 2 {
					f.leave(some(f, pickOne).name)
				}
			}
		case 2:
			u.name, u.do = "restart", func(f *fleet) {
				if len(f.living()) > 1 {
					m := some(f, pickOne)
					f.leave(m.name)
					f.start(m.name)
				}
			}
		case 3, 4:
			u.name, u.harms, u.do = "crash", true, func(f *fleet) {
				if len(f.living()) < 3 {
					return
				}
				m := some(f, pickOne)
				f.fault(false)
				f.crash(m.name)
				time.Sleep(time.Duration(other * float64(2*time.Second)))
				f.start(m.name)
			}
		case 5:
			u.name, u.harms, u.do = "one is cut off", true, func(f *fleet) {
				f.fault(false)
				heal := f.cut(some(f, pickOne).name)
				time.Sleep(time.Duration(other * float64(8*time.Second)))
				f.fault(false)
				heal()
			}
		case 6:
			u.name, u.harms, u.do = "a cut through the middle", true, func(f *fleet) {
				living := f.living()
				var side []string
				for i, m := range living {
					if i < len(living)/2 {
						side = append(side, m.name)
					}
				}
				f.fault(true)
				heal := f.cut(side...)
				time.Sleep(time.Duration(other * float64(8*time.Second)))
				f.fault(true)
				heal()
			}
		}
		all = append(all, u)
		at += time.Duration(r.Float64() * float64(3*time.Second))
	}
	return all
}

// fault allows every group what a fault may cost now: what its owner may have debited, admitted or lent without its copy
// knowing, and never more than a burst.
func (f *fleet) fault(copies bool) {
	now := bucket.Instant(time.Since(f.began))
	for _, g := range f.groups {
		g.fault(now, copies)
	}
}

// runRandom runs one seed, and returns what it came to.
func runRandom(t *testing.T, seed uint64, faults bool) (story string) {
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(seed, 9))
		f := newFleet(t, seed, fleetGroups(), nil)
		n := 2 + r.IntN(4)
		if faults {
			n++
		}
		for i := range n {
			f.start(name(i))
		}
		f.settle()
		f.load()
		f.newPolicies(rand.New(rand.NewPCG(seed, 12)))
		f.newLimits(rand.New(rand.NewPCG(seed, 13)))
		time.Sleep(2 * time.Second)
		var told []string
		for _, u := range drawUpsets(r, faults) {
			told = append(told, u.name)
			u.do(f)
			time.Sleep(time.Duration(r.Float64() * float64(2*time.Second)))
		}
		took := f.settle()
		time.Sleep(2 * time.Second)
		f.stop.Store(true)
		f.loading.Wait()
		time.Sleep(5 * time.Second) // leases come back, debts are settled
		story = fmt.Sprintf("seed %d: %d nodes, %s, settled after %v: %d checks, %d by rule, ", seed, n,
			strings.Join(told, ", "), took, f.checks.Load(), f.degraded.Load())
		f.judge(faults)
		f.judgeStored()
		most := int64(0)
		for _, g := range f.groups {
			most = max(most, g.over())
		}
		story += fmt.Sprintf("%d too much at most; limits of keys changed %d times", most, f.stored.sets)
	})
	return story
}

// newLimits has keys get limits of their own, and those of their policies again, one after the other at random nodes until the fleet ends.
// They are what the policy has, or lower, so that never more may be admitted than by those.
func (f *fleet) newLimits(r *rand.Rand) {
	f.stored.last = make(map[*fleetGroup]storedKey)
	f.loading.Go(func() {
		for !f.stop.Load() {
			time.Sleep(time.Duration(1+r.IntN(400)) * time.Millisecond)
			ready := f.ready()
			if len(ready) == 0 {
				continue
			}
			m, g := ready[r.IntN(len(ready))], f.groups[r.IntN(len(f.groups))]
			f.stored.tries++
			text := ""
			if way := r.IntN(4); way > 0 {
				text = g.storedText(way == 1, f.stored.tries)
			}
			got := m.SetLimits(context.Background(), []policy.KeyLimits{{Policy: g.policy, Parts: []string{g.key}, Text: text}})[0]
			if got.Err == nil {
				f.stored.sets++
				f.stored.last[g] = storedKey{got, text}
			}
		}
	})
}

// judge says what is not as it should be after a run.
func (f *fleet) judge(faults bool) {
	f.t.Helper()
	for _, g := range f.groups {
		if excess := g.excess(); excess > 0 {
			f.t.Errorf("%s/%s: %v admitted too much, of which faults allow %v and failure rules %d", g.policy, g.key, g.overs(),
				g.faulted, g.ruled)
		}
	}
	if e := f.failed.Load(); e > 0 {
		f.t.Errorf("%d checks failed", e)
	}
	if d := f.degraded.Load(); !faults && d > 0 {
		f.t.Errorf("%d of %d checks were decided by a failure rule", d, f.checks.Load())
	}
	for _, m := range f.living() {
		s := m.Stats()
		if l := s.Table.Leases; l.Out != 0 {
			f.t.Errorf("%s: %d tokens are still out", m.name, l.Out)
		}
		if held := s.Table.Held; held != 0 {
			f.t.Errorf("%s: something of %d groups is still held", m.name, held)
		}
		if s.Purses != 0 {
			f.t.Errorf("%s: %d purses are still kept", m.name, s.Purses)
		}
		if s.DebtsOpen != 0 {
			f.t.Errorf("%s: %d debts are still open", m.name, s.DebtsOpen)
		}
	}
}

// TestFleetPlanned has nodes come and go at random: nothing is admitted too much, and every check is decided as ever.
func TestFleetPlanned(t *testing.T) {
	for seed := range fleetSeeds() {
		t.Log(runRandom(t, seed, false))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestFleetFaults has them die and lose each other as well.
func TestFleetFaults(t *testing.T) {
	for seed := range fleetSeeds() {
		t.Log(runRandom(t, seed, true))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

var fleets = flag.Int("fleets", defaultFleets, "how many seeds TestFleetPlanned and TestFleetFaults run, from 1 up")

// fleetSeeds are the seeds to run: -seed alone, or -fleets of them.
func fleetSeeds() func(yield func(uint64) bool) {
	return func(yield func(uint64) bool) {
		if *seed != 0 {
			yield(*seed)
			return
		}
		for s := range uint64(*fleets) {
			if !yield(s + 1) {
				return
			}
		}
	}
}
