package bucket

import (
	"math"
	"time"
)

// What a lender does with the limits of a group, which it has brought up to the instant.

// Lends says whether tokens of these limits can be lent at all.
func Lends(limits []Limit) bool {
	for i := range limits {
		if !limits[i].Algorithm.Lends() {
			return false
		}
	}
	return true
}

// Lendable is how many of so many tokens every limit has: at least 0, and none beyond the mark from which on a quota counts as
// overage, unless it has been reached.
func (g *Group) Lendable(tokens int64) int64 {
	for i := range g.States {
		l, s := &g.Limits[i], &g.States[i]
		if !l.Algorithm.Lends() {
			return 0
		}
		has := s.Tokens
		if over := l.Overage(); has > over {
			has -= over
		}
		tokens = min(tokens, has)
	}
	return max(tokens, 0)
}

// Cap keeps every level that is lent from down to what is not out.
func (g *Group) Cap(out int64) {
	for i := range g.States {
		g.CapOne(i, out)
	}
}

// CapOne is Cap for one limit.
func (g *Group) CapOne(i int, out int64) {
	l, s := &g.Limits[i], &g.States[i]
	if most := l.Burst - out; l.Algorithm.Lends() && s.Tokens >= most {
		s.Tokens = most
		if l.Algorithm == TokenBucket {
			s.Frac = 0
		}
	}
}

// Lend takes tokens, as many as are Lendable at the most, from every limit.
func (g *Group) Lend(tokens int64) {
	for i := range g.States {
		g.charge(i, tokens)
	}
}

// Restore gives tokens back to one limit that were taken from it at an instant and not used, as long as it counts them: what a
// sliding window has forgotten does not come back. Of other windows the caller sees to it that they have not ended since.
func (g *Group) Restore(i int, tokens int64, taken Instant) {
	l, s := &g.Limits[i], &g.States[i]
	switch {
	case l.IsLogged():
		g.Log.restore(s, tokens, taken)
	case l.isCounters() && s.Last <= taken:
		s.Tokens -= min(tokens, s.Tokens)
	case l.isCounters():
		if !past(l, taken, s.Last) {
			s.Frac -= min(uint64(tokens), s.Frac)
		}
	case l.Algorithm == Pacer:
		if s.Tokens += tokens; s.Tokens >= 0 { // what was ahead has been paid for meanwhile
			s.Tokens, s.Frac = 0, 0
		}
	default:
		s.Tokens += tokens
	}
}

// Settle counts tokens that were taken from one limit at an instant as taken now: what was held for a while has been used only now.
// It matters to sliding windows alone, for what is held is out, and does not make room in others.
func (g *Group) Settle(i int, tokens int64, taken, now Instant) {
	if l := &g.Limits[i]; l.Algorithm == SlidingWindow && taken < now {
		g.Restore(i, tokens, taken)
		g.charge(i, tokens)
	}
}

// Edge is how long it is at now until some window of a group forgets what is taken now, or counts anew: the longest Duration if none
// does.
func (g *Group) Edge(now Instant) (left time.Duration) {
	left = math.MaxInt64
	for i := range g.States {
		l, ends := &g.Limits[i], time.Duration(math.MaxInt64)
		switch {
		case l.IsLogged():
			ends = l.Per
		case l.isCounters():
			_, gone := g.States[i].slid(l, now)
			ends = l.Per - gone
		case l.Algorithm > SlidingWindow:
			_, ends = g.States[i].rolled(l, l.Burst, now, g.Wall)
		}
		left = min(left, ends)
	}
	return left
}
