package ownership

import (
	"cmp"
	"maps"
	"slices"

	"github.com/drossel-dev/drossel/bucket"
)

// asking is what the others have said about the loss of a member.
type asking struct {
	digest  uint64
	replies map[string]map[int]reply // by who, by partition
	told    map[int]bucket.Instant   // when the heir was told
	at      bucket.Instant
}

type reply struct {
	heir Heir
	at   bucket.Instant
}

// gone says that a member can't be what it was: it has come back as another, was silent for as long as authority can
// last, or is not listed.
func (m *Machine) gone(now bucket.Instant, who Member) bool {
	if who.ID == m.self.ID {
		return who.Incarnation < m.self.Incarnation
	}
	h, ok := m.heard[who.ID]
	return !ok || h.incarnation > who.Incarnation || now-h.at > drift(m.fence()) || !m.list.Has(who.ID)
}

// detect asks the others to confirm the loss of owners, and of those to whom partitions were on their way.
func (m *Machine) detect(now bucket.Instant) {
	if m.quiet(now) {
		return
	}
	// A partition that nobody is known to hold is asked for as that of nobody: whoever knows better says so.
	orphans := now-m.since > bucket.Instant(claimTime)
	if !m.moves && !m.anyGone(now, orphans) {
		return
	}
	lost := make(map[Member][]Heir)
	known := make(map[Member]bool)
	isGone := func(who Member) bool {
		gone, ok := known[who]
		if !ok {
			gone = m.gone(now, who)
			known[who] = gone
		}
		return gone
	}
	for part := range m.parts {
		p := &m.parts[part]
		if owner := p.known.Member(); p.held == nil && (owner.ID == "" && orphans || owner.ID != "" && isGone(owner)) {
			lost[owner] = append(lost[owner], Heir{Partition: part, Term: p.known.Term})
		}
		if h := p.held; h != nil && h.frozen && isGone(h.to) {
			lost[h.to] = append(lost[h.to], Heir{part, h.claim.Term + 1, m.self})
		}
	}
	for _, who := range slices.SortedFunc(maps.Keys(lost), byID) {
		if m.due(now, timer{askTimer, who}, askInterval) {
			m.ask(now, who, lost[who])
		}
	}
	maps.DeleteFunc(m.asks, func(_ Member, a *asking) bool { return now-a.at > bucket.Instant(2*claimTime) })
}

// anyGone says whether any owner that is known is gone, or, with orphans, nobody is known of some partition. That is seldom, and else no
// partition need be looked at.
func (m *Machine) anyGone(now bucket.Instant, orphans bool) bool {
	for who := range m.owners {
		if who.ID == "" && orphans || who.ID != "" && m.gone(now, who) {
			return true
		}
	}
	return false
}

// ask asks all members about the loss of one. Partitions without an heir get the owner in the ring without it, and without
// others who are silent.
func (m *Machine) ask(now bucket.Instant, who Member, heirs []Heir) {
	ids, owners := m.without(m.near(now), who.ID)
	if owners == nil { // there is nobody else, but it may be back
		ids = m.live(now)
		owners = m.place(ids)
	}
	named := heirs[:0]
	for _, h := range heirs {
		if h.Member.ID == "" {
			if owners == nil {
				continue
			}
			h.Member = m.incarnate(ids[owners[h.Partition]])
		}
		named = append(named, h)
	}
	a := m.asks[who]
	if a == nil || a.digest != m.list.digest {
		a = &asking{digest: m.list.digest, replies: make(map[string]map[int]reply), told: make(map[int]bucket.Instant)}
		m.asks[who] = a
	}
	a.at = now
	if len(named) == 0 {
		return
	}
	msg := &Ask{who, m.list.digest, named}
	m.tell(msg)
	if c := m.confirmation(now, msg); c != nil {
		m.confirmed(now, m.self.ID, c)
	}
}

// near returns the members that can be given something and were heard at their last turn or the one before. When several
// are lost at once the heirs of one must not be the others.
func (m *Machine) near(now bucket.Instant) []string {
	patience := bucket.Instant(nearBeats * HeartbeatInterval(len(m.list.members)))
	return slices.DeleteFunc(m.live(now), func(id string) bool {
		return id != m.self.ID && now-m.heard[id].at > patience
	})
}

func (m *Machine) incarnate(id string) Member {
	if id == m.self.ID {
		return m.self
	}
	return Member{id, m.heard[id].incarnation}
}

// confirm answers who asks about a loss.
func (m *Machine) confirm(now bucket.Instant, from string, msg *Ask) {
	if c := m.confirmation(now, msg); c != nil {
		m.send(from, c)
		m.enlighten(from, msg)
		return
	}
	if m.joined && m.memory && now < m.voter.acked[msg.Lost] && m.hears(now, msg.Lost.ID) {
		m.send(from, &StillHeard{msg.Lost})
	}
}

