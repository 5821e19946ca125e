package node

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/mem"
)

// BenchmarkThreeLimits compares a check of a key with three limits with one of a key with a single one, both owned by the node, in
// rounds that alternate.
func BenchmarkThreeLimits(b *testing.B) {
	limit := func(per time.Duration) policy.Limit {
		return policy.Limit{Limit: bucket.Limit{Count: 1e9, Per: per, Burst: 1 << 50}}
	}
	set, err := policy.NewSet(
		policy.Policy{Name: "one", Key: []string{"user"}, Limits: []policy.Limit{limit(time.Second)}},
		policy.Policy{Name: "three", Key: []string{"user"}, Limits: []policy.Limit{limit(time.Second), limit(time.Minute), limit(time.Hour)}})
	if err != nil {
		b.Fatal(err)
	}
	n := start(b, Config{Policies: set})
	const round = 10_000
	var took [2]time.Duration
	b.ReportAllocs()
	for b.Loop() {
		for i, name := range []string{"one", "three"} {
			h, err := n.Handle(name)
			if err != nil {
				b.Fatal(err)
			}
			begun := time.Now()
			for range round {
				if d, err := h.Check(ctx, policy.Request{Key: "ann"}); err != nil || !d.Allowed {
					b.Fatal(d, err)
				}
			}
			took[i] += time.Since(begun)
		}
	}
	b.ReportMetric(float64(took[0].Nanoseconds())/float64(b.N*round), "one-ns/check")
	b.ReportMetric(float64(took[1].Nanoseconds())/float64(b.N*round), "three-ns/check")
	b.ReportMetric(float64(took[1])/float64(took[0]), "three/one")
}

// BenchmarkTwoOwners compares the latency of a check of two keys, at two other nodes, with that of one forwarded check, in rounds
// that alternate: over loopback, and with half a millisecond on each way.
func BenchmarkTwoOwners(b *testing.B) {
	limit := policy.Limit{Limit: bucket.Limit{Count: 1e9, Per: time.Second, Burst: 1 << 50}, Consistency: policy.Direct}
	set, err := policy.NewSet(
		policy.Policy{Name: "api", Key: []string{"user"}, Limits: []policy.Limit{limit}},
		policy.Policy{Name: "both", Key: []string{"user"}, Limits: []policy.Limit{limit}, With: []string{"tenant"}},
		policy.Policy{Name: "tenant", Key: []string{"tenant"}, Limits: []policy.Limit{limit}})
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		cluster func(b *testing.B) []*Node
	}{
		{"loopback", func(b *testing.B) (nodes []*Node) {
			for i := range 3 {
				cfg := Config{Name: fmt.Sprint("n", i+1), Policies: set, Gossip: "127.0.0.1:0", Deadline: time.Second}
				if i > 0 {
					cfg.Join = []string{nodes[0].GossipAddr()}
				}
				nodes = append(nodes, start(b, cfg))
			}
			settled(b, nodes)
			waitFor(b, "each node to own something", func() bool {
				return !slices.ContainsFunc(nodes, func(n *Node) bool { return n.Stats().OwnedPartitions == 0 })
			})
			settled(b, nodes)
			return nodes
		}},
		{"way=500us", func(b *testing.B) []*Node {
			network := &mem.Network{
				Delay: func(_, _ string) time.Duration { return 500 * time.Microsecond },
				After: func(d time.Duration, f func()) { time.AfterFunc(d, f) },
			}
			return cluster(b, network, 3, func(_ int, c *Config) { c.Policies, c.Deadline = set, time.Second })
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			nodes := c.cluster(b)
			one := policy.Request{Policy: "api", Key: keyOf(b, nodes[1], "api", "one")}
			two := policy.Request{Policy: "both", Attributes: map[string]string{
				"user": keyOf(b, nodes[1], "both", "user"), "tenant": keyOf(b, nodes[2], "tenant", "tenant"),
			}}
			var took [2][]time.Duration
			for b.Loop() {
				for i, req := range []policy.Request{one, two} {
					for range 50 {
						begun := time.Now()
						d, err := nodes[0].Check(ctx, req)
						if err != nil || !d.Allowed || d.Degraded || d.DecidedBy != policy.Owner {
							b.Fatal(d, err)
						}
						took[i] = append(took[i], time.Since(begun))
					}
				}
			}
			median := func(i int) time.Duration {
				slices.Sort(took[i])
				return took[i][len(took[i])/2]
			}
			b.ReportMetric(float64(median(0).Microseconds()), "one-us")
			b.ReportMetric(float64(median(1).Microseconds()), "two-us")
			b.ReportMetric(float64(median(1))/float64(median(0)), "two/one")
		})
	}
}
