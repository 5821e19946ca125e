package bucket

import (
	"math/bits"
	"slices"
)

// Adopt brings a group from its limits to as many others at now, which it has from then on. What had arrived by the old rates stays
// and what was taken stays taken: a smaller limit cuts at once, a larger one grants nothing beyond what it is larger by. A token
// bucket keeps its level, though, so that raising its burst grants nothing at all.
//
// A limit of another algorithm, or of windows of another length, takes over what was taken, as if that had been at now, up to all
// that it admits.
func (g *Group) Adopt(limits []Limit, now Instant) {
	g.Refill(now, 0)
	for i := range limits {
		g.adopt(i, &limits[i], now)
	}
	g.Limits = limits
}

func (g *Group) adopt(i int, l *Limit, now Instant) {
	old, s := &g.Limits[i], &g.States[i]
	switch {
	case old.Algorithm == l.Algorithm && l.Algorithm == TokenBucket:
		s.Adopt(old, l, now)
	case old.Algorithm == l.Algorithm && l.Algorithm == Pacer:
		s.rescale(old, l)
	case old.IsLogged() && l.IsLogged(), old.sameWindows(l):
		s.Tokens += l.Burst - old.Burst
	case old.isCounters() && l.isCounters() && old.Per == l.Per:
	default:
		used := g.used(i, now)
		if old.IsLogged() {
			g.Log.drop(s)
		}
		next := Group{[]Limit{*l}, g.States[i : i+1], g.Wall, g.Log}
		next.Start(now)
		next.charge(0, min(used, l.Capacity()))
	}
}

// Rearranged returns a group whose state j is that of limit from[j], each once at the most, or a new one of limits[j] if that is
// negative; what is not named is dropped. Its limits are those that the states had, so Adopt follows. The states are made in room, which
// is not that of the group.
func (g *Group) Rearranged(from []int, limits []Limit, room []State, now Instant) Group {
	out := Group{Limits: make([]Limit, len(limits)), States: room[:len(limits)], Wall: g.Wall, Log: g.Log}
	for j, i := range from {
		if i >= 0 {
			out.Limits[j], out.States[j] = g.Limits[i], g.States[i]
		} else {
			out.Limits[j] = limits[j]
			out.start(j, now)
		}
	}
	for i := range g.States {
		if g.Limits[i].IsLogged() && !slices.Contains(from, i) {
			g.Log.drop(&g.States[i])
		}
	}
	return out
}

// used is what a limit counts as taken, rounded up, of a state that has been brought up to now.
func (g *Group) used(i int, now Instant) int64 {
	l, s := &g.Limits[i], g.States[i]
	switch {
	case l.Algorithm == Pacer:
		return -s.Tokens
	case l.isCounters():
		s, gone := s.slid(l, now)
		return s.Tokens + s.weight(l, gone)
	}
	return l.Burst - s.Tokens
}

// IsKindOf says whether a limit can take over from another without counting what was taken anew: it has the same algorithm, and the
// same windows if it has any.
func (l *Limit) IsKindOf(m *Limit) bool {
	return l.Algorithm == m.Algorithm && (l.Algorithm <= Pacer || l.sameWindows(m) ||
		l.IsLogged() == m.IsLogged() && l.Algorithm == SlidingWindow && l.Per == m.Per)
}

// sameWindows says whether two limits count in the same windows.
func (l *Limit) sameWindows(m *Limit) bool {
	return l.Algorithm > SlidingWindow && l.Algorithm == m.Algorithm && l.Per == m.Per && l.Calendar == m.Calendar && l.Zone == m.Zone
}

// rescale counts what has come of the next token in the parts of another limit, rounded down.
func (s *State) rescale(old, l *Limit) {
	if s.Frac != 0 && old.Per != l.Per {
		hi, lo := bits.Mul64(s.Frac, uint64(l.Per))
		s.Frac, _ = bits.Div64(hi, lo, uint64(old.Per)) // Frac < old.Per, so the quotient is below l.Per
	}
}

// Debit takes tokens, 0 to MaxTokens, from every limit at now, whether they are there or not: they were admitted where this group
// could not be asked. No limit goes further below nothing than by what it admits at a time. costs are those of each limit, if they
// differ, or there are none.
func (g *Group) Debit(now Instant, tokens int64, costs []int64) {
	g.Refill(now, 0)
	for i := range g.States {
		if len(costs) > 0 {
			tokens = costs[i]
		}
		g.charge(i, max(min(tokens, g.bottom(i)), 0))
	}
}

// bottom is how much may still be taken from a limit whether it is there or not.
func (g *Group) bottom(i int) int64 {
	l, s := &g.Limits[i], &g.States[i]
	switch {
	case l.Algorithm == Pacer:
		return s.Tokens + 2*l.Capacity()
	case l.isCounters():
		return 2*l.Burst - s.Tokens
	}
	return s.Tokens + l.Burst
}

// Exhaust takes from one limit, which has been brought up to now, all that there is.
func (g *Group) Exhaust(i int, now Instant) {
	g.charge(i, g.look(i, now, 0).Remaining)
	if s := &g.States[i]; g.Limits[i].Algorithm == TokenBucket && s.Tokens == 0 {
		s.Frac = 0
	}
}

// Renew gives one limit back all that was taken from it, but for what is out.
func (g *Group) Renew(i int, now Instant, out int64) {
	if g.Limits[i].IsLogged() {
		g.Log.drop(&g.States[i])
	}
	g.start(i, now)
	if g.Limits[i].Algorithm.Lends() {
		g.States[i].Tokens -= out
	}
}

// charge takes tokens from a state that has been brought up to now.
func (g *Group) charge(i int, tokens int64) {
	l, s := &g.Limits[i], &g.States[i]
	switch {
	case l.IsLogged():
		g.Log.put(s, s.Last, tokens)
	case l.isCounters():
		s.Tokens += tokens
	case l.Algorithm == FirstHitWindow:
		s.spend(l, tokens)
	default:
		s.Tokens -= tokens
	}
}
