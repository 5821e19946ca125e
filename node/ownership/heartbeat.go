package ownership

import (
	"maps"
	"math"
	"slices"

	"github.com/drossel-dev/drossel/bucket"
)

// beat is a heartbeat that was sent, and who has acknowledged it.
type beat struct {
	seq     uint64
	sent    bucket.Instant
	members []string
	next    []string // those of the next list as well, unless nil
	claims  []Named
	acks    map[string][]Held // what each refused
}

// maxBeats bounds the heartbeats that are remembered: older ones give no authority any more.
const maxBeats = 64

// beat sends a heartbeat if one is due, in turn or out of it.
func (m *Machine) beat(now bucket.Instant) {
	if !m.joined || !m.memory || m.superseded {
		m.soon = false
		return
	}
	every := HeartbeatInterval(len(m.list.members))
	if m.soon && now-m.sentAt >= bucket.Instant(soonInterval) {
		m.next[timer{what: heartbeatTimer}] = now + bucket.Instant(every)
	} else if !m.due(now, timer{what: heartbeatTimer}, every) {
		return
	}
	m.soon, m.sentAt = false, now
	m.seq++
	b := beat{seq: m.seq, sent: now, members: m.list.members, next: m.accord.next.members, claims: m.claims(now), acks: make(map[string][]Held)}
	if len(m.beats) == maxBeats {
		m.beats = slices.Delete(m.beats, 0, 1)
	}
	m.beats = append(m.beats, b)
	for _, id := range m.others() {
		m.send(id, &Heartbeat{
			Incarnation: m.self.Incarnation, Seq: b.seq, State: m.State(), Deaf: m.isDeaf(now), Digest: m.digest(),
			Claims: m.claimsTo(id, b.claims),
		})
	}
	if m.votes(now) {
		b.acks[m.self.ID] = m.voter.vote(now, m.changed, m.self, b.claims, m.fence())
		m.count(now, &m.beats[len(m.beats)-1])
	}
}

// claims names the partitions that this node holds, but for those on their way out.
func (m *Machine) claims(now bucket.Instant) (named []Named) {
	for part := range m.parts {
		if h := m.parts[part].held; h != nil && !h.frozen {
			n := Named{Partition: part, Term: h.claim.Term, Live: now < h.authority}
			if !h.open {
				n.From = h.from
			}
			named = append(named, n)
		}
	}
	return named
}

// claimsTo returns claims with what they say to one node about its copies.
func (m *Machine) claimsTo(id string, claims []Named) []Named {
	claims = slices.Clone(claims)
	for i := range claims {
		r := &m.parts[claims[i].Partition].held.replica
		claims[i].Elsewhere = r.at.ID != "" && r.at.ID != id && r.sentTo != id && m.incarnate(r.at.ID) == r.at
	}
	return claims
}

// heartbeat takes in that of another node.
func (m *Machine) heartbeat(now bucket.Instant, from string, hb *Heartbeat) {
	who := Member{from, hb.Incarnation}
	// Who hears nobody is as good as silent: it can't be acknowledged, and if others tried it could never be given up for
	// lost. When most are gone all are deaf, and those who are left wait together.
	deaf := hb.Deaf && !m.isDeaf(now)
	if h := m.heard[from]; who.Incarnation >= h.incarnation {
		if h.incarnation != who.Incarnation || h.state != hb.State {
			m.output.Changed = true
		}
		at := now
		if deaf {
			at = h.at
		}
		m.heard[from] = heard{at: at, spoke: now, incarnation: who.Incarnation, state: hb.State, ever: true}
	}
	if deaf {
		if m.votes(now) && m.voter.isLost(who) {
			m.send(from, &LostYou{who.Incarnation})
		}
		return
	}
	delete(m.via, from)
	m.known = m.known || m.left && hb.Digest == m.list.digest
	switch {
	case m.list.Empty():
		m.send(from, &Who{})
	case hb.Digest != m.digest():
		m.send(from, &ListIs{m.list})
	}
	for _, n := range hb.Claims {
		c := Claim{Epoch{n.Term, who.Incarnation}, from}
		m.learn(now, n.Partition, c)
		if n.Elsewhere {
			m.discard(n.Partition, c, hb.Seq)
		}
	}
	if !m.votes(now) {
		m.early[from] = hb
		return
	}
	if m.voter.isLost(who) {
		m.send(from, &LostYou{who.Incarnation})
		return
	}
	if hb.Digest != m.digest() {
		m.early[from] = hb
		return
	}
	m.acknowledges(now, who, hb)
}

// acknowledges answers a heartbeat by the list that this node has.
func (m *Machine) acknowledges(now bucket.Instant, who Member, hb *Heartbeat) {
	delete(m.early, who.ID)
	if !m.list.Holds(who) {
		return
	}
	refused := m.voter.vote(now, m.changed, who, hb.Claims, m.fence())
	m.send(who.ID, &Ack{Incarnation: who.Incarnation, Seq: hb.Seq, Refused: refused})
}

// acknowledgeEarly answers the heartbeats that came by a list which this node did not have yet, or before it could vote.
func (m *Machine) acknowledgeEarly(now bucket.Instant) {
	if len(m.early) == 0 || !m.votes(now) {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(m.early)) {
		hb := m.early[id]
		who := Member{id, hb.Incarnation}
		if hb.Digest == m.digest() && !m.voter.isLost(who) {
			m.acknowledges(now, who, hb)
		}
	}
}

