package ownership

import (
	"slices"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// nursery is a world in which no node is up yet.
func nursery(seed uint64) *world {
	cfg := setting(seed, 3*sec)
	cfg.join = 2 * sec
	cfg.unreachable = "deny"
	w := newWorld(cfg)
	w.work()
	return w
}

// eventually runs until all is settled, and stays so.
func (w *world) eventually(t *testing.T, limit time.Duration) {
	t.Helper()
	if !w.runUntil(limit, func() bool { return len(w.living()) > 0 && w.unsettled() == "" }) {
		t.Fatalf("seed %d: after %v: %s", w.cfg.seed, limit, w.unsettled())
	}
	if w.run(w.now + 2*sec); w.unsettled() != "" {
		t.Fatalf("seed %d: it does not last: %s", w.cfg.seed, w.unsettled())
	}
}

// sound wants nothing to have gone wrong, and too much admitted only as far as faults allow.
func (w *world) sound(t *testing.T) {
	t.Helper()
	if w.wrong != "" {
		t.Errorf("seed %d: %s", w.cfg.seed, w.wrong)
	}
	if over := w.oracle.over(); over > 1.01 {
		t.Errorf("seed %d: admitted %.1f more than the faults allow", w.cfg.seed, over)
	}
	if w.checks == 0 {
		t.Errorf("seed %d: nothing was checked", w.cfg.seed)
	}
}

// TestFoundTogether: new nodes that start at about the same time are one cluster, whether they wait for a number of them or
// for a time.
func TestFoundTogether(t *testing.T) {
	for seed := range uint64(someRuns() * 2) {
		w := nursery(seed)
		waits := 2 * sec
		if seed%2 == 0 {
			w.cfg.expect, waits = 3, 0
		}
		for i := range 3 {
			w.after(w.between(0, sec), func() { w.start(name(i)) })
		}
		w.run(waits * 9 / 10)
		for _, id := range w.living() {
			if w.hosts[id].m.Member() {
				t.Errorf("seed %d: %s is a member after %v", seed, id, waits)
			}
		}
		w.run(sec)
		w.eventually(t, 5*sec)
		w.sound(t)
		if n := w.oracle.founded; n != w.cfg.partitions {
			t.Errorf("seed %d: %d partitions were founded, want each once", seed, n)
		}
		if w.oracle.most() > 0 {
			t.Errorf("seed %d: admitted %.1f too much", seed, w.oracle.most())
		}
	}
}

// TestLowestFounds: of those who have met and are all new only the lowest id founds, however long the others wait.
func TestLowestFounds(t *testing.T) {
	for self, founds := range map[string]bool{"a": true, "b": false, "c": false} {
		for _, expect := range []int{0, 3} {
			m := New(Config{Self: Member{self, 10}, Partitions: 2, Place: placer(2), Expect: expect, JoinTimeout: sec}, 0)
			peers := slices.DeleteFunc([]Member{{"a", 10}, {"b", 10}, {"c", 10}}, func(p Member) bool { return p.ID == self })
			m.Peers(1, peers)
			for now := bucket.Instant(1); now < bucket.Instant(3*sec); now += bucket.Instant(10 * ms) {
				for _, p := range peers {
					m.Receive(now, p.ID, &NoList{p.Incarnation})
				}
				m.Tick(now)
			}
			if m.Member() != founds {
				t.Errorf("%s, of whom %d are expected: founds %v", self, expect, m.Member())
			}
		}
	}
}

// TestFoundWhatIsExpected: fewer than are expected found nothing, however long they wait.
func TestFoundWhatIsExpected(t *testing.T) {
	w := nursery(1)
	w.cfg.expect = 3
	w.start(name(0))
	w.start(name(1))
	w.run(30 * sec)
	if w.oracle.founded > 0 {
		t.Error("two of three have founded a cluster")
	}
	w.start(name(2))
	w.eventually(t, 5*sec)
	w.sound(t)
}

// TestFoundApart: a node whose seeds are only itself founds at once. If that was said of it because it could not see the
// others yet, there are two clusters; when they see each other they are one.
func TestFoundApart(t *testing.T) {
	for seed := range uint64(someRuns() * 2) {
		w := nursery(seed)
		w.oracle.apart = true
		apart := name(w.rand.IntN(4))
		w.alone[apart], w.blind[apart] = true, true
		for i := range 4 {
			w.after(w.between(0, sec), func() { w.start(name(i)) })
			w.both(apart, name(i), true)
		}
		w.run(w.between(4*sec, 6*sec))
		if w.oracle.founded != 2*w.cfg.partitions {
			t.Errorf("seed %d: %d partitions were founded, want each twice", seed, w.oracle.founded)
		}
		w.heal()
		w.eventually(t, 10*sec)
		w.sound(t)
	}
}

// TestFoundLate: the same without a cut: the others see the node, it does not see them.
func TestFoundLate(t *testing.T) {
	for seed := range uint64(someRuns() * 2) {
		w := nursery(seed)
		w.oracle.apart = true
		for i := range 4 {
			w.alone[name(i)], w.blind[name(i)] = i == 2, i == 2
			w.after(w.between(0, sec), func() { w.start(name(i)) })
		}
		w.after(w.between(0, 6*sec), func() { clear(w.blind) })
		w.run(6 * sec)
		w.heal()
		w.eventually(t, 10*sec)
		w.sound(t)
	}
}

// TestFoundNever: who has met nobody founds nothing.
func TestFoundNever(t *testing.T) {
	w := nursery(1)
	w.start(name(0))
	if w.run(60 * sec); w.oracle.founded > 0 || w.hosts[name(0)].m.Member() {
		t.Error("it has founded a cluster of its own")
	}
	w.start(name(1))
	w.eventually(t, 5*sec)
	w.sound(t)
}

// TestFoundAgain: when all have gone at once, and none remembers, those who come back are new to each other.
func TestFoundAgain(t *testing.T) {
	for seed := range uint64(someRuns() * 2) {
		w := nursery(seed)
		w.cfg.disk = false
		for i := range 3 {
			w.start(name(i))
		}
		w.eventually(t, 10*sec)
		for i := range 3 {
			w.crash(name(i))
		}
		w.oracle.forget()
		for i := range 3 {
			w.after(w.between(0, sec), func() { w.restart(name(i)) })
		}
		w.run(w.now + sec)
		w.eventually(t, 10*sec)
		w.sound(t)
	}
}

// TestLastLeaves: who comes as the last member leaves has a cluster, or has a list of nobody but that one. It is mended then
// like any list without a majority.
func TestLastLeaves(t *testing.T) {
	alone, runs := 0, 4*max(someRuns(), 3)
	for seed := range uint64(runs) {
		w := nursery(seed)
		w.alone[name(0)] = true
		w.start(name(0))
		w.run(2 * sec)
		w.after(200*ms, func() { w.leave(name(0)) })
		w.after(w.between(0, 600*ms), func() { w.start(name(1)) })
		w.run(w.now + 3*sec)
		h := w.hosts[name(1)]
		switch members := h.m.list.members; {
		case len(members) == 1 && members[0] == name(0):
			h.m.ForgetMember(h.time(), name(0))
			h.flush()
		case len(members) == 0: // it came too late
			alone++
			w.start(name(2))
			w.run(w.now + sec)
		}
		w.eventually(t, 10*sec)
		w.sound(t)
	}
	if alone == 0 || alone == runs {
		t.Errorf("%d of the runs are about nothing", alone)
	}
}

// TestLastLeft: who comes when the last member has left founds a cluster, if it is told to.
func TestLastLeft(t *testing.T) {
	w := nursery(1)
	w.alone[name(0)], w.alone[name(1)] = true, true
	w.start(name(0))
	w.run(2 * sec)
	w.leave(name(0))
	w.whenDead(name(0), func() { w.start(name(1)) })
	w.run(w.now + sec)
	w.eventually(t, 5*sec)
	w.sound(t)
	if w.oracle.founded != 2*w.cfg.partitions {
		t.Errorf("%d partitions were founded, want each twice", w.oracle.founded)
	}
}
