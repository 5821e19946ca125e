package ownership

import (
	"maps"
	"slices"

	"github.com/drossel-dev/drossel/bucket"
)

// meeting is what another node has said when it was asked for a list.
type meeting struct {
	at   bucket.Instant
	list bool
}

// metFor is how long it counts that another node was met.
const metFor = 3 * joinInterval * 10

// look moves a node along: from looking for a cluster to being a member, and placement with the members.
func (m *Machine) look(now bucket.Instant) {
	if m.superseded {
		return
	}
	if !m.memory {
		m.findOut(now)
	}
	// Who can't acknowledge yet is no help to a majority, and does not join before it can.
	if m.memory && !m.joined && !m.leaving && !m.list.Empty() && !m.quiet(now) && m.due(now, timer{what: joinTimer}, joinInterval) {
		if to, ok := m.sponsor(); ok {
			m.send(to, &Join{m.self.Incarnation})
		} else { // the last member has left: begin again
			m.found(now)
		}
	}
	m.settle(now)
}

// findOut asks for the list. Who has it, or has no cluster to find, remembers as much as there is to.
func (m *Machine) findOut(now bucket.Instant) {
	if m.list.Empty() && m.mayFound(now) {
		m.found(now)
		return
	}
	if m.due(now, timer{what: joinTimer}, joinInterval) {
		for _, id := range m.others() {
			m.send(id, &Who{})
		}
	}
	if !m.list.Empty() {
		m.recall(now)
	}
}

// recall ends the silence of a member that has come back without its list. It was one of a majority perhaps that has
// acknowledged or confirmed something; once so many others have told what they know that the rest is no majority, nothing
// can be contradicted.
func (m *Machine) recall(now bucket.Instant) {
	if m.list.Has(m.self.ID) {
		n := len(m.list.members)
		need := min(n-m.list.Majority()+1, n-1)
		for _, id := range m.list.members {
			if _, met := m.met[id]; met && id != m.self.ID {
				need--
			}
		}
		if need > 0 {
			return
		}
	}
	m.memory = true
	m.returned = m.list.Newest(m.self.ID) > 0
	if newest := m.list.Newest(m.self.ID); newest >= m.self.Incarnation {
		m.renew(now, "it was known by a later incarnation, so its clock has stepped back")
	}
	m.rejoin(now)
}

// who answers whoever asks for the list.
func (m *Machine) who(from string) {
	if m.list.Empty() || !m.memory {
		m.send(from, &NoList{m.self.Incarnation})
		return
	}
	msg := &Memory{List: m.list, Promised: m.accord.promised, Seconded: m.accord.seconded}
	for _, id := range slices.Sorted(maps.Keys(m.voter.lost)) {
		msg.Lost = append(msg.Lost, Member{id, m.voter.lost[id]})
	}
	for part, g := range m.voter.given {
		if g.claim.Owner != "" {
			msg.Claims = append(msg.Claims, Held{part, g.claim})
		}
	}
	m.send(from, msg)
}

// remember takes in what another node remembers, as if this one did: of every majority that this node was of, it has met
// another by the time it votes.
func (m *Machine) remember(now bucket.Instant, from string, msg *Memory) {
	if m.memory {
		return
	}
	for _, who := range msg.Lost {
		m.voter.lost[who.ID] = max(m.voter.lost[who.ID], who.Incarnation)
	}
	for _, h := range msg.Claims {
		m.learn(now, h.Partition, h.Claim)
		if m.inRange(h.Partition) && m.voter.given[h.Partition].claim.Less(h.Claim) {
			m.voter.given[h.Partition].claim = h.Claim
		}
	}
	m.meet(now, from, true)
	m.setList(now, m.list.Union(msg.List))
	if a := &m.accord; m.list.digest == msg.List.digest {
		if a.promised.Less(msg.Promised) {
			a.promised = msg.Promised
		}
		if a.seconded.At.Less(msg.Seconded.At) {
			m.hasSeconded(now, msg.Seconded)
		}
	}
}

// meet notes what another node said.
func (m *Machine) meet(now bucket.Instant, from string, list bool) {
	if !m.memory {
		m.met[from] = meeting{now, list}
	}
}

func (m *Machine) listIs(now bucket.Instant, from string, msg *ListIs) {
	m.setList(now, m.list.Union(msg.List))
	if m.list.digest != msg.List.digest {
		m.send(from, &ListIs{m.list})
	}
}

// FoundAlone says that the seeds are nobody but this node, so that it need not wait for anybody.
func (m *Machine) FoundAlone(now bucket.Instant) {
	m.cfg.Alone = true
	m.step(now)
}

// mayFound says whether this node should found a cluster: there is nobody to wait for, or all who have met are new and it
// has the lowest id of them.
func (m *Machine) mayFound(now bucket.Instant) bool {
	if m.cfg.Alone || m.cfg.Expect == 1 {
		return true
	}
	fresh := 0
	for _, p := range m.peers {
		met, ok := m.met[p.ID]
		if !ok || met.list || now-met.at > bucket.Instant(metFor) || p.ID < m.self.ID {
			return false
		}
		fresh++
	}
	if m.cfg.Expect > 1 {
		return fresh+1 >= m.cfg.Expect
	}
	return fresh > 0 && now-m.born >= bucket.Instant(m.cfg.JoinTimeout)
}

