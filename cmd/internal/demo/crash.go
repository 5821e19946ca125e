package demo

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/drossel-dev/drossel/node"
)

// crash is the loss of the node that owned the hot key. Times are since the load began.
type crash struct {
	victim string
	owners [Keys + 1]string // of each key, before
	// from is since when the victim may have debited what no copy has, and closed when it had ended.
	from, closed time.Duration
	ownerless    time.Duration // until each partition had an owner again
	disturbed    uint64        // times that a node was taken for lost that was not
}

// copyInterval is how often owners copy what has changed to another node.
const copyInterval = 100 * time.Millisecond

// kill ends a node without a word. Its callers go to the others, as those of a server that has died.
func (c *cluster) kill(ctx context.Context, owners [Keys + 1]string, begun time.Time) (crash, error) {
	i := slices.IndexFunc(c.all, func(n *node.Node) bool { return n.Name() == owners[hotKey] })
	if i < 0 {
		return crash{}, fmt.Errorf("no node says that it owns the hot key: %q", owners[hotKey])
	}
	victim := c.all[i]
	rest := slices.Delete(slices.Clone(c.all), i, i+1)
	killed := time.Now()
	// What has waited for longer than Lag is in a copy. What was debited since the last look, an interval ago at most, has
	// not been seen to wait.
	behind := victim.Stats().Ownership.Lag + copyInterval
	c.running.Store(&rest)
	out := crash{victim: victim.Name(), owners: owners, from: killed.Add(-behind).Sub(begun)}
	if err := victim.Close(); err != nil {
		return out, fmt.Errorf("kill node %s: %w", victim.Name(), err)
	}
	out.closed = time.Since(begun)
	err := c.until(ctx, "the others to take over", c.owned)
	out.ownerless = time.Since(killed)
	return out, err
}

// disturbed counts the times that nodes went on as others or gave up what they held, as those do that are taken for lost.
func (c *cluster) disturbed() (n uint64) {
	for _, m := range c.all {
		o := m.Stats().Ownership
		n += o.Renewals + o.Outbid
	}
	return n
}
