package node

import (
	"cmp"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

// leaseReport is what a node says of leases when another asks. An owner knows its groups by id, and their holders know
// policy and key, so that only both together tell all.
type leaseReport struct {
	Uptime time.Duration `json:"uptime_ns"`
	Hot    int           `json:"hot"`
	Lent   []lentGroup   `json:"lent"` // of the hot groups those with the most tokens out
	Purses int           `json:"purses"`
	Held   []heldGroup   `json:"held"` // of the purses those that are asked for most
}

type lentGroup struct {
	ID       string    `json:"id"`
	Burst    int64     `json:"burst"`
	Lendable int64     `json:"lendable"`
	Out      int64     `json:"out"`
	Renewals int64     `json:"renewals"`
	Holdings []holding `json:"holdings"`
}

// holding is what a node has of a group by the owner's account. Checks and Wanted tokens are per second.
type holding struct {
	Node   string  `json:"node"`
	Tokens int64   `json:"tokens"`
	Checks float64 `json:"checks"`
	Wanted float64 `json:"wanted"`
}

type heldGroup struct {
	ID      string        `json:"id"`
	Policy  string        `json:"policy"`
	Key     string        `json:"key"`
	Owner   string        `json:"owner"`
	Leased  bool          `json:"leased"`
	Left    int64         `json:"left"`
	DenyFor time.Duration `json:"deny_ns"`

	wanted float64
}

// maxKeyShown bounds the text of a key in a report.
const maxKeyShown = 250

// ownLeases returns what this node lends and holds, MaxLeasedGroups of each at most.
func (n *Node) ownLeases() leaseReport {
	now := n.clock.Now()
	r := leaseReport{Uptime: n.elapsed(), Lent: []lentGroup{}, Held: []heldGroup{}}
	for _, t := range n.owned.Lent(now) {
		g := lentGroup{
			ID: idText(t.ID), Burst: lease.TermsOf(t.Limits).Capacity, Lendable: t.Lendable, Out: t.Out, Renewals: t.Renewals,
			Holdings: []holding{},
		}
		for _, h := range t.Holdings {
			g.Holdings = append(g.Holdings, holding{h.Node, h.Tokens, h.Demand.Checks, h.Demand.Tokens})
		}
		r.Lent = append(r.Lent, g)
	}
	r.Held = n.heldGroups()
	slices.SortFunc(r.Lent, func(a, b lentGroup) int { return cmp.Or(cmp.Compare(b.Out, a.Out), cmp.Compare(a.ID, b.ID)) })
	slices.SortFunc(r.Held, func(a, b heldGroup) int {
		return cmp.Or(cmp.Compare(b.wanted, a.wanted), cmp.Compare(a.ID, b.ID))
	})
	r.Hot, r.Purses = len(r.Lent), len(r.Held)
	r.Lent = r.Lent[:min(r.Hot, MaxLeasedGroups)]
	r.Held = r.Held[:min(r.Purses, MaxLeasedGroups)]
	return r
}

// heldGroups returns all purses. It locks each shard in turn.
func (n *Node) heldGroups() []heldGroup {
	all := []heldGroup{}
	for i := range n.purses.shards {
		s := &n.purses.shards[i]
		s.mu.Lock()
		now := n.clock.Now()
		for _, p := range s.byID {
			all = append(all, heldGroup{
				ID: idText(p.id), Policy: p.policy, Key: p.key, Owner: p.link.member.ID,
				Leased: p.Lease(now) != lease.ID{}, Left: p.Left(now), DenyFor: p.DeniedFor(now), wanted: p.Demand(now).Tokens,
			})
		}
		s.mu.Unlock()
	}
	return all
}

func idText(id bucket.ID) string { return fmt.Sprintf("%016x%016x", id.Hi, id.Lo) }

// clip shortens the text of a key to what is shown of it.
func clip(key string) string {
	if len(key) <= maxKeyShown {
		return key
	}
	end := maxKeyShown
	for end > 0 && !utf8.RuneStart(key[end]) {
		end--
	}
	return key[:end] + "…" // of its own memory
}
