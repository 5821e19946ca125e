package table

import "github.com/drossel-dev/drossel/bucket"

// fill makes every state of a slot full, as a new key's are.
func (g *Group) fill(w []uint64, now bucket.Instant) {
	for i, l := range g.limits {
		store(w, i, bucket.Full(l, now))
	}
}

// take asks all states of a slot and takes from all, or from none. It answers for the limit that denied, of several the
// one with the longest wait; else for the one with the fewest tokens left.
func (g *Group) take(w []uint64, now bucket.Instant, cost int64) (d bucket.Decision, which int) {
	if len(g.limits) == 1 {
		s := load(w, 0)
		d = s.Take(g.limits[0], now, cost)
		store(w, 0, s)
		return d, 0
	}
	for i, l := range g.limits { // whatever the answer, the time has been seen
		s := load(w, i)
		s.Refill(l, now)
		store(w, i, s)
	}
	if d, which = g.look(w, now, cost); !d.Allowed {
		return d, which
	}
	for i, l := range g.limits {
		s := load(w, i)
		next := s.Take(l, now, cost)
		store(w, i, s)
		if i == 0 || next.Remaining < d.Remaining {
			d, which = next, i
		}
	}
	return d, which
}

// look asks all states of a slot and changes none.
func (g *Group) look(w []uint64, now bucket.Instant, cost int64) (d bucket.Decision, which int) {
	for i, l := range g.limits {
		next := load(w, i).Look(l, now, cost)
		if i == 0 || speaksFor(next, d) {
			d, which = next, i
		}
	}
	return d, which
}

// speaksFor says whether d rather than a is the group's answer. A denial beats an admission; of denials the one that
// lasts longer, so that waiting for it is waiting for all; of admissions the one nearest to denying.
func speaksFor(d, a bucket.Decision) bool {
	switch {
	case d.Allowed != a.Allowed:
		return a.Allowed
	case d.Allowed:
		return d.Remaining < a.Remaining
	case d.Never() != a.Never():
		return d.Never()
	default:
		return d.RetryAfter > a.RetryAfter
	}
}

// carry takes the levels of a slot over from old limits to as many new ones.
func carry(w []uint64, old, g *Group, now bucket.Instant) {
	for i, l := range g.limits {
		s := load(w, i)
		s.Adopt(old.limits[i], l, now)
		store(w, i, s)
	}
}

// full says whether every state of a slot is full at now: such a group is as good as none.
func (g *Group) full(w []uint64, now bucket.Instant) bool {
	for i, l := range g.limits {
		if !load(w, i).IsFull(l, now) {
			return false
		}
	}
	return true
}
