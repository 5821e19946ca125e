package ownership

import (
	"slices"
	"strings"

	"github.com/drossel-dev/drossel/bucket"
)

// placement is who should hold what. It follows the members with a delay, so that several changes are one.
type placement struct {
	ids    []string
	owners []uint16
	wanted []string // what it will be
	since  bucket.Instant
}

// owner returns who should hold a partition; empty if there is no placement.
func (p *placement) owner(part int) string {
	if p.owners == nil {
		return ""
	}
	return p.ids[p.owners[part]]
}

// live returns the members that can be given something.
func (m *Machine) live(now bucket.Instant) (ids []string) {
	for _, id := range m.list.members {
		h := m.heard[id]
		switch {
		case id == m.self.ID:
			if m.leaving {
				continue
			}
		case h.state == Leaving || now-h.at > awayFences*bucket.Instant(m.fence()):
			continue
		}
		ids = append(ids, id)
	}
	return ids
}

// settle lets placement follow the members once they have not changed for a while.
func (m *Machine) settle(now bucket.Instant) {
	live := m.live(now)
	if m.lively = len(live); m.lively == 0 {
		return
	}
	p := &m.placed
	if !slices.Equal(live, p.wanted) {
		p.wanted, p.since = live, now
	}
	if slices.Equal(p.wanted, p.ids) || p.owners != nil && now-p.since < bucket.Instant(m.cfg.Settle) {
		return
	}
	if owners := m.place(p.wanted); owners != nil {
		p.ids, p.owners = p.wanted, owners
		m.astray, m.output.Changed = true, true
	}
}

// maxPlacements bounds those that are remembered.
const maxPlacements = 16

// place places all partitions on some members. Nil if there are none, or it can't be done.
func (m *Machine) place(ids []string) []uint16 {
	if len(ids) == 0 {
		return nil
	}
	key := strings.Join(ids, "\x00")
	owners, ok := m.caches[key]
	if !ok {
		if len(m.caches) == maxPlacements {
			clear(m.caches)
		}
		owners = m.cfg.Place(ids)
		m.caches[key] = owners
	}
	return owners
}

// without places all partitions on those given, but one.
func (m *Machine) without(ids []string, id string) (rest []string, owners []uint16) {
	rest = slices.DeleteFunc(slices.Clone(ids), func(x string) bool { return x == id })
	return rest, m.place(rest)
}
