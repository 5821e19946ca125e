package table

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// filled returns a table of n groups of one limit over 1021 partitions, none of them full.
func filled(b *testing.B, n int) (*Table, *Group) {
	tb, ls := newTable(b, 1021, 4<<30)
	g := intern(b, ls, bucket.Limit{Count: 1000, Per: time.Hour, Burst: 1 << 40})
	for k := range uint64(n) {
		part, id := scatter(k)
		if _, _, err := tb.Take(part, id, g, 0, 1); err != nil {
			b.Fatal(err)
		}
	}
	return tb, g
}

// scatter makes an id of a number by two rounds of a mixer: as uniform as a keyed hash and much cheaper.
func scatter(k uint64) (part int, id bucket.ID) {
	x := (k + 1) * 0x9e3779b97f4a7c15
	x ^= x >> 31
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 29
	return int(x % 1021), bucket.ID{Hi: x, Lo: x * 0x94d049bb133111eb}
}

func BenchmarkTake(b *testing.B) {
	for _, n := range []int{1, 1_000_000} {
		b.Run(fmt.Sprintf("keys=%d", n), func(b *testing.B) {
			tb, g := filled(b, n)
			k := uint64(0)
			for b.Loop() {
				k = k*6364136223846793005 + 1442695040888963407
				part, id := scatter((k >> 33) % uint64(n))
				tb.Take(part, id, g, 0, 1)
			}
		})
	}
}

// BenchmarkMemory prints bytes a group and what one cycle of the garbage collector costs with the table in memory; an
// empty table stands beside it, for a cycle costs something by itself.
func BenchmarkMemory(b *testing.B) {
	for _, n := range []int{0, 1_000_000, 10_000_000} {
		b.Run(fmt.Sprintf("keys=%d", n), func(b *testing.B) {
			if testing.Short() && n > 1_000_000 {
				b.Skip("10 million groups take some seconds to fill")
			}
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			tb, _ := filled(b, n)
			runtime.GC()
			runtime.ReadMemStats(&after)
			for b.Loop() {
				runtime.GC()
			}
			if n > 0 {
				b.ReportMetric(float64(after.HeapInuse-before.HeapInuse)/float64(n), "B/group")
				b.ReportMetric(float64(tb.Stats().Bytes)/float64(n), "B/group-counted")
			}
			runtime.KeepAlive(tb)
		})
	}
}

