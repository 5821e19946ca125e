package node

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// BenchmarkMove has a node with a million groups joined by another, which is given its part of them, from its start on. A second
// of it is the time for which placement waits for further changes.
func BenchmarkMove(b *testing.B) {
	groups := 1_000_000
	if testing.Short() {
		groups = 10_000
	}
	for b.Loop() {
		b.StopTimer()
		first := start(b, Config{Name: "n1", Gossip: "127.0.0.1:0", Policies: policies(b), Deadline: time.Minute})
		h, err := first.Handle("api")
		if err != nil {
			b.Fatal(err)
		}
		for i := range groups {
			if d, err := h.Check(ctx, policy.Request{Key: fmt.Sprint(i)}); err != nil || d.Degraded {
				b.Fatalf("%+v, %v", d, err)
			}
		}
		b.StartTimer()
		begun := time.Now()
		second := start(b, Config{
			Name: "n2", Gossip: "127.0.0.1:0", Join: []string{first.GossipAddr()}, Policies: policies(b), Deadline: time.Minute,
		})
		waitFor(b, "the partitions to move", func() bool {
			s := second.Stats()
			return s.OwnedPartitions > s.Partitions/3 && s.OwnedPartitions+first.Stats().OwnedPartitions == s.Partitions &&
				first.governor.took.snapshot().Count >= uint64(s.OwnedPartitions)
		})
		b.StopTimer()
		took := time.Since(begun)
		moved := second.Stats().Table.Groups
		b.ReportMetric(float64(moved), "groups")
		b.ReportMetric(took.Seconds(), "s")
		b.ReportMetric(float64(first.Stats().Ownership.Fences+second.Stats().Ownership.Fences), "fences")
		b.ReportMetric(float64(first.counters.putBytes.Load())/1e6, "MB")
		second.Close()
		first.Close()
		b.StartTimer()
	}
}

// BenchmarkReplication checks keys of a node at 100,000 a second, beside another node that keeps its copies, and reports
// what the copies cost: in bytes, and in CPU beside the same load without copies.
func BenchmarkReplication(b *testing.B) {
	lasts := 5 * time.Second
	if testing.Short() {
		lasts = 300 * time.Millisecond
	}
	for b.Loop() {
		var cpu [2]float64
		for size := 1; size <= 2; size++ {
			b.StopTimer()
			nodes := realCluster(b, size, func(_ int, c *Config) { c.Settle = 50 * time.Millisecond })
			waitFor(b, "the partitions to move", func() bool { return nodes[0].Stats().OwnedPartitions < 1200/size })
			h, err := nodes[0].Handle("api")
			if err != nil {
				b.Fatal(err)
			}
			var keys []string
			for i := 0; len(keys) < 10_000; i++ {
				if d := check(b, nodes[0], policy.Request{Policy: "api", Key: fmt.Sprint(i)}); d.Node == nodes[0].name {
					keys = append(keys, fmt.Sprint(i))
				}
			}
			zipf := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 1, uint64(len(keys)-1))
			bytes := nodes[0].counters.putBytes.Load()
			b.StartTimer()
			ticks := time.NewTicker(time.Millisecond)
			used, begun := processCPU(), time.Now()
			done := 0
			for since := time.Duration(0); since < lasts; since = time.Since(begun) {
				for due := int(since.Seconds() * 100_000); done < due; done++ {
					h.Check(ctx, policy.Request{Key: keys[zipf.Uint64()]})
				}
				<-ticks.C
			}
			ticks.Stop()
			seconds := time.Since(begun).Seconds()
			cpu[size-1] = (processCPU() - used).Seconds() / seconds
			b.StopTimer()
			if size == 2 {
				b.ReportMetric(float64(nodes[0].counters.putBytes.Load()-bytes)/seconds/1e3, "kB/s")
				b.ReportMetric(float64(done)/seconds, "checks/s")
				b.ReportMetric(1000*cpu[0], "cpu-ms/s-alone")
				b.ReportMetric(1000*cpu[1], "cpu-ms/s-copied")
			}
			for _, n := range nodes {
				n.Close()
			}
			b.StartTimer()
		}
	}
}

// processCPU is what this process has used of the processors.
func processCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
