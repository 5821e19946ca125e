package node

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// realCluster starts nodes over gossip and gRPC on loopback, each joining the first, and waits until all agree.
func realCluster(t testing.TB, size int, change func(i int, c *Config)) []*Node {
	t.Helper()
	nodes := make([]*Node, size)
	for i := range nodes {
		cfg := Config{Name: fmt.Sprintf("n%d", i+1), Gossip: "127.0.0.1:0", Policies: policies(t), Deadline: 10 * time.Second}
		if i > 0 {
			cfg.Join = []string{nodes[0].GossipAddr()}
		}
		if change != nil {
			change(i, &cfg)
		}
		nodes[i] = start(t, cfg)
	}
	settled(t, nodes)
	return nodes
}

// settled waits until all nodes are connected to each other, go by the same list, and own each partition once.
func settled(t testing.TB, nodes []*Node) {
	t.Helper()
	waitFor(t, "all nodes to agree", func() bool {
		owned := 0
		for _, n := range nodes {
			s := n.Stats()
			if s.Members != len(nodes) || s.LinksUp != len(nodes)-1 || s.Epoch != nodes[0].Stats().Epoch {
				return false
			}
			owned += s.OwnedPartitions
		}
		return owned == nodes[0].cfg.Ring.Partitions
	})
}

// waitFor waits for a condition, for a minute at most.
func waitFor(t testing.TB, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ticks := time.NewTicker(5 * time.Millisecond)
	defer ticks.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited a minute for %s", what)
		case <-ticks.C:
		}
	}
}

func TestRealCluster(t *testing.T) {
	nodes := realCluster(t, 3, nil)
	ctx := context.Background()
	var mu sync.Mutex
	allowed := map[string]int{}
	var callers sync.WaitGroup
	for _, n := range nodes {
		for range 4 {
			callers.Go(func() {
				for i := range 300 {
					key := fmt.Sprint(i % 30)
					d, err := n.Check(ctx, policy.Request{Policy: "api", Key: key})
					if err != nil || d.Degraded {
						t.Errorf("%+v, %v", d, err)
						return
					}
					if d.Allowed {
						mu.Lock()
						allowed[key]++
						mu.Unlock()
					}
				}
			})
		}
	}
	callers.Wait()
	for key, n := range allowed {
		if n != 10 {
			t.Errorf("key %s: %d allowed, want 10", key, n)
		}
	}
	for _, m := range nodes[0].Members(ctx) {
		if m.Status == nil || m.Status.Members != 3 {
			t.Errorf("%+v", m)
		}
	}
	t.Logf("%+v", nodes[1].Ring())
}
