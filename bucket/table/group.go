package table

import "github.com/drossel-dev/drossel/bucket"

// take takes the states of a group out of its slot, into room. They are the slot's until put puts them back: of those that keep a
// log no other copy may change.
func (t *Table) take(p *partition, w []uint64, g *Group, room *[MaxStates]bucket.State) bucket.Group {
	p.logged(g)
	s := bucket.Group{Limits: g.limits, States: room[:len(g.limits)], Wall: t.wall.Load(), Log: p.entries()}
	for i := range s.States {
		s.States[i] = load(w, i)
	}
	return s
}

// put puts states back into a slot.
func put(w []uint64, states []bucket.State) {
	for i, s := range states {
		store(w, i, s)
	}
}

// ask takes a cost from all states of a slot, or from none.
func (t *Table) ask(p *partition, w []uint64, g *Group, now bucket.Instant, cost int64, each []int64) (d bucket.Decision, which int) {
	if g.plain {
		return g.takePlain(w, now, cost), 0
	}
	return t.askAll(p, w, g, now, cost, each)
}

// takePlain is ask for a single token bucket, as nearly all groups are.
func (g *Group) takePlain(w []uint64, now bucket.Instant, cost int64) bucket.Decision {
	s := load(w, 0)
	d := s.Take(&g.limits[0], now, cost)
	store(w, 0, s)
	return d
}

func (t *Table) askAll(p *partition, w []uint64, g *Group, now bucket.Instant, cost int64, each []int64) (d bucket.Decision, which int) {
	var room [MaxStates]bucket.State
	s := t.take(p, w, g, &room)
	d, which = s.TakeEach(now, cost, each)
	put(w, s.States)
	return d, which
}
