package bucket

import (
	"math/bits"
	"time"
)

// State is one bucket: what it holds, and as of when. This is what the words of a token bucket mean; other algorithms use them
// otherwise, and are asked by way of a Group. It carries no pointer and no copy of its limit, so very many of
// them lie side by side in plain memory. The caller passes the same Limit each time, and Adopt when it changed: it is only
// read, and nothing keeps the pointer.
//
// A level is Tokens + Frac/Limit.Per, exactly. The zero State is empty as of instant 0; a new key starts with Full.
// A State has no lock: whoever holds it serializes its use.
type State struct {
	// Tokens is the whole part of the level. It is at most the burst.
	Tokens int64
	// Frac is the part of the next token that has arrived, in Per-ths of a token: each nanosecond adds Count of them.
	// 0 <= Frac < Per, and 0 while the bucket is full.
	Frac uint64
	// Last is the latest instant seen. Refill counts from it, so time that runs back adds nothing.
	Last Instant
}

// Full returns a bucket of limit l that is full at now, as every new key is.
func Full(l *Limit, now Instant) State { return State{Tokens: l.Burst, Last: now} }

// Take asks for cost tokens at now: if the bucket holds them they are taken, else nothing changes but the time seen.
// cost is 0 to MaxTokens; 0 takes nothing and is always allowed. The numbers of the answer are those after the take.
func (s *State) Take(l *Limit, now Instant, cost int64) (d Decision) {
	*s, d = s.taken(l, now, cost)
	return d
}

// taken is Take by value, so that state and answer stay in registers.
func (s State) taken(l *Limit, now Instant, cost int64) (State, Decision) {
	s = s.at(l, now)
	d := s.decide(l, cost)
	if d.Allowed {
		s.Tokens -= cost
		d.Remaining = max(s.Tokens, 0)
	}
	d.ResetAfter = s.untilFull(l)
	return s, d
}

// Look answers what Take would, and takes nothing: Remaining and ResetAfter are those before a take.
func (s State) Look(l *Limit, now Instant, cost int64) Decision {
	s = s.at(l, now)
	d := s.decide(l, cost)
	d.ResetAfter = s.untilFull(l)
	return d
}

// Refill brings the level up to now. It never lowers a level, not even one above the burst.
func (s *State) Refill(l *Limit, now Instant) { *s = s.at(l, now) }

// at returns the bucket as it is at now.
func (s State) at(l *Limit, now Instant) State { return s.upTo(l, l.Burst, now) }

func (s State) upTo(l *Limit, capacity int64, now Instant) State {
	if now <= s.Last {
		return s
	}
	elapsed := uint64(now) - uint64(s.Last) // exact even where now - Last would overflow
	s.Last = now
	if l.Count == 0 || s.Tokens >= capacity {
		return s
	}
	hi, lo := bits.Mul64(elapsed, uint64(l.Count))
	lo, carry := bits.Add64(lo, s.Frac, 0)
	hi += carry
	per, room := uint64(l.Per), uint64(capacity-s.Tokens)
	arrived, frac := room, uint64(0) // what fits, if more than 2^64 whole tokens have come
	switch {
	case hi == 0 && lo < per: // divisions are dear, and a busy bucket seldom needs one
		arrived, frac = 0, lo
	case hi == 0:
		arrived, frac = lo/per, lo%per
	case hi < per:
		arrived, frac = bits.Div64(hi, lo, per)
	}
	if arrived >= room {
		s.Tokens, s.Frac = capacity, 0
		return s
	}
	s.Tokens += int64(arrived)
	s.Frac = frac
	return s
}

// Adopt carries the level over from an old limit to a new one at now: what had arrived by the old rate stays, a smaller
// burst cuts at once, a larger one grants nothing. The part of a token is kept, rounded down.
func (s *State) Adopt(old, l *Limit, now Instant) {
	s.Refill(old, now)
	if s.Tokens >= l.Burst {
		s.Tokens, s.Frac = l.Burst, 0
		return
	}
	s.rescale(old, l)
}

// IsFull says whether the bucket is full at now and has seen no later instant: then it is no different from one that
// was never used.
func (s State) IsFull(l *Limit, now Instant) bool {
	s = s.at(l, now)
	return s.Tokens >= l.Burst && s.Last <= now
}

// decide answers for a bucket that is refilled already. ResetAfter is left to the caller, who knows if cost is taken.
func (s State) decide(l *Limit, cost int64) Decision {
	d := Decision{Remaining: max(s.Tokens, 0)}
	switch {
	case cost <= s.Tokens || cost == 0:
		d.Allowed = true
	case cost <= l.Burst && l.Count != 0: // else never: there is no such time
		d.RetryAfter = l.timeFor(uint64(cost-s.Tokens), s.Frac)
	}
	return d
}

func (s State) untilFull(l *Limit) time.Duration {
	if s.Tokens >= l.Burst {
		return 0
	}
	return l.timeFor(uint64(l.Burst-s.Tokens), s.Frac)
}

// StateFrom rebuilds the bucket that a Decision of Look, or of a take, has told of, as it was at now. Of the next token
// it may lack what arrives in a nanosecond, for ResetAfter is rounded up.
func StateFrom(l *Limit, d Decision, now Instant) State {
	s := State{Tokens: d.Remaining, Last: now}
	if s.Tokens >= l.Burst || l.Count == 0 {
		return s
	}
	hi, lo := bits.Mul64(uint64(l.Burst-s.Tokens), uint64(l.Per))
	goneHi, goneLo := bits.Mul64(uint64(max(d.ResetAfter, 0)), uint64(l.Count))
	lo, borrow := bits.Sub64(lo, goneLo, 0)
	hi, borrow = bits.Sub64(hi, goneHi, borrow)
	per := uint64(l.Per)
	switch {
	case borrow != 0 && s.Tokens > 0: // rounded up to the nanosecond
	case borrow != 0: // below zero, which Remaining does not say
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
		if hi < per {
			debt, part := bits.Div64(hi, lo, per)
			if part != 0 {
				debt, s.Frac = debt+1, per-part
			}
			if debt > MaxTokens { // no bucket is lower
				debt, s.Frac = MaxTokens, 0
			}
			s.Tokens = -int64(debt)
		}
	case hi != 0 || lo >= per: // not an answer of this limit
	default:
		s.Frac = lo
	}
	return s
}
