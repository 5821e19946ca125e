package node

import "time"

// OwnershipStats is what a node has counted about who decides for what, and how it stands with that. It is all zero where
// members never change, and before Start.
type OwnershipStats struct {
	// Given and Received are partitions handed over to another node, or by one; Minted were taken over from lost owners,
	// Blank of them without any copy of their buckets.
	Given, Received, Minted, Blank uint64
	// Losses are incarnations of other nodes whose loss this one has confirmed.
	Losses uint64
	// Fences are the times that this node ceased to decide because no majority acknowledged it, Renewals those that it went
	// on as another incarnation, which owns nothing. Outbid partitions were given up because somebody had a higher claim.
	Fences, Renewals, Outbid uint64
	// Authority is how long the node may still decide without hearing from anybody; 0 if it may not.
	Authority time.Duration
	// Open, Claimed and Frozen partitions are held here: decided, not acknowledged by a majority, and on their way out. Of
	// Copies there is one here for another owner. Uncopied are held here, and no other node has confirmed a copy.
	Open, Claimed, Frozen, Copies, Uncopied int
	// Snapshots for copies are under way. Lag is how long ago it was seen that something had changed which no copy has yet;
	// 0 if there is nothing, or nobody to keep one. What changes is looked for ten times a second.
	Snapshots int
	Lag       time.Duration
	// SentBytes of groups were sent to other nodes, as copies and to move.
	SentBytes uint64
	// Transfers is how long handing over took, from the first byte until the new owner's claim was seen.
	Transfers Histogram
	// Words about ownership were sent to other nodes, in WordBytes.
	Words, WordBytes uint64
	// Parked checks from other nodes wait for their partition to be decided here.
	Parked int
	// Short counts the times that groups of other nodes could not all be taken in for lack of memory.
	Short uint64
}

func (n *Node) ownershipStats() (s OwnershipStats) {
	g := n.governed()
	if g == nil {
		return s
	}
	c := &n.counters
	s.SentBytes, s.Words, s.WordBytes, s.Short = c.putBytes.Load(), c.words.Load(), c.wordBytes.Load(), c.short.Load()
	s.Transfers, s.Parked = g.took.snapshot(), g.parking.waiting()
	g.mu.Lock()
	defer g.mu.Unlock()
	now := n.timer.Now()
	m, t := g.machine.Counters(), g.machine.Tally()
	s.Given, s.Received, s.Minted, s.Blank = m.Given, m.Received, m.Mints, m.Blank
	s.Losses, s.Fences, s.Renewals, s.Outbid = m.Losses, g.fences, m.Renewals, m.Outbid
	s.Authority = g.machine.AuthorityLeft(now)
	s.Open, s.Claimed, s.Frozen, s.Copies, s.Uncopied = t.Open, t.Claimed, t.Frozen, t.Copies, t.Uncopied
	for part, e := range g.estates {
		if e.flying {
			s.Snapshots++
		}
		if e.unsent != 0 && g.machine.Holds(part) {
			s.Lag = max(s.Lag, time.Duration(now-e.unsent))
		}
	}
	return s
}

// governed returns the governor of a node that has started; nil if it has none.
func (n *Node) governed() *governor {
	if stage(n.stage.Load()) == made {
		return nil // Start may be about to make it
	}
	return n.governor
}

// waiting counts the checks that are parked.
func (p *parking) waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count
}
