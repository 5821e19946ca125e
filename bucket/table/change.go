package table

import (
	"slices"

	"github.com/drossel-dev/drossel/bucket"
)

// The limits of a key change: its policy has others, or it is of another tier. What is in its slot then goes on under those that it is
// asked for with: what was taken of a limit stays with the limit's tag, a limit that was not there before begins full, and one that is no
// more is dropped. Only limits of older policies change nothing: nodes hear of new ones at different times.

// overrules says whether a slot with the limits of g keeps them though it is asked for with others.
func (g *Group) overrules(asked *Group) bool {
	return g != asked && g.version.Load() > asked.version.Load()
}

// accounts says whether a slot with the limits of g keeps them though something is said of it under others, that only settles accounts:
// what comes back of old leases must not bring old limits back. Those of newer policies take their place, if they are by the same entry.
func (g *Group) accounts(said *Group) bool {
	return g != said && (g.entry != said.entry || g.tagged && said.tagged && g.version.Load() >= said.version.Load())
}

// from returns which of the limits of g each of those of another group was: -1 where there was none.
func (g *Group) from(next *Group) []int {
	from := make([]int, len(next.limits))
	for j := range from {
		from[j] = slices.IndexFunc(g.limits, func(l bucket.Limit) bool { return l.Tag == next.limits[j].Tag })
		if from[j] >= 0 && slices.Contains(from[:j], from[j]) {
			from[j] = -1
		}
	}
	return from
}

// inOrder says whether two groups have the same limits at the same places, but for their numbers.
func (g *Group) inOrder(next *Group) bool {
	return !g.tagged && !next.tagged || slices.EqualFunc(g.limits, next.limits, func(a, b bucket.Limit) bool { return a.Tag == b.Tag })
}

// costs says in the order of g what is said in that of another group. Limits that this does not have cost nothing.
func (g *Group) costs(asked *Group, each []int64) []int64 {
	if g == asked || len(each) == 0 || g.inOrder(asked) {
		return each
	}
	costs := make([]int64, len(g.limits))
	for j, i := range asked.from(g) {
		if i >= 0 && i < len(each) {
			costs[j] = each[i]
		}
	}
	return costs
}

// place says in the order of another group which limit of g is meant: the first if it does not have it.
func (g *Group) place(asked *Group, which int) int {
	if g == asked || g.inOrder(asked) {
		return which
	}
	tag := g.limits[which].Tag
	return max(0, slices.IndexFunc(asked.limits, func(l bucket.Limit) bool { return l.Tag == tag }))
}

// begin makes the limits of a rearranged group that are new what they are. In a partition whose owner was lost they are like those of a
// group that was never seen; and of those that are not lent as much is taken as is out, of which nothing comes back: the others leave
// room for it.
func (p *partition) begin(is *bucket.Group, g *Group, from []int, out int64, now bucket.Instant) {
	var room [MaxStates]bucket.State
	one := func(states []bucket.State, j int) bucket.Group {
		return bucket.Group{Limits: g.limits[j : j+1], States: states[j : j+1], Wall: is.Wall, Log: is.Log}
	}
	if p.loss.known {
		fresh := bucket.Group{Limits: g.limits, States: room[:len(g.limits)], Wall: is.Wall, Log: is.Log}
		p.loss.start(&fresh, g, now)
		for j := range from { // of the two states one is forgotten
			forgotten := one(fresh.States, j)
			if from[j] < 0 {
				is.States[j], fresh.States[j] = fresh.States[j], is.States[j]
			}
			forgotten.Drop()
		}
	}
	for j := range from {
		if from[j] < 0 && out > 0 && !g.limits[j].Algorithm.Lends() {
			charged := one(is.States, j)
			charged.Debit(now, min(out, g.limits[j].Capacity()), nil)
		}
	}
}

// elsewhere returns the slot of a tagged group that has another number of limits than g, or nil.
func (p *partition) elsewhere(id bucket.ID, g *Group) (s *slab, w []uint64) {
	if !g.tagged {
		return nil, nil
	}
	p.each(func(other *slab) {
		if w == nil && other.states() != len(g.limits) {
			if w = other.find(id); w != nil {
				s = other
			}
		}
	})
	return s, w
}

// rearrange brings a slot to limits that are not the same ones but for their numbers, which takes another slot if there are more or
// fewer. s is where the slot is. The error is ErrFull, and nothing has changed then.
func (t *Table) rearrange(p *partition, s *slab, w []uint64, old, g *Group, now bucket.Instant) ([]uint64, error) {
	id := bucket.ID{Hi: w[0], Lo: w[1]}
	to := w
	if len(old.limits) != len(g.limits) {
		room, ok := t.room(p, len(g.limits), now)
		if !ok {
			t.refused.Add(1)
			return nil, ErrFull
		}
		to = room.insert(id, w[2])
	}
	p.logged(g)
	t.refill(p, w, old, now)
	var room, next [MaxStates]bucket.State
	was := t.take(p, w, old, &room)
	if isHot(w[2]) {
		p.hot.at[place(w[2])].TakeBack(&was, now)
	}
	from := old.from(g)
	is := was.Rearranged(from, g.limits, next[:], now)
	p.begin(&is, g, from, p.out(w), now)
	switch {
	case isHot(w[2]):
		h := &p.hot.at[place(w[2])]
		h.Rearrange(from)
		h.Adopt(&is, g.limits, now)
		h.states = len(g.limits)
	case w[2]&heldFlag != 0:
		l := p.holds[heldIDOf(w)]
		l.Rearrange(from)
		l.Adopt(&is, g.limits, now)
		delete(p.holds, heldIDOf(w))
		p.holds[heldIDOf(to)] = l
	default:
		is.Adopt(g.limits, now)
	}
	to[2] = w[2] // what a refill has changed
	if len(old.limits) != len(g.limits) {
		s.remove(s.index(id))
	}
	put(to, is.States)
	p.touch(to)
	relabel(to, old, g)
	return to, nil
}