// BenchmarkEntries prints bytes an entry of the limits store, with few different texts and with as many as keys, and what one cycle of the
// garbage collector costs with a million in memory.
func BenchmarkEntries(b *testing.B) {
	const n = 1_000_000
	for _, texts := range []int{500, n} {
		b.Run(fmt.Sprintf("texts=%d", texts), func(b *testing.B) {
			tb, _ := newTable(b, 1021, 1<<30)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			for k := range uint64(n) {
				e := Entry{idOf(k), 1, fmt.Sprintf(`{"limits":[{"rate":"%d/s"}]}`, k%uint64(texts))}
				if _, err := tb.SetEntry(int(k%1021), e, true, second); err != nil {
					b.Fatal(err)
				}
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			for b.Loop() {
				runtime.GC()
			}
			b.ReportMetric(float64(after.HeapInuse-before.HeapInuse)/n, "B/entry")
			b.ReportMetric(float64(tb.Stats().Bytes)/n, "B/entry-counted")
			runtime.KeepAlive(tb)
		})
	}
}

// BenchmarkWorstInsert grows a table to a million groups, and prints the longest takes on the way. Getting memory from
// the kernel takes its time on any machine, so a loop that does nothing but allocate and copy such arrays stands beside
// it.
func BenchmarkWorstInsert(b *testing.B) {
	const takes = 1_000_000
	worst := func(do func(k uint64)) (longest, p9999 time.Duration) {
		all := make([]time.Duration, takes)
		for k := range all {
			begin := time.Now()
			do(uint64(k))
			all[k] = time.Since(begin)
		}
		slices.Sort(all)
		return all[takes-1], all[takes-takes/10_000]
	}
	var longest, p9999, bare, bare9999 time.Duration
	for b.Loop() {
		tb, ls := newTable(b, 1021, 4<<30)
		g := intern(b, ls, bucket.Limit{Count: 1, Per: time.Hour, Burst: 10})
		longest, p9999 = worst(func(k uint64) {
			part, id := scatter(k)
			tb.Take(part, id, g, 0, 1)
		})
		arrays := make([][]uint64, 1021)
		used := make([]int, len(arrays))
		bare, bare9999 = worst(func(k uint64) {
			part, _ := scatter(k)
			slots := len(arrays[part]) / 6
			if used[part]++; used[part]*5 > slots*4 {
				grown := make([]uint64, 6*(slots+max(slots/2, minSlots)))
				copy(grown, arrays[part])
				arrays[part] = grown
			}
		})
	}
	b.ReportMetric(float64(longest.Microseconds()), "µs-longest")
	b.ReportMetric(float64(p9999.Nanoseconds())/1000, "µs-p99.99")
	b.ReportMetric(float64(bare.Microseconds()), "µs-longest-bare")
	b.ReportMetric(float64(bare9999.Nanoseconds())/1000, "µs-p99.99-bare")
}

// BenchmarkGrow is the dearest thing that a take does: a slab as full as it gets is grown by half. The slabs are those
// of one partition of 1021 at a million groups and at ten million.
func BenchmarkGrow(b *testing.B) {
	for _, n := range []int{1_000_000 / 1021, 10_000_000 / 1021} {
		b.Run(fmt.Sprintf("groups=%d", n), func(b *testing.B) {
			s := slab{stride: headWords + stateWords}
			s = s.resized(n * 5 / 4)
			for k := range uint64(n) {
				_, id := scatter(k)
				s.insert(id, 1)
			}
			for b.Loop() {
				s.resized(s.slots + s.slots/2)
			}
		})
	}
}

// BenchmarkCopy writes a partition of ten thousand groups down and reads it elsewhere; printed for each group.
func BenchmarkCopy(b *testing.B) {
	const n = 10_000
	tb, ls := newTable(b, 1, 1<<30)
	g := intern(b, ls, bucket.Limit{Count: 1000, Per: time.Hour, Burst: 1000})
	for k := range uint64(n) {
		_, id := scatter(k)
		if _, _, err := tb.Take(0, id, g, 0, 1+int64(k%1000)); err != nil {
			b.Fatal(err)
		}
	}
	ids := tb.IDs(0, nil)
	blob, _ := tb.Export(0, ids, 1e9, nil, 1<<30)
	b.Run("export", func(b *testing.B) {
		for b.Loop() {
			blob, _ = tb.Export(0, ids, 1e9, blob[:0], 1<<30)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/group")
		b.ReportMetric(float64(len(blob))/n, "B/group")
	})
	b.Run("import", func(b *testing.B) {
		to, _ := newTable(b, 1, 1<<30)
		for b.Loop() {
			if err := to.Import(0, blob, 1e9); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/group")
	})
	b.Run("track", func(b *testing.B) {
		for b.Loop() {
			tb.Track(0, false)
			tb.Track(0, true)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/group")
	})
}

// BenchmarkFlood has keys come that each ask once, as an attacker's do, at a table of 64 MiB, and one that is exhausted before and asks
// again after: it prints the memory, what a take of them costs, how many found no room, and what is left of it all when the buckets are
// full again.
func BenchmarkFlood(b *testing.B) {
	keys := uint64(10_000_000)
	if testing.Short() {
		keys = 1_000_000
	}
	for b.Loop() {
		tb, ls := newTable(b, 1021, 64<<20)
		g := intern(b, ls, bucket.Limit{Count: 1, Per: time.Hour, Burst: 10})
		part, id := scatter(keys)
		tb.Take(part, id, g, 0, 10)
		refused := 0
		begun := time.Now()
		for k := range keys {
			p, i := scatter(k)
			if _, _, err := tb.Take(p, i, g, bucket.Instant(k)*1000, 1); err != nil { // a million a second
				refused++
			}
		}
		took := time.Since(begun)
		if d, _, err := tb.Take(part, id, g, bucket.Instant(keys)*1000, 1); err != nil || d.Allowed {
			b.Fatalf("%+v, %v: an exhausted key was forgotten", d, err)
		}
		b.ReportMetric(float64(tb.Stats().Bytes)/(1<<20), "MiB")
		b.ReportMetric(float64(took.Nanoseconds())/float64(keys), "ns/key")
		b.ReportMetric(float64(refused)/float64(keys), "refused")
		later := bucket.Instant(100 * time.Hour)
		for p := range 1021 {
			tb.Sweep(p, later)
		}
		b.ReportMetric(float64(tb.Stats().Groups), "groups-left")
	}
	b.ReportMetric(0, "ns/op")
}
