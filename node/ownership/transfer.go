package ownership

import (
	"maps"
	"slices"

	"github.com/drossel-dev/drossel/bucket"
)

// pull asks the holders of partitions that should be this node's for them.
func (m *Machine) pull(now bucket.Instant) {
	if m.leaving || m.placed.owners == nil || !m.astray {
		return
	}
	m.astray = false
	wanted := make(map[string][]int)
	for part := range m.parts {
		p := &m.parts[part]
		if p.held == nil && p.known.Owner != "" && p.known.Owner != m.self.ID && m.placed.owner(part) == m.self.ID {
			m.astray = true
			wanted[p.known.Owner] = append(wanted[p.known.Owner], part)
		}
	}
	for _, owner := range slices.Sorted(maps.Keys(wanted)) {
		if m.due(now, timer{prepareTimer, Member{ID: owner}}, prepareInterval) {
			m.send(owner, &Prepare{m.self.Incarnation, m.list.digest, wanted[owner]})
		}
	}
}

// prepare takes in that a node asks for partitions.
func (m *Machine) prepare(now bucket.Instant, from string, msg *Prepare) {
	who := Member{from, msg.Incarnation}
	if msg.Digest != m.list.digest || m.heard[from].incarnation != who.Incarnation {
		return
	}
	for _, part := range msg.Partitions {
		if m.inRange(part) && m.parts[part].held != nil {
			m.parts[part].wanted, m.parts[part].asked, m.moves = who, now, true
		}
	}
	m.startMoves(now)
}

// startMoves lets partitions go to those who have asked for them, some at a time.
func (m *Machine) startMoves(now bucket.Instant) {
	moving := 0
	m.moves = false
	for part := range m.parts {
		p := &m.parts[part]
		if h := p.held; h != nil && h.to.ID != "" {
			moving++
		}
		m.moves = m.moves || moving > 0 || p.wanted.ID != "" && now-p.asked <= bucket.Instant(10*prepareInterval)
	}
	for part := range m.parts {
		if moving >= maxMoves {
			return
		}
		p := &m.parts[part]
		h := p.held
		if h == nil || h.to.ID != "" || p.wanted.ID == "" {
			continue
		}
		if now-p.asked > bucket.Instant(10*prepareInterval) {
			p.wanted = Member{}
			continue
		}
		if h.open && m.hasAuthority(now) && m.placed.owner(part) == p.wanted.ID && !m.gone(now, p.wanted) {
			h.to = p.wanted
			p.wanted = Member{}
			moving++
			m.act(&Stream{part, h.claim, h.to})
		}
	}
}

// Streamed says that nearly all of a partition has been copied, by the Stream of this claim and target.
func (m *Machine) Streamed(now bucket.Instant, part int, c Claim, to Member) {
	h := m.parts[part].held
	if h == nil || h.claim != c || h.to != to || h.frozen {
		return
	}
	if !h.open || !m.hasAuthority(now) { // not now: it starts again when it is asked for again
		m.stop(part, h)
		return
	}
	h.frozen = true
	m.act(&Freeze{part, h.claim, h.to})
}

func (m *Machine) stop(part int, h *holding) {
	h.to = Member{}
	m.act(&Stop{part})
}

// Staged says that all of a frozen partition is at its target, which is reminded of it until it claims it.
func (m *Machine) Staged(now bucket.Instant, part int, c Claim, to Member) {
	h := m.parts[part].held
	if h == nil || h.claim != c || h.to != to || !h.frozen {
		return
	}
	h.staged, h.told = true, now
}

// Arrived says that all groups of a partition, as the holder of this claim had them when it froze it for this node, are
// staged here.
func (m *Machine) Arrived(now bucket.Instant, part int, c Claim, to Member) {
	if !m.inRange(part) {
		return
	}
	m.parts[part].staged = c
	m.final(now, c.Owner, &Final{to.Incarnation, []Held{{part, c}}})
	if m.soon {
		m.beat(now)
	}
}

// final makes this node the holder of partitions that were given to it.
func (m *Machine) final(now bucket.Instant, from string, msg *Final) {
	if msg.Incarnation != m.self.Incarnation || !m.joined {
		return
	}
	for _, move := range msg.Moves {
		if !m.inRange(move.Partition) {
			continue
		}
		p := &m.parts[move.Partition]
		c := Claim{Epoch{move.Claim.Term + 1, m.self.Incarnation}, m.self.ID}
		if p.held != nil || p.staged != move.Claim || p.known.Term >= c.Term {
			continue
		}
		p.staged, p.copy, p.taking = Claim{}, Copy{}, nil
		m.act(&Install{move.Partition, c})
		m.claim(now, move.Partition, c, Received)
		p.held.from, p.history.From = move.Claim.Member(), from
		m.counters.Received++
	}
}

// repeatFinals says again what was given away until the claim is seen: a frozen move is completed, never aborted, for the
// target may have begun to decide. A move that is not frozen ends if its target is not wanted any more.
func (m *Machine) repeatFinals(now bucket.Instant) {
	if !m.moves {
		return
	}
	finals := make(map[Member][]Held)
	for part := range m.parts {
		h := m.parts[part].held
		switch {
		case h == nil || h.to.ID == "":
		case !h.frozen && (m.gone(now, h.to) || m.placed.owner(part) != h.to.ID):
			m.stop(part, h)
		case h.staged && now-h.told >= bucket.Instant(prepareInterval):
			h.told = now
			finals[h.to] = append(finals[h.to], Held{part, h.claim})
		}
	}
	for _, to := range slices.SortedFunc(maps.Keys(finals), byID) {
		m.send(to.ID, &Final{to.Incarnation, finals[to]})
	}
	m.startMoves(now)
}

// handedOver ends a move whose target has claimed the partition. What was frozen is kept as a copy: the new owner has none
// elsewhere yet.
func (m *Machine) handedOver(now bucket.Instant, part int) {
	p := &m.parts[part]
	h := p.held
	p.held, m.astray = nil, true
	p.copy = Copy{part, h.claim, h.replica.seq + 1}
	p.sole = true
	p.history = Move{How: Given, From: h.to.ID, Claim: h.claim, At: now}
	m.counters.Given++
	m.act(&HandedOver{part, h.to})
}
