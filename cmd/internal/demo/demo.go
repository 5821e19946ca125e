package demo

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/node"
)

// ErrDuration is wrapped if a demonstration would be too short to show anything.
var ErrDuration = errors.New("duration")

// Options say how to run.
type Options struct {
	// Duration is how long the load lasts, at least a second.
	Duration time.Duration
	// Progress is called a few times a second, if set.
	Progress func(Progress)
}

// Progress is how far a run is.
type Progress struct {
	Elapsed          time.Duration
	Checks, Admitted int64
	Nodes            int
}

// Limit is what each of the Keys gets. It is small against the load, so that limits are reached all the time, and its
// burst is large against its rate, so that admitting a burst twice would show.
var Limit = bucket.Limit{Count: 50, Per: time.Second, Burst: 100}

// HotLimit is what one more key gets, the hot one, for which all nodes are asked much more often than it admits.
var HotLimit = bucket.Limit{Count: 1000, Per: time.Second, Burst: 1000}

// Keys is the number of keys beside the hot one.
const Keys = 200

const (
	nodes      = 3
	policyName = "demo"
	hotPolicy  = "hot"
	settleTime = time.Minute
	// partitions are fewer than those of a real cluster: three nodes share this machine with their callers.
	partitions = 251
	// settlePlacement lets partitions move soon after a node has come: nobody wants to wait for that here.
	settlePlacement = 100 * time.Millisecond
)

// Run runs the demonstration until it is over or ctx ends.
func Run(ctx context.Context, opt Options) (*Report, error) {
	if opt.Duration < time.Second {
		return nil, fmt.Errorf("%w of %v, want at least 1s", ErrDuration, opt.Duration)
	}
	c, err := startCluster(ctx)
	if err != nil {
		return nil, err
	}
	defer c.close()
	owners, undisturbed := c.owners(), c.disturbed()
	l := newLoad(c)
	l.start(ctx, opt.Duration)
	watch(ctx, l, opt, l.begun.Add(opt.Duration/2))
	crash, err := c.kill(ctx, owners, l.begun)
	if err != nil {
		return nil, err
	}
	watch(ctx, l, opt, l.end.Add(-lastLook))
	leases := (*c.running.Load())[0].Leases(ctx)
	watch(ctx, l, opt, l.end)
	l.wait()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	crash.disturbed = c.disturbed() - undisturbed
	return l.report(crash, leases), nil
}

// lastLook is how long before the end it is seen who holds leases: some longer than it takes.
const lastLook = 400 * time.Millisecond

// watch reports progress until an instant.
func watch(ctx context.Context, l *load, opt Options, until time.Time) {
	end := time.NewTimer(time.Until(until))
	defer end.Stop()
	ticks := time.NewTicker(200 * time.Millisecond)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-end.C:
			return
		case <-ticks.C:
			if opt.Progress != nil {
				opt.Progress(l.progress())
			}
		}
	}
}

// cluster is the three nodes. Callers take those that run.
type cluster struct {
	all     []*node.Node
	running atomic.Pointer[[]*node.Node]
}

func startCluster(ctx context.Context) (*cluster, error) {
	set, err := policy.NewSet(
		policy.Policy{Name: policyName, Key: []string{"user"}, Limits: []policy.Limit{{Limit: Limit}}},
		policy.Policy{Name: hotPolicy, Limits: []policy.Limit{{Limit: HotLimit}}},
	)
	if err != nil {
		return nil, err
	}
	c := new(cluster)
	for i := range nodes {
		cfg := node.Config{Name: fmt.Sprintf("n%d", i+1), Gossip: "127.0.0.1:0", Policies: set, Settle: settlePlacement}
		cfg.Ring.Partitions = partitions
		if i > 0 {
			cfg.Join = []string{c.all[0].GossipAddr()}
		}
		n, err := node.New(cfg)
		if err == nil {
			err = n.Start(ctx)
		}
		if err != nil {
			c.close()
			return nil, err
		}
		c.all = append(c.all, n)
	}
	c.running.Store(&c.all)
	if err := c.until(ctx, "the nodes to share all partitions", c.settled); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// until waits until something holds.
func (c *cluster) until(ctx context.Context, what string, holds func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	ticks := time.NewTicker(5 * time.Millisecond)
	defer ticks.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited %v for %s: %w", settleTime, what, ctx.Err())
		case <-ticks.C:
		}
	}
	return nil
}

// settled says that each node decides what it should, and has copies of it elsewhere.
func (c *cluster) settled() bool {
	if !c.owned() {
		return false
	}
	for _, n := range c.all {
		if s := n.Stats(); s.LinksUp != nodes-1 || s.Ownership.Open == 0 || s.Ownership.Uncopied > 0 {
			return false
		}
	}
	for _, p := range c.all[0].Partitions() {
		if p.Owner != p.Placed {
			return false
		}
	}
	return true
}

// owned says that each partition is decided by one of the nodes that run.
func (c *cluster) owned() bool {
	open, all := 0, 0
	for _, n := range *c.running.Load() {
		s := n.Stats()
		open, all = open+s.Ownership.Open, s.Partitions
	}
	return open == all
}

// owners returns who decides for each key, by a look that takes nothing.
func (c *cluster) owners() (owners [Keys + 1]string) {
	for k := range owners {
		look := request(k)
		look.CheckOnly = true
		d, err := c.all[0].Check(context.Background(), look)
		if err == nil && !d.Degraded {
			owners[k] = d.Node
		}
	}
	return owners
}

// leaseMessages counts what the nodes have told owners about leases.
func (c *cluster) leaseMessages() (n uint64) {
	for _, node := range c.all {
		n += node.Stats().LeaseRequestsSent
	}
	return n
}

func (c *cluster) close() {
	for _, n := range c.all {
		n.Close()
	}
}
