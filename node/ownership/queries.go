package ownership

import (
	"github.com/drossel-dev/drossel/bucket"
)

// State is where this node is in its life, as it tells the others.
func (m *Machine) State() State {
	switch {
	case m.leaving:
		return Leaving
	case m.joined:
		return Active
	}
	return Joining
}

// Member reports whether the node is a member: one that has its memory, and authority to gain.
func (m *Machine) Member() bool { return m.joined && m.memory }

// Superseded says that a newer process has this node's id.
func (m *Machine) Superseded() bool { return m.superseded }

// Self returns the node and its present incarnation.
func (m *Machine) Self() Member { return m.self }

// List returns the list.
func (m *Machine) List() List { return m.list }

// Counters returns what was counted.
func (m *Machine) Counters() Counters { return m.counters }

// Decider returns who decides for a partition as far as this node knows, and the way there, which is another member if
// the decider can't be heard. It is empty if nobody is known who might.
func (m *Machine) Decider(now bucket.Instant, part int) (owner, way string) {
	p := &m.parts[part]
	if h := p.held; h != nil {
		if h.frozen {
			return h.to.ID, h.to.ID
		}
		return m.self.ID, m.self.ID
	}
	owner = p.known.Owner
	if owner == "" || owner == m.self.ID {
		return "", ""
	}
	if m.heard[owner].incarnation > p.known.Incarnation {
		return "", "" // it has come back with nothing
	}
	if r, ok := m.via[owner]; ok && now-r.at < bucket.Instant(m.fence()) {
		return owner, r.by
	}
	if m.hears(now, owner) || !m.joined {
		return owner, owner
	}
	return "", ""
}

// Holds says that this node holds a partition that is not on its way out.
func (m *Machine) Holds(part int) bool { h := m.parts[part].held; return h != nil && !h.frozen }

// Frozen says that this node holds a partition that has been given away and not been claimed yet.
func (m *Machine) Frozen(part int) bool { h := m.parts[part].held; return h != nil && h.frozen }

// Copy describes the freshest that this node has of a partition.
func (m *Machine) Copy(part int) Copy {
	c := m.parts[part].ownCopy(part)
	c.Partition = part
	return c
}

// Holdings counts the partitions that this node holds, those on their way out included.
func (m *Machine) Holdings() (n int) {
	for part := range m.parts {
		if m.parts[part].held != nil {
			n++
		}
	}
	return n
}

// Hears says that a member was heard as lately as one that decides must be.
func (m *Machine) Hears(now bucket.Instant, id string) bool { return m.hears(now, id) }