// confirmation confirms a loss and names heirs, or is nil: this member has given it authority that may not have ended, or
// does not know whether it has.
func (m *Machine) confirmation(now bucket.Instant, msg *Ask) *Confirm {
	if !m.joined || !m.memory || m.undecided() || msg.Digest != m.list.digest || msg.Lost == m.self {
		return nil
	}
	if now-m.born <= drift(m.fence()) || now <= m.changed {
		return nil
	}
	v := &m.voter
	if !v.isLost(msg.Lost) {
		if now <= v.acked[msg.Lost] {
			return nil
		}
		v.lost[msg.Lost.ID] = msg.Lost.Incarnation
		m.counters.Losses++
	}
	c := &Confirm{Lost: msg.Lost, Digest: msg.Digest}
	for _, ask := range msg.Heirs {
		if !m.inRange(ask.Partition) || m.passed(ask) {
			continue
		}
		h := &v.heirs[ask.Partition]
		if !h.open(now) {
			term := max(ask.Term, h.Term, v.given[ask.Partition].claim.Term)
			*h = named{Heir: Heir{ask.Partition, term, ask.Member}, at: now}
		}
		c.Heirs = append(c.Heirs, h.Heir)
	}
	return c
}

// passed says that somebody else holds the partition by now, who is not known to be lost.
func (m *Machine) passed(ask Heir) bool {
	c := m.voter.given[ask.Partition].claim
	return c.Term > ask.Term && !m.voter.isLost(c.Member())
}

// enlighten tells who asks about a partition what this node knows that is newer, lost or not: two that think it different
// owners' would name different heirs for ever.
func (m *Machine) enlighten(from string, msg *Ask) {
	var held []Held
	for _, ask := range msg.Heirs {
		if !m.inRange(ask.Partition) {
			continue
		}
		c := m.parts[ask.Partition].known
		if g := m.voter.given[ask.Partition].claim; c.Less(g) {
			c = g
		}
		if (Claim{Epoch{ask.Term, msg.Lost.Incarnation}, msg.Lost.ID}).Less(c) {
			held = append(held, Held{ask.Partition, c})
		}
	}
	if held != nil {
		m.send(from, &Owners{held})
	}
}

// confirmed takes in a confirmation. Once a majority has named the same heir that one is told.
func (m *Machine) confirmed(now bucket.Instant, from string, msg *Confirm) {
	a := m.asks[msg.Lost]
	if a == nil || a.digest != m.list.digest || msg.Digest != a.digest || !m.list.Has(from) {
		return
	}
	if a.replies[from] == nil {
		a.replies[from] = make(map[int]reply)
	}
	for _, h := range msg.Heirs {
		a.replies[from][h.Partition] = reply{h, now}
	}
	heirs := make(map[Member][]Heir)
	for _, h := range msg.Heirs {
		if m.inRange(h.Partition) && m.awaits(h, msg.Lost) && now-a.told[h.Partition] >= bucket.Instant(askInterval) {
			if term, ok := m.elected(now, a, h); ok {
				a.told[h.Partition] = now
				heirs[h.Member] = append(heirs[h.Member], Heir{h.Partition, term, h.Member})
			}
		}
	}
	for _, heir := range slices.SortedFunc(maps.Keys(heirs), byID) {
		msg := &Inherit{msg.Lost, heirs[heir]}
		if heir == m.self {
			m.inherit(now, msg)
		} else {
			m.send(heir.ID, msg)
		}
	}
}

func byID(a, b Member) int {
	return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Incarnation, b.Incarnation))
}

// awaits says that the partition is still thought to be the lost member's, or was on its way to it from here.
func (m *Machine) awaits(h Heir, lost Member) bool {
	p := &m.parts[h.Partition]
	return p.known.Member() == lost || h.Member == m.self && p.held != nil && p.held.frozen && p.held.to == lost
}

// elected says whether a majority has named the heir, and returns the highest term that they know.
func (m *Machine) elected(now bucket.Instant, a *asking, h Heir) (term uint64, ok bool) {
	n := 0
	for _, replies := range a.replies {
		r, ok := replies[h.Partition]
		if ok && r.heir.Member == h.Member && now-r.at <= bucket.Instant(claimTime) {
			n++
			term = max(term, r.heir.Term)
		}
	}
	return term, n >= m.list.Majority()
}

// relayed says that another member hears one that this node does not.
type relayed struct {
	by string
	at bucket.Instant
}
