package bucket

import (
	"math"
	"math/bits"
	"time"
)

// A sliding window above MaxLogged is two counters: what was admitted in this Per, and in the one before, of which it is assumed
// that it came evenly. Windows follow each other from a key's first request on. Of the State, Tokens is the count of this window,
// Frac that of the one before, and Last when this one began, which means nothing while both are 0.
//
// Nothing is denied or admitted wrongly if requests did come evenly. At the worst, if all of a window came at its end, the time
// that follows admits as much again, and any Per twice the limit at the most; if all came at its beginning, as much is denied.

// slid brings the counters up to now, and says how much of this window has passed.
func (s State) slid(l *Limit, now Instant) (State, time.Duration) {
	if s.Tokens == 0 && s.Frac == 0 {
		s.Last = now
		return s, 0
	}
	if now <= s.Last {
		return s, 0
	}
	gone, per := uint64(now)-uint64(s.Last), uint64(l.Per)
	switch {
	case gone < per:
		return s, time.Duration(gone)
	case gone-per < per:
		s.Frac, s.Tokens, s.Last = uint64(s.Tokens), 0, s.Last+Instant(l.Per)
		if s.Frac == 0 { // nothing is left to slide out
			s.Last = now
			return s, 0
		}
		return s, time.Duration(gone - per)
	default:
		return State{Last: now}, 0
	}
}

// weight is the part of the window before that still counts, rounded up.
func (s State) weight(l *Limit, gone time.Duration) int64 {
	hi, lo := bits.Mul64(s.Frac, uint64(l.Per-gone))
	q, r := bits.Div64(hi, lo, uint64(l.Per)) // Per-gone <= Per, so the quotient is at most Frac
	if r != 0 {
		q++
	}
	return int64(q)
}

// slide answers for counters of which this window has lasted for gone.
func (s State) slide(l *Limit, gone time.Duration, cost int64) Decision {
	left := l.Burst - s.Tokens - s.weight(l, gone)
	d := Decision{Remaining: max(left, 0)}
	switch {
	case cost <= left || cost == 0:
		d.Allowed = true
	case cost <= l.Burst:
		d.RetryAfter = s.untilSlid(l, gone, l.Burst-cost)
	}
	return d
}

// untilSlid is how long it takes until no more than most counts.
func (s State) untilSlid(l *Limit, gone time.Duration, most int64) time.Duration {
	if s.Tokens <= most {
		return l.Per - gone - l.share(most-s.Tokens, int64(s.Frac))
	}
	return later(l.Per-gone, l.Per-l.share(most, s.Tokens))
}

// share is the part of Per for which a count that shrinks to nothing in it is still no more than most: most/count of it, rounded
// down.
func (l *Limit) share(most, count int64) time.Duration {
	if most >= count {
		return l.Per
	}
	hi, lo := bits.Mul64(uint64(most), uint64(l.Per))
	q, _ := bits.Div64(hi, lo, uint64(count))
	return time.Duration(q)
}

// untilRested is how long it takes until both counters are 0.
func (s State) untilRested(l *Limit, gone time.Duration) time.Duration {
	switch {
	case s.Tokens != 0:
		return later(l.Per-gone, l.Per)
	case s.Frac != 0:
		return l.Per - gone
	}
	return 0
}

// later adds durations, and saturates.
func later(a, b time.Duration) time.Duration {
	if sum := a + b; sum >= a {
		return sum
	}
	return math.MaxInt64
}
