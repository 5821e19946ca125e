package table

import "github.com/drossel-dev/drossel/bucket"

// take asks all states of a slot and takes from all, or from none.
func (g *Group) take(w []uint64, now bucket.Instant, cost int64) (d bucket.Decision, which int) {
	if len(g.limits) == 1 {
		s := load(w, 0)
		d = s.Take(&g.limits[0], now, cost)
		store(w, 0, s)
		return d, 0
	}
	return g.takeAll(w, now, cost)
}

func (g *Group) takeAll(w []uint64, now bucket.Instant, cost int64) (d bucket.Decision, which int) {
	var room [MaxStates]bucket.State
	states := g.load(w, &room)
	d, which = bucket.TakeAll(g.limits, states, now, cost)
	for i, s := range states {
		store(w, i, s)
	}
	return d, which
}

// look asks all states of a slot and changes none.
func (g *Group) look(w []uint64, now bucket.Instant, cost int64) (d bucket.Decision, which int) {
	var room [MaxStates]bucket.State
	return bucket.LookAll(g.limits, g.load(w, &room), now, cost)
}

func (g *Group) load(w []uint64, room *[MaxStates]bucket.State) []bucket.State {
	states := room[:len(g.limits)]
	for i := range states {
		states[i] = load(w, i)
	}
	return states
}

// carry takes the levels of a slot over from old limits to as many new ones.
func carry(w []uint64, old, g *Group, now bucket.Instant) {
	for i := range g.limits {
		l := &g.limits[i]
		s := load(w, i)
		s.Adopt(&old.limits[i], l, now)
		store(w, i, s)
	}
}

// lower keeps the levels of a slot down to what is not out.
func lower(w []uint64, g *Group, out int64) {
	for i := range g.limits {
		l := &g.limits[i]
		s := load(w, i)
		s.Tokens = min(s.Tokens, l.Burst-out)
		store(w, i, s)
	}
}
