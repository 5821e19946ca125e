package sim

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport"
)

// planned has nodes come and go as they do in good order: nothing may be admitted too much, and every check is decided by
// an owner or by what it has lent.
func planned(t *testing.T, seed uint64, nodes int, plan func(f *fleet)) {
	t.Helper()
	plannedWith(t, seed, nodes, fleetGroups(), plan)
}

// plannedWith is planned with other keys under load.
func plannedWith(t *testing.T, seed uint64, nodes int, groups []*fleetGroup, plan func(f *fleet)) {
	if raceDetector && t.Name() != "TestRollSameIDs" {
		t.Skip("one of these is enough with the race detector")
	}
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, seed, groups, nil)
		for i := range nodes {
			f.start(name(i))
		}
		if nodes > 0 {
			f.settle()
		}
		f.load()
		time.Sleep(2 * time.Second)
		plan(f)
		took := f.settle()
		time.Sleep(time.Second)
		f.stop.Store(true)
		f.loading.Wait()
		f.report(fmt.Sprintf("settled after %v", took))
		for _, g := range f.groups {
			if over := g.over(); over > 0 {
				t.Errorf("%s/%s: %d admitted too much", g.policy, g.key, over)
			}
		}
		for _, m := range f.living() {
			if o := m.Stats().Ownership; o.Fences > 0 || o.Minted > 0 {
				t.Errorf("%s: %+v, though nothing went wrong", m.name, o)
			}
		}
		if d, e := f.degraded.Load(), f.failed.Load(); d > 0 || e > 0 {
			t.Errorf("of %d checks %d were decided by a failure rule and %d failed", f.checks.Load(), d, e)
		}
	})
}

func TestJoins(t *testing.T) {
	planned(t, 1, 3, func(f *fleet) {
		for i := range 2 {
			f.start(name(10 + i))
			time.Sleep(2 * time.Second)
		}
	})
}

func TestLeaves(t *testing.T) {
	planned(t, 2, 5, func(f *fleet) {
		for i := range 2 {
			f.leave(name(i))
		}
	})
}

// TestMovesOverSlowLinks has partitions take so long on their way that much changes in them meanwhile. Checks that come too
// late for their owner go after the partition, and wait where it goes: they are not sent back.
func TestMovesOverSlowLinks(t *testing.T) {
	planned(t, 6, 3, func(f *fleet) {
		f.slow.Store(int64(60 * time.Millisecond))
		f.start(name(10))
		time.Sleep(3 * time.Second)
		f.leave(name(1))
		back := uint64(0)
		for _, m := range f.living() {
			back += m.Stats().FaultNotOwner
		}
		if back > 0 {
			t.Errorf("%d checks were sent back", back)
		}
	})
}

// TestRollSameIDs restarts every node under its own id, one after the other, as a StatefulSet does.
func TestRollSameIDs(t *testing.T) {
	planned(t, 3, 3, func(f *fleet) {
		for i := range 3 {
			f.leave(name(i))
			f.start(name(i))
			f.settle()
		}
	})
}

// TestRollNewIDs replaces every node by one of another id, as a Deployment does.
func TestRollNewIDs(t *testing.T) {
	planned(t, 4, 3, func(f *fleet) {
		for i := range 3 {
			f.start(name(10 + i))
			f.leave(name(i))
		}
	})
}

// TestOneToFiveToOne needs nobody to do anything but start and stop nodes.
func TestOneToFiveToOne(t *testing.T) {
	planned(t, 5, 1, func(f *fleet) {
		for i := range 4 {
			f.start(name(10 + i))
		}
		f.settle()
		for _, i := range []int{0, 10, 11, 12} {
			f.leave(name(i))
		}
	})
}

// TestRollingUpgrade has nodes of two frame versions side by side, while all are restarted with the newer one. Policies that the older
// one does not know, which are those of several keys, come when all are.
func TestRollingUpgrade(t *testing.T) {
	known := slices.DeleteFunc(fleetGroups(), func(g *fleetGroup) bool { return g.with != nil || g.idle })
	plannedWith(t, 6, 0, known, func(f *fleet) {
		f.version = transport.MaxVersion - 1
		for i := range 3 {
			f.start(name(i))
		}
		f.settle()
		f.version = transport.MaxVersion
		for i := range 3 {
			f.leave(name(i))
			f.start(name(i))
			f.settle()
			time.Sleep(time.Second)
		}
	})
}

// TestManyGroupsOverSlowLinks: everything has a copy in the end, also if it takes much longer than a snapshot may take, and the
// nodes do not lose each other over it.
func TestManyGroupsOverSlowLinks(t *testing.T) {
	if raceDetector {
		t.Skip("too slow with the race detector")
	}
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, fleetGroups(), nil)
		first := f.start(name(0))
		f.settle()
		h, err := first.Handle("hourly")
		if err != nil {
			t.Fatal(err)
		}
		for i := range 300_000 {
			if _, err := h.Check(context.Background(), policy.Request{Key: fmt.Sprint("key", i)}); err != nil {
				t.Fatal(err)
			}
		}
		f.slow.Store(int64(60 * time.Millisecond))
		second := f.start(name(1))
		f.settle()
		begun := time.Now()
		for first.Stats().Ownership.Uncopied+second.Stats().Ownership.Uncopied > 0 {
			if time.Since(begun) > time.Minute {
				t.Fatalf("after a minute\n%+v\n%+v", first.Stats().Ownership, second.Stats().Ownership)
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Logf("all has copies after %v", time.Since(begun))
		for _, m := range f.living() {
			if o := m.Stats().Ownership; o.Fences > 0 || o.Minted > 0 {
				t.Errorf("%s: %+v", m.name, o)
			}
		}
	})
}
