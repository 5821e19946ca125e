package bucket

// TakeAll asks several limits on one key for the same cost at now, and takes it from all of their states or from none.
// limits and states belong together by index, at least one each. The answer is that of one limit, which is named: the
// limit that denied, of several the one with the longest wait; else the one with the fewest tokens left.
func TakeAll(limits []Limit, states []State, now Instant, cost int64) (d Decision, which int) {
	for i := range states { // whatever the answer, the time has been seen
		states[i].Refill(&limits[i], now)
	}
	if d, which = LookAll(limits, states, now, cost); !d.Allowed {
		return d, which
	}
	for i := range states {
		next := states[i].Take(&limits[i], now, cost)
		if i == 0 || next.Remaining < d.Remaining {
			d, which = next, i
		}
	}
	return d, which
}

// LookAll answers what TakeAll would, and takes nothing: the numbers are those before a take.
func LookAll(limits []Limit, states []State, now Instant, cost int64) (d Decision, which int) {
	for i := range states {
		next := states[i].Look(&limits[i], now, cost)
		if i == 0 || next.speaksFor(d) {
			d, which = next, i
		}
	}
	return d, which
}

// speaksFor says whether d rather than a is the answer of all. A denial beats an admission; of denials the one that
// lasts longer, so that waiting for it is waiting for all; of admissions the one nearest to denying.
func (d Decision) speaksFor(a Decision) bool {
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
