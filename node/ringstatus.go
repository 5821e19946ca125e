package node

import (
	"cmp"
	"slices"
)

// RingStatus is who owns what, as one node knows it.
type RingStatus struct {
	Node       string      `json:"node"`
	Epoch      string      `json:"epoch"`
	Partitions int         `json:"partitions"`
	Parameters string      `json:"parameters"`
	Members    []RingShare `json:"members"`
	// Here and Moves are about the partitions that the node itself has, and has had; nil where members never change.
	Here  *RingHere  `json:"here,omitempty"`
	Moves *RingMoves `json:"moves,omitempty"`
}

// RingShare is what one member owns.
type RingShare struct {
	ID   string `json:"id"`
	Peer string `json:"peer"`
	// Partitions are those that it holds, by the claims that the node knows of; Share is their part of all, 0 to 1.
	Partitions int     `json:"partitions"`
	Share      float64 `json:"share"`
	// Placed is how many it should hold. Where it differs from Partitions some are on their way.
	Placed int `json:"placed"`
	// Copies is of how many of its partitions the node that was asked keeps a copy.
	Copies int `json:"copies"`
	// FailsOver counts where those that it should hold would go if it were lost, by member.
	FailsOver map[string]int `json:"fails_over,omitempty"`
}

// RingHere counts partitions by what a node has of them.
type RingHere struct {
	Open    int `json:"open"`    // held, and decided while the node has authority
	Claimed int `json:"claimed"` // held, and not acknowledged by a majority now
	Frozen  int `json:"frozen"`  // given away, and not claimed by the next owner yet
	Copies  int `json:"copies"`  // kept for other owners
	// Uncopied are held, and no other node has confirmed a copy; Unclaimed ones nobody is known to hold.
	Uncopied  int `json:"uncopied"`
	Unclaimed int `json:"unclaimed"`
	// LowestTerm and HighestTerm are of all claims known. A term rises by one with a move, by two with a take-over.
	LowestTerm  uint64 `json:"lowest_term"`
	HighestTerm uint64 `json:"highest_term"`
}

// RingMoves are what has come to a node, and gone, since it started.
type RingMoves struct {
	Given    uint64 `json:"given"`
	Received uint64 `json:"received"`
	// Minted were taken over from lost owners, Blank of them without any copy.
	Minted uint64 `json:"minted"`
	Blank  uint64 `json:"blank"`
	// MedianSecs is how long giving one away takes in at least half of the cases, MaxSecs in the longest.
	MedianSecs float64 `json:"median_seconds"`
	MaxSecs    float64 `json:"max_seconds"`
	// Last are the last ones, the latest first, one for each partition.
	Last []PartitionMove `json:"last"`
}

// lastMoves is how many of the last moves are shown.
const lastMoves = 10

// Ring returns who owns what, as far as this node knows. Safe for concurrent use. With a hundred members it takes a quarter
// of a second.
func (n *Node) Ring() RingStatus {
	v := n.view.Load()
	s := RingStatus{Node: n.name, Epoch: epochText(v.epoch), Partitions: n.cfg.Ring.Partitions, Parameters: n.cfg.Ring.String()}
	if g := n.governed(); g != nil {
		g.ring(&s)
	} else if v.ring != nil {
		s.fixed(v)
	}
	return s
}

// ring tells of partitions that move.
func (g *governor) ring(s *RingStatus) {
	n := g.node
	g.mu.Lock()
	now := n.timer.Now()
	r, t, c := g.machine.Report(now), g.machine.Tally(), g.machine.Counters()
	g.mu.Unlock()
	s.Here = &RingHere{
		Open: t.Open, Claimed: t.Claimed, Frozen: t.Frozen, Copies: t.Copies, Uncopied: t.Uncopied, Unclaimed: t.Unclaimed,
		LowestTerm: t.LowestTerm, HighestTerm: t.HighestTerm,
	}
	took := g.took.snapshot()
	s.Moves = &RingMoves{
		Given: c.Given, Received: c.Received, Minted: c.Mints, Blank: c.Blank, Last: []PartitionMove{},
		MedianSecs: took.Quantile(0.5).Seconds(), MaxSecs: took.Max.Seconds(),
	}
	for part := range r.Partitions {
		if m := moveOf(part, r.Partitions[part].Last, now); m != nil {
			s.Moves.Last = append(s.Moves.Last, *m)
		}
	}
	slices.SortStableFunc(s.Moves.Last, func(a, b PartitionMove) int { return cmp.Compare(a.AgoSecs, b.AgoSecs) })
	s.Moves.Last = s.Moves.Last[:min(len(s.Moves.Last), lastMoves)]
	s.shares(n, &r)
}
