package sim

import (
	"flag"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

var comings = flag.Int("comings", defaultFleets, "how many nodes come and go in TestComeAndGo")

// TestComeAndGo has many nodes join and leave, one after the other: what they needed is given back.
func TestComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, fleetGroups()[:3], nil)
		for i := range 3 {
			f.start(name(i))
		}
		f.settle()
		f.load()
		come := func(i int) {
			f.start(name(100 + i))
			time.Sleep(1500 * time.Millisecond)
			f.leave(name(100 + i))
			f.forgetMember(name(100 + i))
		}
		come(0) // what the first needs stays
		goroutines, heap := f.footprint()
		for i := range *comings {
			come(1 + i)
		}
		f.settle()
		goroutinesNow, heapNow := f.footprint()
		t.Logf("after %d joins and leaves: %d goroutines, were %d; %d kB of heap, were %d; %d checks, %d by rule", *comings,
			goroutinesNow, goroutines, heapNow>>10, heap>>10, f.checks.Load(), f.degraded.Load())
		if goroutinesNow > goroutines+20 {
			t.Errorf("%d goroutines, were %d", goroutinesNow, goroutines)
		}
		if heapNow > heap+heap/4+8<<20 {
			t.Errorf("%d bytes of heap, were %d", heapNow, heap)
		}
		for _, m := range f.living() {
			if s := m.Stats(); s.LinksUp != 2 || s.Members != 3 {
				t.Errorf("%s: %d links, %d members", m.name, s.LinksUp, s.Members)
			}
		}
		if d := f.degraded.Load() + f.failed.Load(); d > 0 {
			t.Errorf("%d checks were decided by rule, or failed", d)
		}
		for _, g := range f.groups {
			if over := g.over(); over > 0 {
				t.Errorf("%s/%s: %d admitted too much", g.policy, g.key, over)
			}
		}
	})
}

// forgetMember lets go of a node that has ended.
func (f *fleet) forgetMember(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.nodes, name)
	f.roster.mu.Lock()
	defer f.roster.mu.Unlock()
	delete(f.roster.handles, name)
}

func (f *fleet) footprint() (goroutines int, heap uint64) {
	time.Sleep(5 * time.Second)
	synctest.Wait()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return runtime.NumGoroutine(), m.HeapAlloc
}
