package ownership

import (
	"maps"
	"slices"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// accord is this node's part in agreeing on the one change that follows the present list: Paxos for a single value, anew for
// each list. Were two changes agreed at a time each could make a list of its own, with a majority of its own.
//
// Who has seconded a change acknowledges nothing under the present list any more, or that could still decide when the next one
// does: only what goes by the list that is to come, as its own heartbeats do. While that is not sure they need a majority of both. And
// whatever was seconded is brought to its end, by its proposer or by who seconded it.
type accord struct {
	promised Ballot // lower ones are refused
	seconded Seconded
	since    bucket.Instant // when that was
	next     List           // the list with it
	rest     bucket.Instant // until then nothing is proposed: somebody else was first
	proposal *proposal
}

// proposal is a change that this node wants to be the next. First it asks whether there is another one already, then it
// proposes.
type proposal struct {
	ballot Ballot
	change Change
	begun  bucket.Instant
	found  Seconded // the last one that was seconded before
	asked  bool     // a majority has promised, and the change is proposed
	by     map[string]bool
}

// Less orders ballots.
func (b Ballot) Less(other Ballot) bool {
	return b.N < other.N || b.N == other.N && b.ID < other.ID
}

// propose finds what is due: that this node leaves, or that somebody was silent for too long.
func (m *Machine) propose(now bucket.Instant) {
	if m.leaving && m.list.Has(m.self.ID) && !m.holds() {
		m.want(now, Change{m.self, true})
	}
	if m.cfg.Forget > 0 {
		for _, id := range m.list.members {
			if h := m.heard[id]; id != m.self.ID && now-h.at > bucket.Instant(m.cfg.Forget) {
				m.want(now, Change{Member{id, max(h.incarnation, m.list.added[id])}, true})
			}
		}
	}
	m.press(now)
}

func (m *Machine) holds() bool {
	for part := range m.parts {
		if m.parts[part].held != nil {
			return true
		}
	}
	return false
}

// want notes a change that this node proposes when it can. It is forgotten when it is not wanted again.
func (m *Machine) want(now bucket.Instant, c Change) {
	if !m.list.Contains(c) {
		m.wants[c] = now
	}
}

// press proposes the next change, or sees to it that what was seconded is brought to its end.
func (m *Machine) press(now bucket.Instant) {
	maps.DeleteFunc(m.wants, func(c Change, at bucket.Instant) bool {
		return m.list.Contains(c) || now-at > bucket.Instant(claimTime)
	})
	a := &m.accord
	if !m.votes(now) {
		return
	}
	if p := a.proposal; p != nil {
		if now-p.begun <= bucket.Instant(claimTime) {
			if m.due(now, timer{what: changeTimer}, askInterval) {
				m.repeat(p)
			}
			return
		}
		a.proposal = nil
	}
	switch {
	case now < a.rest:
	case a.seconded.At.N > 0:
		if now-a.since > bucket.Instant(m.patience()) {
			m.canvassFor(now, a.seconded.Change)
		}
	case len(m.wants) > 0:
		m.canvassFor(now, slices.SortedFunc(maps.Keys(m.wants), func(x, y Change) int { return byID(x.Member, y.Member) })[0])
	}
}

// patience is how long this node leaves it to others to go on: each waits for another time, or they would be in each other's
// way.
func (m *Machine) patience() time.Duration {
	return askInterval * time.Duration(2+slices.Index(m.list.members, m.self.ID)%8)
}

func (m *Machine) canvassFor(now bucket.Instant, c Change) {
	a := &m.accord
	a.promised = Ballot{max(a.promised.N+1, m.self.Incarnation), m.self.ID} // never one of an incarnation before
	a.proposal = &proposal{ballot: a.promised, change: c, begun: now, by: make(map[string]bool)}
	m.next[timer{what: changeTimer}] = now + bucket.Instant(askInterval)
	m.repeat(a.proposal)
	m.promised(now, m.self.ID, &Promise{a.promised, a.seconded, m.list.digest})
}

func (m *Machine) repeat(p *proposal) {
	if p.asked {
		m.tell(&Propose{p.ballot.N, p.change, m.list.digest})
	} else {
		m.tell(&Canvass{p.ballot.N, p.change, m.undecided(), m.list.digest})
	}
}

// canvassed promises to a member that wants to propose a change under the same list that no lower ballot counts, and says what
// was seconded already.
func (m *Machine) canvassed(now bucket.Instant, from string, msg *Canvass) {
	a := &m.accord
	if !m.votes(now) || !m.sameList(from, msg.Digest) {
		return
	}
	if b := (Ballot{msg.N, from}); a.promised.Less(b) {
		if !msg.Begun && a.seconded.At.N == 0 && !m.agrees(now, from, msg.Change) {
			return
		}
		a.promised = b
	}
	m.send(from, &Promise{a.promised, a.seconded, m.list.digest})
}

// sameList says whether a member proposes a change to the list that this node has. Else the lists are exchanged.
func (m *Machine) sameList(from string, digest uint64) bool {
	if digest != m.list.digest {
		m.send(from, &ListIs{m.list})
		return false
	}
	return true
}

// agrees says that nothing this node knows speaks against a change: who is heard, or is this node itself, is dropped only
// when it asks for that. A cut between two must not have the third drop one of them, and after a cut that has just healed nobody
// is silent any more.
func (m *Machine) agrees(now bucket.Instant, by string, c Change) bool {
	return !c.Remove || by == c.ID || c.ID != m.self.ID && !m.hears(now, c.ID)
}

// promised proposes once a majority has promised: what was seconded last by any of them, or else what this node wants.
func (m *Machine) promised(now bucket.Instant, from string, msg *Promise) {
	a := &m.accord
	p := a.proposal
	if p == nil || msg.Digest != m.list.digest || !m.list.Has(from) {
		return
	}
	if msg.To != p.ballot {
		if p.ballot.Less(msg.To) {
			m.giveWay(now, msg.To)
		}
		return
	}
	if p.asked {
		return
	}
	p.by[from] = true
	if p.found.At.Less(msg.Said.At) {
		p.found = msg.Said
	}
	switch {
	case len(p.by) < m.list.Majority():
		return
	case p.found.At.N > 0:
		p.change = p.found.Change
	case !m.agrees(now, m.self.ID, p.change):
		a.proposal = nil
		return
	}
	if a.promised != p.ballot { // to another meanwhile
		m.giveWay(now, a.promised)
		return
	}
	p.asked, p.by = true, make(map[string]bool)
	m.hasSeconded(now, Seconded{p.ballot, p.change})
	m.repeat(p)
	m.seconded(now, m.self.ID, &Second{p.ballot.N, m.list.digest})
}

// giveWay leaves it to another to propose.
func (m *Machine) giveWay(now bucket.Instant, to Ballot) {
	a := &m.accord
	if a.promised.Less(to) {
		a.promised = to
	}
	a.proposal, a.rest = nil, now+bucket.Instant(m.patience())
}

// second takes what a member proposes under the same list for the next change, unless it has promised otherwise.
func (m *Machine) second(now bucket.Instant, from string, msg *Propose) {
	a := &m.accord
	if !m.votes(now) || !m.sameList(from, msg.Digest) {
		return
	}
	b := Ballot{msg.N, from}
	if b.Less(a.promised) {
		m.send(from, &Promise{a.promised, a.seconded, m.list.digest})
		return
	}
	a.promised = b
	m.hasSeconded(now, Seconded{b, msg.Change})
	m.send(from, &Second{msg.N, msg.Digest})
}

func (m *Machine) hasSeconded(now bucket.Instant, s Seconded) {
	a := &m.accord
	if a.seconded.At.N == 0 || a.seconded.Change != s.Change {
		a.next = m.list.With(s.Change)
		m.soon = true
	}
	a.seconded, a.since = s, now
	m.acknowledgeEarly(now)
}

// seconded puts a change in place once a majority has seconded it.
func (m *Machine) seconded(now bucket.Instant, from string, msg *Second) {
	p := m.accord.proposal
	if p == nil || !p.asked || msg.N != p.ballot.N || msg.Digest != m.list.digest || !m.list.Has(from) {
		return
	}
	p.by[from] = true
	if len(p.by) >= m.list.Majority() {
		m.counters.Changes++
		m.setList(now, m.list.With(p.change))
		m.tell(&ListIs{m.list})
	}
}

// undecided says that this node has seconded a change that is not in place yet.
func (m *Machine) undecided() bool { return m.accord.seconded.At.N > 0 }

// digest is that of the list by which heartbeats go: the present one, or the next if this node has seconded it.
func (m *Machine) digest() uint64 {
	if m.undecided() {
		return m.accord.next.digest
	}
	return m.list.digest
}
