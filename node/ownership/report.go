package ownership

import (
	"slices"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// Report is how a machine stands. The slices are the caller's.
type Report struct {
	Self  Member
	State State
	// Listed says that the list has this incarnation. Who is not listed serves as a guest.
	Listed bool
	// Authority is how long the node may still decide without hearing from anybody; 0 if it may not.
	Authority time.Duration
	// Wait is what keeps the node from doing its part, and Waits says so in words; WaitNone and empty if all is well.
	Wait  Wait
	Waits string
	// Members are this node, the list, and those who are only known to gossip, in the order of their ids.
	Members []MemberReport
	// Placed are those whom partitions are placed on, in the order of their ids.
	Placed []string
	// Partitions are all of them, by number.
	Partitions []PartitionReport
}

// MemberReport is how one node stands with this one.
type MemberReport struct {
	Member
	// State is the last that it has told; 0 if it has told nothing.
	State State
	// Listed says that it counts for majorities.
	Listed bool
	// Silent says that it was not heard for as long as authority lasts, and Lost that this node has confirmed the loss of
	// this incarnation.
	Silent, Lost bool
	// Acknowledges says that it has acknowledged a heartbeat of this node within the time that authority lasts.
	Acknowledges bool
	// Heard and Acknowledged are how long ago it was heard, and has acknowledged; -1 if never, 0 for this node.
	Heard, Acknowledged time.Duration
}

// PartitionReport is how one partition stands, as far as this node knows.
type PartitionReport struct {
	Here Here
	// Claim is the highest that there is word of; zero if there is none.
	Claim Claim
	// Placed is who should hold it; empty without placement.
	Placed string
	// CopyAt is who keeps a copy of it: for one held here the node that has confirmed one, for another this node, or nobody.
	CopyAt string
	// Last is the last time that it came here or went; zero if it never did.
	Last Move
}

// Here is what a node has of a partition.
type Here uint8

const (
	HereNothing Here = iota // neither held nor kept
	HereCopy                // kept for an owner
	HereClaimed             // held, and not acknowledged by a majority now
	HereOpen                // held: the node decides while it has authority
	HereFrozen              // held, given away, and not claimed by the next owner yet
)

// String returns the name used in JSON, metrics and logs.
func (h Here) String() string { return [...]string{"-", "copy", "claimed", "open", "frozen"}[h] }

// here says what this node has of a partition.
func (p *partition) here() Here {
	switch h := p.held; {
	case h != nil && h.frozen:
		return HereFrozen
	case h != nil && h.open:
		return HereOpen
	case h != nil:
		return HereClaimed
	case p.copy.Claim.Owner != "":
		return HereCopy
	}
	return HereNothing
}

// Report returns how the machine stands. It takes time in proportion to the partitions; Tally and Waits take less.
func (m *Machine) Report(now bucket.Instant) Report {
	r := Report{
		Self: m.self, State: m.State(), Listed: m.joined, Authority: m.AuthorityLeft(now), Placed: slices.Clone(m.placed.ids),
	}
	r.Wait, r.Waits = m.Waits(now)
	ids := append(m.others(), m.self.ID)
	slices.Sort(ids)
	for _, id := range ids {
		r.Members = append(r.Members, m.member(now, id))
	}
	r.Partitions = make([]PartitionReport, len(m.parts))
	for part := range m.parts {
		p := &m.parts[part]
		to := &r.Partitions[part]
		*to = PartitionReport{Here: p.here(), Claim: p.known, Placed: m.placed.owner(part), Last: p.history}
		switch h := p.held; {
		case h != nil:
			to.CopyAt = h.replica.at.ID
		case to.Here == HereCopy:
			to.CopyAt = m.self.ID
		}
	}
	return r
}

// member reports how one node stands with this one.
func (m *Machine) member(now bucket.Instant, id string) MemberReport {
	if id == m.self.ID {
		return MemberReport{Member: m.self, State: m.State(), Listed: m.joined, Acknowledges: m.acknowledgedBy(now, id)}
	}
	h := m.heard[id]
	r := MemberReport{
		Member: Member{id, max(h.incarnation, m.list.Newest(id))}, State: h.state, Listed: m.list.Has(id),
		Silent: !h.ever || !m.speaks(now, id), Acknowledges: m.acknowledgedBy(now, id), Heard: -1, Acknowledged: -1,
	}
	if i := slices.IndexFunc(m.peers, func(p Member) bool { return p.ID == id }); i >= 0 {
		r.Incarnation = max(r.Incarnation, m.peers[i].Incarnation)
	}
	if h.ever {
		r.Heard = time.Duration(now - h.spoke)
	}
	if at, ok := m.answered[id]; ok {
		r.Acknowledged = time.Duration(now - at)
	}
	r.Lost = m.voter.isLost(r.Member)
	return r
}

// acknowledgedBy says that a member has acknowledged a heartbeat of this node within the time that authority lasts.
func (m *Machine) acknowledgedBy(now bucket.Instant, id string) bool {
	if id == m.self.ID {
		return m.votes(now)
	}
	at, ok := m.answered[id]
	return ok && now-at < bucket.Instant(m.fence())
}

// AuthorityLeft returns how long the node may still decide without hearing from anybody; 0 if it may not.
func (m *Machine) AuthorityLeft(now bucket.Instant) time.Duration {
	return time.Duration(max(m.authority-now, 0))
}
