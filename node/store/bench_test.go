package store_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/node"
	"github.com/drossel-dev/drossel/node/store"
)

const benchPolicies = "version: 1\npolicies:\n  spend: {key: [user], limits: [{quota: 1000000/month}]}\n"

func policies(b *testing.B) *policy.Set {
	b.Helper()
	set, err := policy.Parse("limits.yaml", []byte(benchPolicies))
	if err != nil {
		b.Fatal(err)
	}
	return set
}

// trio starts three nodes over loopback; with disks if dirs are given.
func trio(b *testing.B, dirs []string) (nodes []*node.Node, stop func()) {
	b.Helper()
	set := policies(b)
	var closers []func()
	for i := range 3 {
		cfg := node.Config{Name: fmt.Sprint("n", i), Gossip: "127.0.0.1:0", Policies: set, Deadline: 5 * time.Second}
		if i > 0 {
			cfg.Join = []string{nodes[0].GossipAddr()}
		}
		if dirs != nil {
			s, err := store.Open(dirs[i], nil)
			if err != nil {
				b.Fatal(err)
			}
			cfg.Store, cfg.Groups = s, s
			closers = append(closers, func() { s.Close() })
		}
		n, err := node.New(cfg)
		if err == nil {
			err = n.Start(context.Background())
		}
		if err != nil {
			b.Fatal(err)
		}
		nodes = append(nodes, n)
	}
	return nodes, func() {
		for _, n := range nodes {
			n.Close()
		}
		for _, c := range closers {
			c()
		}
	}
}

func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// blocks returns how many bytes this process has had written to disks.
func blocks() (bytes int64) {
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if n, _ := fmt.Sscanf(line, "write_bytes: %d", &bytes); n == 1 {
			return bytes
		}
	}
	return 0
}

// BenchmarkDurable has 10,000 checks a second of monthly quotas, of 20,000 keys, decided by three nodes in one process, without disks and
// with, for three seconds each in turn. What is written is that of all three disks, and by the device's count.
func BenchmarkDurable(b *testing.B) {
	const rate, keys, span = 10_000, 20_000, 3 * time.Second
	run := func(nodes []*node.Node) (took time.Duration) {
		before := cpu()
		var asking sync.WaitGroup
		const callers = 10
		for c := range callers {
			asking.Go(func() {
				ticks := time.NewTicker(time.Millisecond)
				defer ticks.Stop()
				begun := time.Now()
				for done := 0; time.Since(begun) < span; {
					<-ticks.C
					for ; done < int(time.Since(begun)*rate/callers/time.Second); done++ {
						key := fmt.Sprint("customer-", (done*callers+c)*7919%keys)
						d, err := nodes[done%3].Check(context.Background(), policy.Request{Policy: "spend", Key: key})
						if err != nil || !d.Allowed {
							b.Error(d, err)
							return
						}
					}
				}
			})
		}
		asking.Wait()
		return cpu() - before
	}
	for b.Loop() {
		nodes, stop := trio(b, nil)
		run(nodes)
		without := run(nodes)
		stop()
		dirs := []string{b.TempDir(), b.TempDir(), b.TempDir()}
		nodes, stop = trio(b, dirs)
		run(nodes)
		saved := func() (sum uint64) {
			for _, n := range nodes {
				sum += n.Stats().Durable.SavedBytes
			}
			return sum
		}
		bytes, device := saved(), blocks()
		with := run(nodes)
		bytes, device = saved()-bytes, blocks()-device
		stop()
		checks := rate * span.Seconds()
		b.ReportMetric(100*float64(with-without)/float64(span), "%-of-a-core-more")
		b.ReportMetric(100*float64(without)/float64(span), "%-of-a-core-without")
		b.ReportMetric(float64(bytes)/checks, "bytes/check")
		b.ReportMetric(float64(device)/checks, "device-bytes/check")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkStart starts a node with a million durable groups on its disk.
func BenchmarkStart(b *testing.B) {
	groups := 1_000_000
	if testing.Short() {
		groups = 10_000
	}
	dir := b.TempDir()
	set := policies(b)
	begin := func() (*node.Node, *store.Store) {
		s, err := store.Open(dir, nil)
		if err != nil {
			b.Fatal(err)
		}
		n, err := node.New(node.Config{Name: "n1", Gossip: "127.0.0.1:0", Expect: 1, Policies: set, Store: s, Groups: s, Deadline: time.Minute})
		if err == nil {
			err = n.Start(context.Background())
		}
		if err != nil {
			b.Fatal(err)
		}
		return n, s
	}
	n, s := begin()
	for i := range groups {
		if d, err := n.Check(context.Background(), policy.Request{Policy: "spend", Key: fmt.Sprint("customer-", i)}); err != nil || !d.Allowed {
			b.Fatal(d, err)
		}
	}
	n.Close()
	s.Close()
	names, _ := filepath.Glob(filepath.Join(dir, "groups-*"))
	size := int64(0)
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			size += info.Size()
		}
	}
	for b.Loop() {
		n, s := begin()
		opened := b.Elapsed()
		d, err := n.Check(context.Background(), policy.Request{Policy: "spend", Key: "customer-7"}) // waits until that is restored
		if err != nil || d.Remaining > 1_000_000-2 || d.Degraded {
			b.Fatal(d, err)
		}
		for n.Stats().Durable.Restored != uint64(groups) {
			if <-time.After(time.Millisecond); b.Elapsed()-opened > time.Minute {
				b.Fatalf("%d groups were restored, want %d", n.Stats().Durable.Restored, groups)
			}
		}
		b.StopTimer()
		n.Close()
		s.Close()
		b.StartTimer()
	}
	b.ReportMetric(float64(size)/float64(groups), "disk-bytes/group")
}