// found starts a cluster of one, which holds everything.
func (m *Machine) found(now bucket.Instant) {
	m.memory = true
	m.setList(now, m.list.With(Change{Member: m.self}))
	m.changed = now - 1 // nobody has authority by a list before
	for part := range m.parts {
		c := Claim{Epoch{m.parts[part].known.Term + 1, m.self.Incarnation}, m.self.ID}
		m.act(&Mint{Partition: part, Claim: c, Founding: true})
		m.claim(now, part, c, Founded)
	}
}

// sponsor returns a member to propose this node: each in turn.
func (m *Machine) sponsor() (id string, ok bool) {
	ids := slices.DeleteFunc(slices.Clone(m.list.members), func(id string) bool { return id == m.self.ID })
	if len(ids) == 0 {
		return "", false
	}
	m.seq++
	return ids[m.seq%uint64(len(ids))], true
}

// setList puts another list in place.
func (m *Machine) setList(now bucket.Instant, l List) {
	if l.digest == m.list.digest {
		return
	}
	old := m.list
	m.list = l
	// A loss may be confirmed once nobody can have authority any more by what was said under the old list.
	m.changed = max(m.changed, now+drift(max(Fence(len(old.members)), Fence(len(l.members)))))
	for _, id := range l.members {
		if h, ok := m.heard[id]; !ok || !old.Has(id) {
			h.at, h.spoke = now, now
			m.heard[id] = h
		}
	}
	maps.DeleteFunc(m.heard, func(id string, _ heard) bool {
		return !l.Has(id) && !slices.ContainsFunc(m.peers, func(p Member) bool { return p.ID == id })
	})
	clear(m.asks)
	m.accord = accord{}
	m.tidy(now)
	m.rejoin(now)
	m.acknowledgeEarly(now)
	m.lively = len(m.live(now))
	m.soon = true
	m.output.Changed = true
}

// tidy forgets what was about nodes that are not there any more.
func (m *Machine) tidy(now bucket.Instant) {
	maps.DeleteFunc(m.next, func(_ timer, at bucket.Instant) bool { return at < now })
	maps.DeleteFunc(m.early, func(id string, _ *Heartbeat) bool { _, ok := m.heard[id]; return !ok })
	maps.DeleteFunc(m.silent, func(id string, _ bool) bool { return !m.list.Has(id) })
	maps.DeleteFunc(m.answered, func(id string, _ bucket.Instant) bool { return !m.list.Has(id) })
	maps.DeleteFunc(m.deaf, func(_ string, until bucket.Instant) bool { return until < now })
	maps.DeleteFunc(m.via, func(id string, _ relayed) bool { return !m.list.Has(id) })
	maps.DeleteFunc(m.voter.acked, func(_ Member, until bucket.Instant) bool { return until < now })
	maps.DeleteFunc(m.voter.lost, func(id string, _ uint64) bool { return id != "" && !m.list.Has(id) })
}

// rejoin sees what the list says about this node.
func (m *Machine) rejoin(now bucket.Instant) {
	was := m.joined
	if newest := m.list.Newest(m.self.ID); m.since == 0 && newest > 0 && newest < m.self.Incarnation {
		m.returned = true
	}
	switch {
	case m.memory && m.list.added[m.self.ID] > m.self.Incarnation:
		m.superseded = true
		m.renewNothing()
	case m.list.removed[m.self.ID].incarnation >= m.self.Incarnation:
		if m.leaving {
			m.left = true
		} else if m.memory {
			m.renew(now, "it was dropped from the list")
		}
	}
	m.joined = m.list.Holds(m.self) && !m.superseded
	if m.joined && !was {
		m.since = now
	}
}

// renewNothing gives up what a node holds whose id a newer process has.
func (m *Machine) renewNothing() {
	for part := range m.parts {
		if m.parts[part].held != nil {
			m.drop(part)
		}
	}
	m.authority = m.born
}

// Leave begins to hand over what the node holds. It has left when Left says so.
func (m *Machine) Leave(now bucket.Instant) {
	m.leaving = true
	m.soon = true
	m.output.Changed = true
	m.step(now)
}

// Left says that there is nothing left to hand over, that what was handed over has its copies elsewhere, and that another
// member knows the list without this one; or that there is nobody to hand over to.
func (m *Machine) Left() bool {
	switch {
	case !m.leaving:
		return false
	case m.lively == 0 || !m.joined && !m.left:
		return true
	case !m.left || !m.known:
		return false
	}
	return !slices.ContainsFunc(m.parts, func(p partition) bool { return p.held != nil || p.sole && m.lively > 1 })
}

// ForgetMember drops a member from the list without asking anybody, because an operator says so. It is false if the list
// does not have it.
func (m *Machine) ForgetMember(now bucket.Instant, id string) bool {
	if id == m.self.ID || !m.list.Has(id) {
		return false
	}
	up := max(m.list.Newest(id), m.heard[id].incarnation)
	m.setList(now, m.list.With(Change{Member: Member{id, up}, Remove: true}))
	m.step(now)
	return true
}
