package ownership

import "testing"

// TestDeaf: a member whom all hear and who hears nobody can't decide, so others have to take over from it; and when it hears
// again it is a member like the others.
func TestDeaf(t *testing.T) {
	for deaf := range 5 {
		w := newWorld(worldConfig{
			seed: uint64(deaf), partitions: 8, capacity: 50, rate: 50, least: ms / 5, most: 2 * ms, unreachable: "deny", forget: 60 * sec,
		})
		w.boot(5)
		w.run(sec)
		held := w.hosts[name(deaf)].m.Holdings()
		w.oneWayFrom(name(deaf), true)
		owned := func() bool {
			for part := range w.cfg.partitions {
				if d := w.deciders(part); len(d) != 1 || d[0].id == name(deaf) {
					return false
				}
			}
			return true
		}
		if !w.runUntil(10*sec, owned) {
			t.Errorf("%s, which held %d, is deaf, and not all has an owner", name(deaf), held)
		}
		w.oneWayFrom(name(deaf), false)
		if !w.runUntil(10*sec, func() bool { return w.unsettled() == "" }) {
			t.Errorf("%s hears again: %s", name(deaf), w.unsettled())
		}
		if w.wrong != "" {
			t.Error(w.wrong)
		}
	}
}

// oneWayFrom has nothing reach a node, or all again.
func (w *world) oneWayFrom(to string, cut bool) {
	for _, id := range w.ids {
		if id != to {
			w.oneWay(id, to, cut)
		}
	}
}

// TestDeafTogether: when most are gone nobody hears a majority, and those who are left still acknowledge each other.
func TestDeafTogether(t *testing.T) {
	v := newVoting(t, "a", "b", "c")
	hb := v.names(4)
	hb.Deaf = true
	v.Tick(v.now)
	v.Take()
	if !v.isDeaf(v.now) {
		t.Fatal("it has heard nobody for an hour, and is not deaf")
	}
	v.says("b", hb, ack())
	v.hear("c")
	v.Tick(v.now)
	v.says("b", hb, (*Ack)(nil)) // there is a majority without b
}