// votes says whether this node may acknowledge and confirm: it is a member, and knows what it has said before, or nothing
// that it has said can matter any more.
func (m *Machine) votes(now bucket.Instant) bool { return m.joined && m.memory && !m.quiet(now) }

// quiet is the time in which a member that has returned says nothing: what it acknowledged before may still count.
func (m *Machine) quiet(now bucket.Instant) bool {
	return m.returned && now-m.born <= drift(m.fence())
}

// ack takes in an acknowledgement.
func (m *Machine) ack(now bucket.Instant, from string, a *Ack) {
	if a.Incarnation != m.self.Incarnation {
		return
	}
	i := slices.IndexFunc(m.beats, func(b beat) bool { return b.seq == a.Seq })
	if i < 0 || !slices.Contains(m.beats[i].members, from) && !slices.Contains(m.beats[i].next, from) {
		return
	}
	m.answered[from] = now
	m.beats[i].acks[from] = a.Refused
	m.count(now, &m.beats[i])
	for _, h := range a.Refused {
		m.learn(now, h.Partition, h.Claim)
	}
}

// count sees what the acknowledgements of a heartbeat give.
func (m *Machine) count(now bucket.Instant, b *beat) {
	quorums := b.quorums(m.self)
	until := bucket.Instant(math.MaxInt64)
	for _, q := range quorums {
		if q.acks < q.majority {
			return
		}
		until = min(until, b.sent+bucket.Instant(Fence(q.members)))
	}
	for _, named := range b.claims {
		h := m.parts[named.Partition].held
		if h == nil || h.frozen || h.claim.Term != named.Term || h.claim.Incarnation != m.self.Incarnation {
			continue
		}
		acknowledged := true
		for _, q := range quorums {
			no := q.refused[named.Partition]
			if no > q.members-q.majority {
				m.counters.Refused++
				m.renew(now, "a majority refuses a partition that it claims")
				return
			}
			acknowledged = acknowledged && q.acks-no-q.waiting[named.Partition] >= q.majority
		}
		if acknowledged {
			m.acknowledge(named.Partition, h, until)
		}
	}
	if until > m.authority {
		m.authority = until
		m.pauseLate()
	}
}

// quorum is what the members of one list have said to a heartbeat.
type quorum struct {
	members, majority, acks int
	refused, waiting        map[int]int // by partition; nearly always nil
}

// quorums are one for the list, and one for the next if that may be in place by now.
func (b *beat) quorums(self Member) []quorum {
	all := []quorum{b.quorum(b.members, self)}
	if b.next != nil {
		all = append(all, b.quorum(b.next, self))
	}
	return all
}

func (b *beat) quorum(members []string, self Member) quorum {
	q := quorum{members: len(members), majority: len(members)/2 + 1}
	for _, id := range members {
		held, ok := b.acks[id]
		if !ok {
			continue
		}
		q.acks++
		for _, h := range held {
			if q.refused == nil {
				q.refused, q.waiting = make(map[int]int), make(map[int]int)
			}
			if h.Claim.Member() == self {
				q.waiting[h.Partition]++
			} else {
				q.refused[h.Partition]++
			}
		}
	}
	return q
}

// acknowledge gives a holding authority, and opens it the first time.
func (m *Machine) acknowledge(part int, h *holding, until bucket.Instant) {
	h.authority = max(h.authority, until)
	if !h.open && h.authority >= m.authority { // else it is late, and the node goes on for longer than that
		h.open = true
		m.act(&Open{part, h.claim})
	}
}

// pauseLate pauses what has less authority than the node: it was refused by some. So a node has to compare the time with
// one instant only.
func (m *Machine) pauseLate() {
	for part := range m.parts {
		if h := m.parts[part].held; h != nil && h.open && !h.frozen && h.authority < m.authority {
			h.open = false
			m.act(&Pause{part})
		}
	}
}

// lostMe takes in that somebody has confirmed this node's loss. As long as it has authority others acknowledge it.
func (m *Machine) lostMe(now bucket.Instant, from string, msg *LostYou) {
	if msg.Incarnation == m.self.Incarnation && (now > m.authority || m.stuck(now)) {
		m.renew(now, "its loss was confirmed by "+from)
	}
}

// stuck says that something this node claims has not been acknowledged for long.
func (m *Machine) stuck(now bucket.Instant) bool {
	for part := range m.parts {
		h := m.parts[part].held
		if h != nil && !h.frozen && now-max(h.since, h.authority) > bucket.Instant(claimTime) {
			return true
		}
	}
	return false
}

// Authority returns until when the node may decide for what is open, as of what it knows now.
func (m *Machine) Authority() bucket.Instant { return m.authority }

// Doubt ends authority until a heartbeat that is sent from now on has been acknowledged: more time may have passed than the
// clock says.
func (m *Machine) Doubt(now bucket.Instant) {
	m.beats = nil
	m.authority = min(m.authority, now)
	m.soon = true
	m.beat(now)
}

// hasAuthority says whether the node may decide now.
func (m *Machine) hasAuthority(now bucket.Instant) bool { return now < m.authority }
