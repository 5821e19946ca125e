package ownership

import (
	"fmt"
	"testing"
	"time"
)

// traffic carries what machines say to each other at once, as bytes, and counts it.
type traffic struct {
	*world
	messages, bytes int
}

// newTraffic is a cluster of n that has settled: everything is where it should be, with a copy elsewhere.
func newTraffic(n, partitions int) *traffic {
	w := newWorld(worldConfig{seed: 1, partitions: partitions, capacity: 50, rate: 50, least: ms / 5, most: 2 * ms, forget: 60 * sec})
	w.gather(n)
	w.run(sec)
	return &traffic{world: w}
}

// tick lets all machines do what is due after d, and brings what they say.
func (t *traffic) tick(tb testing.TB, d time.Duration) {
	t.now += d
	for _, id := range t.ids {
		t.hosts[id].m.Tick(t.hosts[id].time())
	}
	for said := true; said; {
		said = false
		for _, id := range t.ids {
			for _, e := range t.hosts[id].m.Take().Send {
				said = true
				b := Append(nil, e.Message)
				t.messages++
				t.bytes += len(b)
				msg, err := Decode(b)
				if err != nil {
					tb.Fatal(err)
				}
				to := t.hosts[e.To]
				to.m.Receive(to.time(), id, msg)
			}
		}
	}
}

// BenchmarkTraffic measures one node of a calm cluster for one second: the time that its machine needs, what it says encoded
// and decoded, and how much that is.
func BenchmarkTraffic(b *testing.B) {
	for _, n := range []int{3, 10, 100} {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			t := newTraffic(n, 1021)
			t.tick(b, 10*ms)
			t.messages, t.bytes = 0, 0
			seconds := 0
			for b.Loop() {
				for range 100 {
					t.tick(b, 10*ms)
				}
				seconds++
			}
			for _, id := range t.ids {
				if m := t.hosts[id].m; m.authority <= t.hosts[id].time() {
					b.Fatalf("%s has no authority", id)
				}
			}
			each := float64(seconds * n)
			b.ReportMetric(float64(b.Elapsed().Microseconds())/each, "µs/node-s")
			b.ReportMetric(float64(t.messages)/each, "messages/node-s")
			b.ReportMetric(float64(t.bytes)/each, "bytes/node-s")
			b.ReportMetric(0, "ns/op")
		})
	}
}
