package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
	"github.com/drossel-dev/drossel/bucket/policy"
)

// group is one policy on one key: what has one owner.
type group struct {
	policy, key string
	limits      []bucket.Limit
	owner       int // index of the node
	id          bucket.ID
}

func (g *group) String() string { return g.policy + "/" + g.key }

// longestWindow is how long the bucket of the group takes that fills the slowest.
func (g *group) longestWindow() (longest time.Duration) {
	for _, l := range g.limits {
		longest = max(longest, l.Window())
	}
	return longest
}

// learn finds out the owner of a group and the id by which it goes, and has the oracle watch it.
func (c *cluster) learn(g *group) {
	c.t.Helper()
	for i := range c.nodes {
		d := c.ask(i, g, policy.Request{CheckOnly: true})
		if g.owner = c.index(d.Node); g.owner != i {
			g.id = c.tap.lastLook()
			c.byID[g.id] = g
			break
		}
	}
	c.oracle.watch(g, c.clocks[g.owner].Now())
}

// groupOf returns the group of an id that was learned.
func (c *cluster) groupOf(id bucket.ID) *group {
	g := c.byID[id]
	if g == nil {
		c.t.Errorf("a check of %x crossed, which is none of the groups under test", id.Bytes())
	}
	return g
}

// ask makes one request about a group at a node.
func (c *cluster) ask(node int, g *group, req policy.Request) policy.Decision {
	c.t.Helper()
	req.Policy, req.Key = g.policy, g.key
	d, err := c.nodes[node].Check(context.Background(), req)
	if err != nil {
		c.t.Errorf("%s: %s: %v", c.names[node], g, err)
	}
	return d
}

// check takes tokens at a node. What is admitted where it was asked goes to the oracle from here: such a decision takes
// no virtual time. What an owner admitted for another node went there when the owner answered, and what a failure rule
// admits is not the oracle's business.
func (c *cluster) check(node int, g *group, cost int64) policy.Decision {
	c.t.Helper()
	d := c.ask(node, g, policy.Request{Cost: cost})
	here := d.Node == c.names[node]
	switch {
	case !d.Allowed && (d.DecidedBy == policy.DenyLease || d.DecidedBy == policy.Owner && here):
		c.denied(g, cost)
	case !d.Allowed:
	case d.DecidedBy == policy.Lease && c.clocks[node].isStopped():
		c.admitted(g, c.names[node], d.DecidedBy.String(), cost, cost) // its lease may have ended in truth
	case d.DecidedBy == policy.Lease, d.DecidedBy == policy.Owner && here:
		c.admitted(g, c.names[node], d.DecidedBy.String(), cost, 0)
	}
	return d
}

func (c *cluster) admitted(g *group, node, by string, cost, allowed int64) {
	if g == nil {
		return
	}
	c.oracle.admit(g, admission{
		at: time.Since(c.began), now: c.clocks[g.owner].Now(), node: node, by: by, cost: cost, allowed: allowed,
	})
}

func (c *cluster) denied(g *group, cost int64) {
	if g != nil {
		c.oracle.deny(g, c.clocks[g.owner].Now(), cost)
	}
}

// drained waits until all that was lent must be back or burned and every bucket full, and says which is not. A bucket
// fills up to its burst less what is lent, so one that is full proves that its owner counts nothing as lent.
func (c *cluster) drained(groups []*group) (wrong []string) {
	wait := 3 * lease.TTL
	for _, g := range groups {
		w := g.longestWindow()
		wait = max(wait, 3*lease.TTL+w+w/50) // the clock may be slow
	}
	c.sleep(wait)
	for _, g := range groups {
		if d := c.ask(g.owner, g, policy.Request{CheckOnly: true}); d.Remaining != d.Limit {
			wrong = append(wrong, fmt.Sprintf("%s holds %d of %d, %v after the last check", g, d.Remaining, d.Limit, wait))
		}
	}
	return wrong
}

// policiesOf returns the policies of groups, which share those of one name.
func policiesOf(groups ...*group) []policy.Policy {
	var policies []policy.Policy
	seen := make(map[string]bool)
	for _, g := range groups {
		if seen[g.policy] {
			continue
		}
		seen[g.policy] = true
		p := policy.Policy{Name: g.policy, Key: []string{"key"}}
		for _, l := range g.limits {
			p.Limits = append(p.Limits, policy.Limit{Limit: l})
		}
		policies = append(policies, p)
	}
	return policies
}
