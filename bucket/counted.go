package bucket

import (
	"math"
	"time"
)

// Windows that count anew at an edge: fixed, first-hit and calendar ones. Of their State, Tokens is what may still be admitted in
// the window, which may be below zero after the limit was lowered. Frac says which window: the index of an aligned or calendar
// one, or when a first-hit one began, which means nothing while nothing was taken. So a window is over as soon as somebody looks.

// window returns the window of a limit that begins at the same time for everybody.
func (l *Limit) window(unix int64) Window {
	if l.Algorithm == FixedWindow {
		return AlignedWindow(unix, l.Per)
	}
	a, err := zoned(l.Zone)
	if err != nil { // nobody gets here with a limit that was not validated
		a, _ = zoned("")
	}
	return a.window(l.Calendar, unix)
}

// WindowAt returns the window of a fixed or calendar limit that a time belongs to, in nanoseconds of Unix time. The limit is valid.
func (l *Limit) WindowAt(unix int64) Window { return l.window(unix) }

// unix is the time that the wall clock shows at an instant, cut to what an int64 holds.
func unix(now Instant, wall int64) int64 {
	sum := int64(now) + wall
	switch {
	case wall > 0 && sum < int64(now):
		return math.MaxInt64
	case wall < 0 && sum > int64(now):
		return math.MinInt64
	}
	return sum
}

// rolled brings a window up to now, and returns how long it still lasts. A new window holds capacity.
//
// Should the clock have been set back by less than a window, the state stays in the later one, so that nothing is admitted twice.
// If it was by more, it was wrong before: the count goes on in the window that is now.
func (s State) rolled(l *Limit, capacity int64, now Instant, wall int64) (State, time.Duration) {
	s.Last = max(s.Last, now)
	if l.Algorithm == FirstHitWindow {
		return s.rolledFirstHit(l, capacity)
	}
	at := unix(s.Last, wall)
	w := l.window(at)
	switch was := int64(s.Frac); {
	case was < w.Index:
		s.Tokens, s.Frac = capacity, uint64(w.Index)
	case was > w.Index:
		next := l.window(w.End)
		if was == next.Index {
			return s, between(at, next.End)
		}
		s.Frac = uint64(w.Index)
	}
	return s, between(at, w.End)
}

// between is how long it is from one time to a later one.
func between(from, to int64) time.Duration {
	if d := to - from; d >= 0 {
		return time.Duration(d)
	}
	return math.MaxInt64
}

func (s State) rolledFirstHit(l *Limit, capacity int64) (State, time.Duration) {
	if s.Tokens >= l.Burst {
		return s, l.Per
	}
	begun := Instant(s.Frac)
	gone := uint64(s.Last) - uint64(begun) // exact even where the difference would overflow
	if s.Last >= begun && gone >= uint64(l.Per) {
		s.Tokens = capacity
		return s, l.Per
	}
	if s.Last < begun {
		gone = 0
	}
	return s, l.Per - time.Duration(gone)
}

// spend takes tokens out of a window that is brought up to Last.
func (s *State) spend(l *Limit, tokens int64) {
	if tokens > 0 && l.Algorithm == FirstHitWindow && s.Tokens >= l.Burst {
		s.Frac = uint64(s.Last)
	}
	s.Tokens -= tokens
}

// count answers for a window that lasts for another while. ResetAfter is left to the caller.
func (s State) count(l *Limit, left time.Duration, cost int64) Decision {
	d := Decision{Remaining: max(s.Tokens, 0)}
	switch {
	case cost <= s.Tokens || cost == 0:
		d.Allowed = true
	case cost <= l.Burst:
		d.RetryAfter = left
	}
	return d
}

// untilAnew is how long a window that lasts for another while takes to be full.
func (s State) untilAnew(l *Limit, left time.Duration) time.Duration {
	if s.Tokens >= l.Burst {
		return 0
	}
	return left
}
