package bucket

import (
	"iter"
	"math"
	"time"
)

// Log is where sliding windows of up to MaxLogged keep what they have admitted, and when: many of them in one array, without a
// pointer for the garbage collector to follow. The zero Log is empty. It has no lock.
//
// Of the State of such a window, Tokens is what may still be admitted as of Last, and Frac where in the log its newest entry is,
// plus one; 0 is none. Such a State belongs to its Log: whoever forgets it calls Group.Drop,
// and of copies only one may be used further.
type Log struct {
	entries []logged
	free    uint32 // a free entry, plus one
	used    int
}

// logged is one entry. Those of a window are a ring: the newest says where the oldest is.
type logged struct {
	at   Instant
	cost uint32
	next uint32 // the place of the next newer one, or of a free one, plus one
}

// LogEntryBytes is the memory that an entry of a Log takes.
const LogEntryBytes = 16

// Used returns how many entries are in use.
func (g *Log) Used() int { return g.used }

// Size returns how many entries there is memory for.
func (g *Log) Size() int { return len(g.entries) }

// Grow makes memory for more entries. Without it as much is made as is needed.
func (g *Log) Grow(entries int) {
	grown := make([]logged, len(g.entries)+entries)
	copy(grown, g.entries)
	for i := len(g.entries); i < len(grown); i++ {
		grown[i].next, g.free = g.free, uint32(i)+1
	}
	g.entries = grown
}

// put notes that a window has admitted so many tokens, 0 to MaxLogged, at an instant no earlier than its newest entry.
func (g *Log) put(s *State, at Instant, tokens int64) {
	if tokens == 0 {
		return
	}
	newest := uint32(s.Frac)
	s.Tokens -= tokens
	if newest != 0 && g.entries[newest-1].at == at && g.entries[newest-1].cost <= math.MaxUint32-uint32(tokens) {
		g.entries[newest-1].cost += uint32(tokens)
		return
	}
	if g.free == 0 {
		g.Grow(max(8, len(g.entries)/2))
	}
	i := g.free
	e := &g.entries[i-1]
	g.free = e.next
	g.used++
	*e = logged{at, uint32(tokens), i}
	if newest != 0 {
		e.next, g.entries[newest-1].next = g.entries[newest-1].next, i
	}
	s.Frac = uint64(i)
}

// all returns what a window has admitted, the oldest first.
func (g *Log) all(s State) iter.Seq2[Instant, int64] {
	return func(yield func(Instant, int64) bool) {
		newest := uint32(s.Frac)
		if newest == 0 {
			return
		}
		for i := newest; ; {
			i = g.entries[i-1].next
			if e := &g.entries[i-1]; !yield(e.at, int64(e.cost)) || i == newest {
				return
			}
		}
	}
}

// pop drops the oldest entry.
func (g *Log) pop(s *State) {
	newest := uint32(s.Frac)
	oldest := g.entries[newest-1].next
	s.Tokens += int64(g.entries[oldest-1].cost)
	g.unlink(s, newest, oldest)
}

// restore takes tokens off the entry of an instant, if it is still there.
func (g *Log) restore(s *State, tokens int64, at Instant) {
	newest := uint32(s.Frac)
	if newest == 0 {
		return
	}
	for before := newest; ; {
		i := g.entries[before-1].next
		e := &g.entries[i-1]
		if e.at == at {
			tokens = min(tokens, int64(e.cost))
			s.Tokens += tokens
			if e.cost -= uint32(tokens); e.cost == 0 {
				g.unlink(s, before, i)
			}
			return
		}
		if before = i; i == newest {
			return
		}
	}
}

// unlink frees an entry, given the one before it.
func (g *Log) unlink(s *State, before, i uint32) {
	e := &g.entries[i-1]
	switch {
	case before == i:
		s.Frac = 0
	case uint64(i) == s.Frac:
		s.Frac = uint64(before)
		fallthrough
	default:
		g.entries[before-1].next = e.next
	}
	*e = logged{next: g.free}
	g.free = i
	g.used--
}

// drop forgets what a window has admitted.
func (g *Log) drop(s *State) {
	for s.Frac != 0 {
		g.pop(s)
	}
}

// past says whether what was admitted at an instant counts no more at now.
func past(l *Limit, at, now Instant) bool {
	return at <= now && uint64(now)-uint64(at) >= uint64(l.Per)
}

// expire drops what counts no more.
func (g *Log) expire(l *Limit, s *State, now Instant) {
	s.Last = max(s.Last, now)
	for s.Frac != 0 && past(l, g.oldest(*s), s.Last) {
		g.pop(s)
	}
}

func (g *Log) oldest(s State) Instant { return g.entries[g.entries[s.Frac-1].next-1].at }

// look answers for a log as it is at now, and changes nothing. It goes through what has ended by now, and if the cost does not
// fit, on to what has to end for it.
func (g *Log) look(l *Limit, s State, now Instant, cost int64) (d Decision) {
	now = max(now, s.Last)
	left, freed := s.Tokens, s.Tokens
	for at, tokens := range g.all(s) {
		freed += tokens
		if past(l, at, now) {
			left = freed
			continue
		}
		if cost == 0 || cost <= left || cost > l.Burst {
			break
		}
		if freed >= cost {
			d.RetryAfter = until(l, at, now)
			break
		}
	}
	d.Allowed = cost <= left || cost == 0
	d.Remaining = max(left, 0)
	d.ResetAfter = g.untilEmpty(l, s, now)
	return d
}

// untilEmpty is how long it takes until nothing that was admitted counts any more.
func (g *Log) untilEmpty(l *Limit, s State, now Instant) time.Duration {
	if s.Frac == 0 {
		return 0
	}
	newest := g.entries[s.Frac-1].at
	if past(l, newest, now) {
		return 0
	}
	return until(l, newest, now)
}

// until is how long it takes until what was admitted at an instant counts no more.
func until(l *Limit, at, now Instant) time.Duration {
	if at > now {
		return l.Per
	}
	return l.Per - time.Duration(uint64(now)-uint64(at))
}
