package ownership

import (
	"slices"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// replica is where the copy of a partition that this node holds is.
type replica struct {
	seq    uint64 // of the last snapshot
	at     Member // who has confirmed one; it is of no use when that has started again
	acked  uint64 // which
	sentTo string
	sent   bucket.Instant // the first one that is not confirmed; 0 if there is none
}

// Snapshot is what is sent to the node that would take a partition over. It has all groups if Base is 0, else those that
// have changed since the snapshot of that number.
type Snapshot struct {
	To        string
	Keeper    uint64 // the incarnation of who it is sent to
	Partition int
	Claim     Claim
	Seq, Base uint64
	Beat      uint64 // the last heartbeat of the sender
}

// replicaPatience is how long a successor may be silent before the next one gets the copies, four intervals of a tenth
// of a second.
const replicaPatience = 400 * time.Millisecond

// Successors returns who should hold each partition if this node were lost, as an index into ids. Who has been sent something
// and says nothing is passed over for a while. Nil if there is nobody.
func (m *Machine) Successors(now bucket.Instant) (ids []string, owners []uint16) {
	for part := range m.parts {
		if h := m.parts[part].held; h != nil && h.replica.sent != 0 && now-h.replica.sent > bucket.Instant(replicaPatience) {
			m.deaf[h.replica.sentTo] = now + 4*bucket.Instant(replicaPatience)
			h.replica.sent = 0
		}
	}
	ids = slices.DeleteFunc(m.live(now), func(id string) bool { return id == m.self.ID })
	hearing := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return now < m.deaf[id] })
	if len(hearing) > 0 {
		ids = hearing
	}
	return ids, m.place(ids)
}

// HasCopy says that a node has confirmed a copy of a partition that this node holds, and has not started again since.
func (m *Machine) HasCopy(part int, id string) bool {
	h := m.parts[part].held
	return h != nil && id != "" && h.replica.at == m.incarnate(id)
}

// Snapshot returns the snapshot that is due for a partition to its successor, if something has changed since the last one that
// was confirmed, or if that has none. It is false if there is nothing to send.
func (m *Machine) Snapshot(now bucket.Instant, part int, to string, changed bool) (s Snapshot, ok bool) {
	h := m.parts[part].held
	if h == nil || h.frozen || m.HasCopy(part, to) && !changed {
		return s, false
	}
	r := &h.replica
	if to != r.sentTo {
		r.sentTo, r.sent = to, 0
	}
	if r.sent == 0 {
		r.sent = now
	}
	r.seq++
	s = Snapshot{To: to, Keeper: m.incarnate(to).Incarnation, Partition: part, Claim: h.claim, Seq: r.seq, Beat: m.seq}
	if m.HasCopy(part, to) {
		s.Base = r.acked
	}
	return s, true
}

// Snapshotted says that a snapshot has arrived.
func (m *Machine) Snapshotted(now bucket.Instant, s Snapshot) {
	h := m.parts[s.Partition].held
	if h == nil || h.claim != s.Claim || h.replica.acked >= s.Seq {
		return
	}
	r := &h.replica
	if s.To != r.sentTo { // it may have been told meanwhile that its copy is not needed
		return
	}
	r.at, r.acked = Member{s.To, s.Keeper}, s.Seq
	r.sent = 0
	delete(m.deaf, s.To)
}

// Missed says that the receiver of a snapshot has nothing to build it on: the next one has all groups.
func (m *Machine) Missed(s Snapshot) {
	if h := m.parts[s.Partition].held; h != nil && h.replica.at.ID == s.To {
		h.replica.at = Member{}
	}
}

// Accepts says whether a snapshot is fresher than the copy that this node has, and builds on it. One of an owner whose loss
// was confirmed is refused: its heir may have asked for copies already.
func (m *Machine) Accepts(s Snapshot) bool {
	if !m.inRange(s.Partition) || m.parts[s.Partition].held != nil || m.voter.isLost(s.Claim.Member()) {
		return false
	}
	c := m.parts[s.Partition].copy
	return c.Less(Copy{s.Partition, s.Claim, s.Seq}) && (s.Base == 0 || c.Claim == s.Claim && c.Seq >= s.Base)
}

// Keeps says that this node keeps a copy as of a snapshot that it has accepted.
func (m *Machine) Keeps(s Snapshot) {
	if m.Accepts(s) {
		m.parts[s.Partition].copy = Copy{s.Partition, s.Claim, s.Seq}
		m.parts[s.Partition].beat, m.parts[s.Partition].sole = s.Beat, false
	}
}

// discard forgets the copy of a partition, because its owner has said in a heartbeat that there is a newer one elsewhere.
// Word from before the copy was sent says nothing.
func (m *Machine) discard(part int, c Claim, beat uint64) {
	if !m.inRange(part) {
		return
	}
	p := &m.parts[part]
	if p.held != nil || p.copy.Claim.Owner == "" || c.Less(p.copy.Claim) || p.copy.Claim == c && beat <= p.beat {
		return
	}
	p.copy, p.sole = Copy{}, false
	m.act(&Discard{part})
}
