package ownership

import (
	"github.com/drossel-dev/drossel/bucket"
)

// taking is a partition that this node is about to take over.
type taking struct {
	lost     Member
	term     uint64
	since    bucket.Instant
	asked    bucket.Instant
	answered map[string]bool
	found    []foundCopy
	fetching bool
}

// foundCopy is a copy that another member keeps.
type foundCopy struct {
	Copy
	at    string
	fails int // attempts to fetch it that failed
}

// fetchAttempts is how often a copy is asked for before the next best is good enough.
const fetchAttempts = 3

// inherit begins to take over what a majority has given to this node.
func (m *Machine) inherit(now bucket.Instant, msg *Inherit) {
	for _, h := range msg.Heirs {
		if h.Member != m.self || !m.inRange(h.Partition) || !m.joined {
			continue
		}
		p := &m.parts[h.Partition]
		switch {
		case p.taking != nil,
			p.known.Term > h.Term,
			p.known.Term == h.Term && p.known.Member() != msg.Lost && p.known.Incarnation > msg.Lost.Incarnation,
			p.held != nil && p.held.frozen && p.held.to != msg.Lost,
			p.held != nil && !p.held.frozen && p.held.claim.Term >= h.Term:
			continue
		}
		if p.held != nil && !p.held.frozen { // by a claim that was lower than the lost one: it was never told of that
			m.drop(h.Partition)
		}
		p.taking = &taking{lost: msg.Lost, term: h.Term, since: now, answered: make(map[string]bool)}
		m.takings = true
	}
	m.takeOver(now)
}

// takeOver asks all members for their copies, waits until each has answered or for so long, and mints.
func (m *Machine) takeOver(now bucket.Instant) {
	if !m.takings {
		return
	}
	m.takings = false
	ask := make(map[string][]int)
	for part := range m.parts {
		p := &m.parts[part]
		t := p.taking
		if t == nil {
			continue
		}
		m.takings = true
		switch {
		case now-t.since > bucket.Instant(claimTime): // it took too long: others may have been named
			p.taking = nil
		case t.fetching:
		case m.enough(now, part, t):
			m.mint(now, part)
		case now-t.asked >= bucket.Instant(copiesInterval) || t.asked == 0:
			t.asked = now
			for _, id := range m.list.members {
				if id != m.self.ID && !t.answered[id] {
					ask[id] = append(ask[id], part)
				}
			}
		}
	}
	for _, id := range m.list.members {
		if ask[id] != nil {
			m.send(id, &CopiesOf{ask[id]})
		}
	}
}

// enough says that copies need not be waited for any longer: all have answered, or had their time. Only the lost member's
// silence says that it will not answer: one that was cut off until now has the newest copy perhaps, though it was not heard
// yet. While there is no copy at all everybody is waited for, and longer: to begin with nothing is the worst that can happen.
func (m *Machine) enough(now bucket.Instant, part int, t *taking) bool {
	blank := len(t.found) == 0 && m.parts[part].ownCopy(part).Claim.Owner == ""
	patience := copiesTime
	if blank {
		patience = noCopyTime
	}
	if now-t.since > bucket.Instant(patience) {
		return true
	}
	for _, id := range m.list.members {
		if id != m.self.ID && !t.answered[id] && (blank || id != t.lost.ID || m.hears(now, id)) {
			return false
		}
	}
	return true
}

// ownCopy is what this node has of a partition: what is held and frozen is fresher than any copy.
func (p *partition) ownCopy(part int) Copy {
	if h := p.held; h != nil {
		return Copy{part, h.claim, h.replica.seq + 1}
	}
	return p.copy
}

// copiesOf answers what copies this node keeps.
func (m *Machine) copiesOf(from string, msg *CopiesOf) {
	answer := &Copies{}
	for _, part := range msg.Partitions {
		if m.inRange(part) {
			c := m.parts[part].ownCopy(part)
			c.Partition = part
			answer.Copies = append(answer.Copies, c)
		}
	}
	m.send(from, answer)
}

func (m *Machine) copies(now bucket.Instant, from string, msg *Copies) {
	for _, c := range msg.Copies {
		if !m.inRange(c.Partition) {
			continue
		}
		t := m.parts[c.Partition].taking
		if t == nil || t.answered[from] {
			continue
		}
		t.answered[from] = true
		if c.Claim.Owner != "" {
			t.found = append(t.found, foundCopy{Copy: c, at: from})
		}
	}
	m.takeOver(now)
}

// mint takes a partition over from the freshest copy, which is fetched first if it is elsewhere.
func (m *Machine) mint(now bucket.Instant, part int) {
	p := &m.parts[part]
	t := p.taking
	if p.known.Term > t.term || p.held != nil && !p.held.frozen || !m.joined {
		p.taking = nil
		return
	}
	own := p.ownCopy(part)
	if i := freshest(t.found, own); i >= 0 {
		t.fetching = true
		m.act(&Fetch{part, t.found[i].at, t.found[i].Copy})
		return
	}
	source := Nothing
	switch {
	case p.held != nil:
		source = Frozen
	case own.Claim.Owner != "":
		source = Kept
	default:
		m.counters.Blank++
	}
	c := Claim{Epoch{max(t.term, own.Claim.Term) + 2, m.self.Incarnation}, m.self.ID}
	p.taking, p.held, p.copy = nil, nil, Copy{}
	m.counters.Mints++
	m.act(&Mint{Partition: part, Claim: c, From: source, Lost: t.lost})
	m.claim(now, part, c, Minted)
	m.parts[part].history.From = t.lost.ID
}

// freshest returns which copy is fresher than this node's own, and than the others; -1 if none is.
func freshest(found []foundCopy, own Copy) int {
	best := -1
	for i, c := range found {
		if own.Less(c.Copy) && c.fails < fetchAttempts {
			own, best = c.Copy, i
		}
	}
	return best
}

// Fetched says that a Fetch has ended, and whether the copy is here now.
func (m *Machine) Fetched(now bucket.Instant, part int, from string, c Copy, ok bool) {
	p := &m.parts[part]
	t := p.taking
	if ok && p.copy.Less(c) {
		p.copy = c
	}
	if t == nil || !t.fetching {
		return
	}
	if ok && p.held != nil && p.held.frozen && p.ownCopy(part).Less(c) { // the target has gone on from what was frozen here
		p.held, m.astray = nil, true
	}
	t.fetching = false
	for i := range t.found {
		if !ok && t.found[i].at == from {
			t.found[i].fails++
		}
	}
	m.mint(now, part)
	if m.soon {
		m.beat(now)
	}
}

// claim makes this node the holder of a partition, which is opened when a majority has acknowledged that.
func (m *Machine) claim(now bucket.Instant, part int, c Claim, how How) {
	p := &m.parts[part]
	p.held = &holding{claim: c, since: now}
	m.know(p, c)
	p.sole = false
	p.history = Move{How: how, Claim: c, At: now}
	m.soon = true
	m.output.Changed = true
}
