package ownership

import "testing"

func TestAppendAllocatesNothing(t *testing.T) {
	b := make([]byte, 0, 4096)
	for _, c := range everyType() {
		switch c.message.(type) {
		case *ListIs, *Memory:
			continue
		}
		if n := testing.AllocsPerRun(100, func() { Append(b, c.message) }); n != 0 {
			t.Errorf("%T: %v allocations", c.message, n)
		}
	}
}

// heartbeat340 is that of one of three nodes, which own every third of 1,021 partitions, in a cluster that has seen
// a few changes.
func heartbeat340() *Heartbeat {
	hb := &Heartbeat{Incarnation: memberA.Incarnation, Seq: 1 << 20, State: Active, Digest: 1 << 60}
	for i := range 340 {
		hb.Claims = append(hb.Claims, Named{Partition: 3*i + i%3, Term: uint64(1 + i%9), Elsewhere: i%2 == 0, Live: true})
	}
	return hb
}

func BenchmarkHeartbeat(b *testing.B) {
	hb := heartbeat340()
	encoded := Append(nil, hb)
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		buffer := make([]byte, 0, len(encoded))
		for b.Loop() {
			buffer = Append(buffer[:0], hb)
		}
		b.ReportMetric(float64(len(buffer)), "bytes")
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Decode(encoded); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(encoded)), "bytes")
	})
}
