package sim

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestCrash: a crash costs what the owner had debited since its last snapshot, and never more than a burst.
func TestCrash(t *testing.T) {
	for seed := uint64(1); seed <= 5; seed++ {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t, seed, fleetGroups(), nil)
			for i := range 3 {
				f.start(name(i))
			}
			f.settle()
			f.load()
			time.Sleep(3 * time.Second)
			f.crash(name(int(seed) % 3))
			time.Sleep(3 * time.Second)
			f.start(name(int(seed) % 3))
			took := f.settle()
			time.Sleep(time.Second)
			f.stop.Store(true)
			f.loading.Wait()
			f.report("crash, settled after " + took.String())
			for _, g := range f.groups {
				if over := g.over(); over > g.limits[0].Burst {
					t.Errorf("%s/%s: %d admitted too much, more than a burst", g.policy, g.key, over)
				}
			}
		})
	}
}

// TestCut cuts two of five nodes off for 20 s.
func TestCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, fleetGroups(), nil)
		for i := range 5 {
			f.start(name(i))
		}
		f.settle()
		f.load()
		time.Sleep(3 * time.Second)
		heal := f.cut(name(3), name(4))
		time.Sleep(5 * time.Second)
		heal()
		took := f.settle()
		time.Sleep(2 * time.Second)
		f.stop.Store(true)
		f.loading.Wait()
		f.report("cut, settled after " + took.String())
	})
}
