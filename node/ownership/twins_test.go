package ownership

import "testing"

// TestTwins: a process that was dropped from the list, and comes back to find a newer one in its place, does nothing any more.
func TestTwins(t *testing.T) {
	w := newWorld(worldConfig{
		seed: 1, partitions: 4, capacity: 50, rate: 50, load: 1, least: ms / 5, most: 2 * ms, unreachable: "deny", forget: 2 * sec,
	})
	w.boot(3)
	w.run(sec)
	old := w.hosts[w.ownerOf(0)]
	w.crash(old.id) // as far as the others see: its clock goes on
	if !w.runUntil(10*sec, func() bool { return w.unsettled() == "" && !w.hosts[w.living()[0]].m.list.Has(old.id) }) {
		t.Fatalf("it is not dropped: %s", w.unsettled())
	}
	w.start(old.id)
	if !w.runUntil(5*sec, func() bool { return w.unsettled() == "" }) {
		t.Fatal(w.unsettled())
	}
	if !old.m.Member() || old.m.Holdings() == 0 {
		t.Fatal("the older process has nothing to give up")
	}
	for _, id := range w.living() {
		if id != old.id {
			old.m.Receive(old.time(), id, &ListIs{w.hosts[id].m.list})
		}
	}
	if !old.m.Superseded() || old.m.Member() || old.m.Holdings() > 0 || old.m.Authority() > old.time() {
		t.Errorf("the older process: superseded %v, member %v, holds %d, authority until %v at %v", old.m.Superseded(),
			old.m.Member(), old.m.Holdings(), old.m.Authority(), old.time())
	}
	old.m.Take()
	old.m.Tick(old.time())
	if out := old.m.Take(); len(out.Send) > 0 {
		t.Errorf("the older process still says %v", out.Send)
	}
	if w.wrong != "" {
		t.Error(w.wrong)
	}
}
