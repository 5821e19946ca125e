package node

import (
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/node/ownership"
)

// PartitionMove is the last time that a partition came to a node, or went.
type PartitionMove struct {
	Partition int `json:"partition"`
	// How is founded, received, minted (taken over) or given.
	How string `json:"how"`
	// From is the other node: for given it is the new owner, for minted the lost one. It may be unknown.
	From    string  `json:"from,omitempty"`
	AgoSecs float64 `json:"ago_seconds"`
}

// PartitionStatus is one partition as one node knows it.
type PartitionStatus struct {
	Partition int `json:"partition"`
	// Here is what that node has of it: open, claimed, frozen, copy, or "-" for nothing. Empty where members never change.
	Here string `json:"here,omitempty"`
	// Owner has the highest claim known, with Term; empty if nobody is known to hold it. Placed is who should hold it.
	Owner  string `json:"owner"`
	Term   uint64 `json:"term"`
	Placed string `json:"placed"`
	// CopyAt is who keeps a copy: of one held by this node whoever has confirmed one, else this node or nobody.
	CopyAt string `json:"copy_at,omitempty"`
	// Last is the last time that it came to this node or went; nil if it never did.
	Last *PartitionMove `json:"last,omitempty"`
}

// Partitions returns each partition as this node knows it, by number. Safe for concurrent use.
func (n *Node) Partitions() []PartitionStatus {
	g := n.governed()
	if g == nil {
		return n.view.Load().partitions()
	}
	g.mu.Lock()
	now := n.timer.Now()
	r := g.machine.Report(now)
	g.mu.Unlock()
	out := make([]PartitionStatus, len(r.Partitions))
	for part, p := range r.Partitions {
		out[part] = PartitionStatus{
			Partition: part, Here: p.Here.String(), Owner: p.Claim.Owner, Term: p.Claim.Term, Placed: p.Placed, CopyAt: p.CopyAt,
			Last: moveOf(part, p.Last, now),
		}
	}
	return out
}

// partitions are those of a ring whose owners decide.
func (v *view) partitions() []PartitionStatus {
	if v.ring == nil {
		return nil
	}
	out := make([]PartitionStatus, v.ring.Partitions())
	for part := range out {
		owner := v.ring.Members()[v.ring.Owner(part)].ID
		out[part] = PartitionStatus{Partition: part, Owner: owner, Placed: owner}
	}
	return out
}

// moveOf returns the last move of a partition as it is shown; nil if there was none.
func moveOf(part int, m ownership.Move, now bucket.Instant) *PartitionMove {
	if m.How == 0 {
		return nil
	}
	ago := time.Duration(now - m.At).Round(time.Millisecond)
	return &PartitionMove{Partition: part, How: m.How.String(), From: m.From, AgoSecs: ago.Seconds()}
}
