package bucket

import "math/bits"

// A pacer's State is a token bucket that is full at 0: its level is the cost that has been admitted and not yet been paid for by
// the time that has passed, below zero. A request goes when what is ahead of it has been paid for.

// queue returns with how much ahead of it a request is still admitted: whole tokens, at most Burst, and Per-ths of one. The
// limit has a rate.
func (l *Limit) queue() (tokens int64, frac uint64) {
	hi, lo := bits.Mul64(uint64(l.MaxWait), uint64(l.Count))
	per := uint64(l.Per)
	if hi >= per {
		return l.Burst, 0
	}
	q, r := bits.Div64(hi, lo, per)
	if q >= uint64(l.Burst) {
		return l.Burst, 0
	}
	return int64(q), r
}

// spare is how much the queue has room for beside a request of any cost, which is admitted if this is not below zero: whole
// tokens, rounded down, and the Per-ths on top of it, which may be more than a token.
func (s State) spare(l *Limit) (tokens int64, frac uint64) {
	queue, part := l.queue()
	return queue + s.Tokens, s.Frac + part
}

func (s State) paced(l *Limit, now Instant, cost int64) (State, Decision) {
	s = s.upTo(l, 0, now)
	d := s.pace(l, cost)
	if d.Allowed {
		s.Tokens -= cost
		d.Remaining = s.pacedMore(l)
	}
	d.ResetAfter = l.timeFor(uint64(-s.Tokens), s.Frac)
	return s, d
}

// pace answers for a pacer that is brought up to the instant already. An admitted request may have to wait: RetryAfter says how
// long.
func (s State) pace(l *Limit, cost int64) Decision {
	switch {
	case cost == 0:
		return Decision{Allowed: true, Remaining: s.pacedMore(l)}
	case l.Count == 0:
		return Decision{}
	}
	tokens, frac := s.spare(l)
	if tokens >= 0 || tokens == -1 && frac >= uint64(l.Per) {
		return Decision{Allowed: true, Remaining: s.pacedMore(l), RetryAfter: l.timeFor(uint64(-s.Tokens), s.Frac)}
	}
	return Decision{RetryAfter: l.timeFor(uint64(-tokens), frac)}
}

// pacedMore is how many requests of cost 1 would be admitted at this instant.
func (s State) pacedMore(l *Limit) int64 {
	if l.Count == 0 {
		return 0
	}
	tokens, frac := s.spare(l)
	if frac >= uint64(l.Per) {
		tokens++
	}
	return min(max(tokens+1, 0), MaxTokens)
}
