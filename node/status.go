package node

import (
	"time"

	"github.com/drossel-dev/drossel/ring"
)

// Status is what one node knows of itself.
type Status struct {
	ID string `json:"id"`
	// Boot differs after a restart. Incarnation is Boot at first, and rises when the node goes on as another one, which owns
	// nothing until it is given.
	Boot        uint64 `json:"boot"`
	Incarnation uint64 `json:"incarnation"`
	// State is joining, active or leaving, or guest for a node that serves without being a member.
	State string `json:"state"`
	// Epoch is that of the node's members, in hex; nodes that agree on them have the same.
	Epoch   string `json:"epoch"`
	Members int    `json:"members"` // that it knows of
	// Partitions of all RingPartitions are owned by this node; of Copies of the others it keeps one.
	Partitions     int `json:"partitions"`
	RingPartitions int `json:"ring_partitions"`
	Copies         int `json:"copies"`
	// AuthoritySecs is how long it may still decide without hearing from anybody, 0 if it may not; nil where members never
	// change.
	AuthoritySecs *float64 `json:"authority_seconds,omitempty"`
	// Waits says what keeps the node from doing its part, and what to do about that: "has met nobody: ...". It is empty if
	// nothing does.
	Waits string `json:"waits,omitempty"`
	// Policies says which ones the node applies: "edition 3 (4f1c09ab)", "file limits.yaml", "none".
	Policies   string  `json:"policies"`
	Groups     int     `json:"groups"` // owned, and held in memory
	TableBytes int64   `json:"table_bytes"`
	UptimeSecs float64 `json:"uptime_seconds"`
}

// Status returns this node's own. Safe for concurrent use.
func (n *Node) Status() Status {
	v := n.view.Load()
	t := n.owned.Stats()
	s := Status{
		ID: n.name, Boot: n.boot, Incarnation: n.boot, State: n.ownState().String(), Epoch: epochText(v.epoch),
		Members: len(v.members), Partitions: v.ownedPartitions(), RingPartitions: n.cfg.Ring.Partitions,
		Policies: n.PolicyStatus().short(), Groups: t.Groups, TableBytes: t.Bytes, UptimeSecs: n.elapsed().Round(time.Millisecond).Seconds(),
	}
	g := n.governed()
	if g == nil {
		return s
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := n.timer.Now()
	s.Incarnation, s.Copies = g.machine.Self().Incarnation, g.machine.Tally().Copies
	s.AuthoritySecs = secs(g.machine.AuthorityLeft(now))
	if _, s.Waits = g.machine.Waits(now); s.Waits == "" {
		s.Waits = g.waitsForDisks()
	}
	if s.State == ring.Active.String() && !g.machine.List().Holds(g.machine.Self()) {
		s.State = guest
	}
	return s
}

// secs returns a time in seconds; nil for one that has no meaning.
func secs(d time.Duration) *float64 {
	if d < 0 {
		return nil
	}
	s := d.Round(time.Millisecond).Seconds()
	return &s
}
