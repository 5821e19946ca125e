package node

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// TestSampledIsChargedForAll: one check in ten is decided, and pays for those that followed it.
func TestSampledIsChargedForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := lendingCluster(t, 1, nil)[0]
		req := policy.Request{Policy: "sampled", Key: "ann"}
		var by [2]int
		for range 91 {
			d := check(t, n, req)
			if !d.Allowed {
				t.Fatalf("%+v", d)
			}
			switch d.DecidedBy {
			case policy.Owner:
				by[0]++
			case policy.Sample:
				by[1]++
			default:
				t.Fatalf("%+v", d)
			}
		}
		if by != [2]int{10, 81} {
			t.Errorf("%d decided, %d followed: want 10 and 81", by[0], by[1])
		}
		req.CheckOnly = true
		if d := check(t, n, req); d.Remaining != 9 || d.DecidedBy != policy.Owner {
			t.Errorf("a look after 91 checks: %+v, want 9 of 100 left", d)
		}
	})
}

// TestSampledFollowsForAMoment: a verdict is old after a tenth of a second, so a key that is seldom asked for is
// charged for each check, and a denial lasts no longer.
func TestSampledFollowsForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := lendingCluster(t, 1, nil)[0]
		req := policy.Request{Policy: "sampled", Key: "bob"}
		for i := range 20 {
			if d := check(t, n, req); d.DecidedBy != policy.Owner || d.Remaining != int64(99-i) {
				t.Fatalf("check %d: %+v", i, d)
			}
			time.Sleep(sampleLife + 1)
		}
		if d := check(t, n, policy.Request{Policy: "sampled", Key: "bob", Cost: 90}); d.Allowed {
			t.Fatalf("%+v", d)
		}
		if d := check(t, n, req); d.Allowed || d.DecidedBy != policy.Sample {
			t.Errorf("right after a denial: %+v, want the same verdict", d)
		}
		time.Sleep(sampleLife + 1)
		if d := check(t, n, req); !d.Allowed || d.DecidedBy != policy.Owner {
			t.Errorf("a moment later: %+v, want it decided", d)
		}
	})
}

// TestSampledOwesWhatItCantPay: what followers used up and a denied check could not pay is charged later.
func TestSampledOwesWhatItCantPay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := lendingCluster(t, 1, nil)[0]
		check(t, n, policy.Request{Policy: "sampled", Key: "eve", Cost: 98})
		req := policy.Request{Policy: "sampled", Key: "eve"}
		followed := 0
		for range 9 {
			if d := check(t, n, req); d.Allowed && d.DecidedBy == policy.Sample {
				followed++
			}
		}
		if followed != 9 {
			t.Fatalf("%d followed, want 9", followed)
		}
		if d := check(t, n, req); d.Allowed { // 10 are due, and 2 are left
			t.Errorf("%+v, want a denial", d)
		}
		time.Sleep(9 * time.Minute) // 11 are left
		if d := check(t, n, req); !d.Allowed || d.Remaining != 1 {
			t.Errorf("%+v, want 1 left when all is paid", d)
		}
	})
}
