package ownership

import (
	"github.com/drossel-dev/drossel/bucket"
)

// seconding is a change that waits for a majority.
type seconding struct {
	digest uint64
	by     map[string]bool
}

// propose proposes what this node finds due: that it leaves, or that somebody was silent for too long.
func (m *Machine) propose(now bucket.Instant) {
	if m.leaving && m.list.Has(m.self.ID) && !m.holds() {
		m.proposeChange(now, Change{m.self, true})
	}
	if m.cfg.Forget <= 0 {
		return
	}
	for _, id := range m.list.members {
		if h := m.heard[id]; id != m.self.ID && now-h.at > bucket.Instant(m.cfg.Forget) {
			m.proposeChange(now, Change{Member{id, max(h.incarnation, m.list.added[id])}, true})
		}
	}
}

func (m *Machine) holds() bool {
	for part := range m.parts {
		if m.parts[part].held != nil {
			return true
		}
	}
	return false
}

// proposeChange asks all members for a change, again and again while it is called.
func (m *Machine) proposeChange(now bucket.Instant, c Change) {
	if m.list.Contains(c) || !m.joined || !m.memory {
		return
	}
	if !m.due(now, timer{changeTimer, c.Member}, askInterval) {
		return
	}
	s := &seconding{digest: m.list.digest, by: make(map[string]bool)}
	m.seconds[c] = s
	m.tell(&Propose{c, m.list.digest})
	if m.votes(now) {
		m.agreed(now, c, s, m.self.ID)
	}
}

// second agrees to what a member proposes under the same list.
func (m *Machine) second(now bucket.Instant, from string, msg *Propose) {
	if m.votes(now) && msg.Digest == m.list.digest && m.agrees(now, from, msg.Change) {
		m.send(from, &Second{msg.Change, msg.Digest})
	}
}

// agrees says that nothing this node knows speaks against a change: who is heard, or is this node itself, is dropped only
// when it asks for that. A cut between two must not have the third drop one of them, and after a cut that has just healed nobody
// is silent any more.
func (m *Machine) agrees(now bucket.Instant, by string, c Change) bool {
	return !c.Remove || by == c.ID || c.ID != m.self.ID && !m.hears(now, c.ID)
}

func (m *Machine) seconded(now bucket.Instant, from string, msg *Second) {
	s := m.seconds[msg.Change]
	if s != nil && s.digest == m.list.digest && msg.Digest == s.digest && m.list.Has(from) && m.agrees(now, m.self.ID, msg.Change) {
		m.agreed(now, msg.Change, s, from)
	}
}

// agreed puts a change in place once a majority has agreed.
func (m *Machine) agreed(now bucket.Instant, c Change, s *seconding, by string) {
	s.by[by] = true
	if len(s.by) >= m.list.Majority() {
		delete(m.seconds, c)
		m.counters.Changes++
		m.setList(now, m.list.With(c))
	}
}
