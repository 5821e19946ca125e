package ownership

import (
	"testing"
	"time"
)

// TestDoubt: who doubts the clock decides nothing until a heartbeat of afterwards is acknowledged; what was sent before says
// nothing.
func TestDoubt(t *testing.T) {
	w := newWorld(worldConfig{
		seed: 1, partitions: 4, capacity: 50, rate: 50, load: 3, least: ms, most: ms, forget: time.Minute, unreachable: "deny",
	})
	w.boot(3)
	w.run(sec)
	h := w.hosts[name(0)]
	if h.time() >= h.m.Authority() {
		t.Fatal("no authority to begin with")
	}
	late := h.m.beats[len(h.m.beats)-1]
	h.m.Doubt(h.time())
	h.m.Receive(h.time(), name(1), &Ack{Incarnation: h.m.self.Incarnation, Seq: late.seq})
	h.flush()
	if h.time() < h.m.Authority() {
		t.Fatal("it still decides, or an acknowledgement of before counts")
	}
	w.run(sec + 10*ms)
	if h.time() >= h.m.Authority() {
		t.Error("a heartbeat of afterwards gives no authority")
	}
}
