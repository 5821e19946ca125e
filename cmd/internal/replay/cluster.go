package replay

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/node"
	"github.com/drossel-dev/drossel/ring"
	"github.com/drossel-dev/drossel/transport"
	"github.com/drossel-dev/drossel/transport/mem"
)

// Cluster is a Limiter: nodes as they run in production, in this process, connected in memory, with the log's time for
// their clock. Checks go to the nodes in turn. Close it after use.
type Cluster struct {
	nodes []*node.Node
	clock *logClock
	next  int
}

// logClock stands at the instant of the entry that is being replayed.
type logClock struct{ now atomic.Int64 }

func (c *logClock) Now() bucket.Instant { return bucket.Instant(c.now.Load()) }

// patience is how long a check may wait for another node. Only this process can be slow here, and that must not make a
// failure rule decide.
const patience = time.Minute

// NewCluster starts so many nodes, 1 to 100, that know the policies, and decide every check of them at the owner of its
// key: what is lent is not there for others meanwhile, and what is sampled is not decided, so that with either the
// answers would depend on how many nodes there are. It returns when all are connected.
func NewCluster(ctx context.Context, nodes int, policies *policy.Set) (*Cluster, error) {
	if nodes < 1 || nodes > 100 {
		return nil, fmt.Errorf("%d nodes, want 1 to 100", nodes)
	}
	policies, err := exact(policies)
	if err != nil {
		return nil, err
	}
	c := &Cluster{clock: new(logClock)}
	var members node.Static
	for i := range nodes {
		name := fmt.Sprintf("n%d", i+1)
		members = append(members, ring.Member{ID: name, Boot: 1, Peer: name, State: ring.Active})
	}
	network := new(mem.Network)
	for _, m := range members {
		n, err := node.New(node.Config{
			Name: m.ID, Policies: policies, Deadline: patience, Clock: c.clock,
			Connect: func(own transport.Hello, secret []byte) (node.Network, node.Membership) {
				return network.Node(own.ID, own, secret), members
			},
		})
		if err != nil {
			c.Close()
			return nil, err
		}
		c.nodes = append(c.nodes, n)
	}
	// All at once: each waits for some time for another that says which policies apply.
	starting, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var all sync.WaitGroup
	for _, n := range c.nodes {
		all.Go(func() {
			err := n.Start(starting)
			if err == nil {
				err = connected(starting, n, nodes-1)
			}
			if err != nil {
				fail(err)
			}
		})
	}
	all.Wait()
	if err := context.Cause(starting); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// exact returns the policies with neither leases nor sampling.
func exact(policies *policy.Set) (*policy.Set, error) {
	d := policies.Definition()
	for i := range d.Policies {
		p := &d.Policies[i]
		p.Sample, p.Limits = 0, direct(p.Limits)
		for _, plans := range []*map[string]policy.Plan{&p.Tiers, &p.Overrides} {
			*plans = maps.Clone(*plans)
			for value, plan := range *plans {
				plan.Limits = direct(plan.Limits)
				(*plans)[value] = plan
			}
		}
	}
	return d.Set()
}

// direct returns copies of limits that are decided by the owner of a key.
func direct(limits []policy.Limit) []policy.Limit {
	limits = slices.Clone(limits)
	for i := range limits {
		limits[i].Consistency = policy.Direct
	}
	return limits
}

// connected waits until a node is connected to so many others.
func connected(ctx context.Context, n *node.Node, others int) error {
	ticks := time.NewTicker(time.Millisecond)
	defer ticks.Stop()
	for n.Stats().LinksUp < others {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticks.C:
		}
	}
	return nil
}

// Check sets the clock to at and asks the next node.
func (c *Cluster) Check(ctx context.Context, at time.Time, req policy.Request) (policy.Decision, error) {
	c.clock.now.Store(at.UnixNano())
	n := c.nodes[c.next]
	c.next = (c.next + 1) % len(c.nodes)
	d, err := n.Check(ctx, req)
	if err == nil && d.Degraded {
		err = fmt.Errorf("node %s could not reach the owner of a key within %v", n.Name(), patience)
	}
	return d, err
}

// Close ends the nodes.
func (c *Cluster) Close() {
	for _, n := range c.nodes {
		n.Close()
	}
}
