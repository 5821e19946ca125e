package bucket

import (
	"math/bits"
	"slices"
	"time"
)

// Group is all limits on one key and their states, by index, with what some algorithms need beside the instant. It is only as good
// as its parts: whoever holds the states serializes its use.
type Group struct {
	Limits []Limit
	States []State
	// Wall is by how many nanoseconds Unix time is ahead of the instants. Only fixed and calendar windows go by it.
	Wall int64
	// Log is where the sliding windows of the group keep what they have admitted; nil if there are none.
	Log *Log
}

// Start makes every state what that of a new key is: nothing was taken. It looks at no state that was there before.
func (g *Group) Start(now Instant) {
	for i := range g.States {
		g.start(i, now)
	}
}

func (g *Group) start(i int, now Instant) {
	l := &g.Limits[i]
	s := State{Tokens: l.Burst, Last: now}
	switch {
	case l.Algorithm == Pacer || l.isCounters():
		s.Tokens = 0
	case l.Algorithm == FixedWindow || l.Algorithm == CalendarWindow:
		s.Frac = uint64(l.window(unix(now, g.Wall)).Index)
	}
	g.States[i] = s
}

// Drop forgets what the states have in the log. Whoever forgets a group that has one calls it before.
func (g *Group) Drop() {
	for i := range g.States {
		if g.Limits[i].IsLogged() {
			g.Log.drop(&g.States[i])
		}
	}
}

// Take asks every limit for the same cost at now, 0 to MaxTokens, and takes it from all or from none. The answer is that of one
// limit, which is named: the limit that denied, of several the one with the longest wait; else a quota that counts it as overage, or
// the one that would be the first to deny if the same came again and again. An admission says how long the request has to wait for
// the pacers of the group.
func (g *Group) Take(now Instant, cost int64) (d Decision, which int) {
	return g.TakeEach(now, cost, nil)
}

// Look answers what Take would, and takes nothing: the numbers are those before a take.
func (g *Group) Look(now Instant, cost int64) (d Decision, which int) {
	return g.LookEach(now, cost, nil)
}

// TakeEach is Take with a cost for each limit, or, if there are none, the same for all. A limit that is asked for nothing does not
// speak unless all are.
func (g *Group) TakeEach(now Instant, cost int64, costs []int64) (d Decision, which int) {
	if len(costs) == 0 && g.areBuckets() { // nearly all
		return g.takeBuckets(now, cost)
	}
	g.Refill(now, 0) // whatever the answer, the time has been seen
	if d, which = g.LookEach(now, cost, costs); !d.Allowed {
		return d, which
	}
	var all answer
	for i := range g.States {
		c := cost
		if len(costs) > 0 {
			c = costs[i]
		}
		d := g.take(i, now, c)
		all.hear(i, c, d, g.Limits[i].IsOverage(d.Remaining))
	}
	return all.said()
}

func (g *Group) areBuckets() bool {
	for i := range g.Limits {
		if g.Limits[i].Algorithm != TokenBucket {
			return false
		}
	}
	return true
}

// takeBuckets is Take for token buckets. Only that one is asked for all numbers which speaks.
func (g *Group) takeBuckets(now Instant, cost int64) (d Decision, which int) {
	admits := true
	for i := range g.States {
		s := &g.States[i]
		*s = s.upTo(&g.Limits[i], g.Limits[i].Burst, now)
		admits = admits && (cost <= s.Tokens || cost == 0)
	}
	if !admits {
		return g.Look(now, cost)
	}
	for i := range g.States {
		if g.States[i].Tokens -= cost; max(g.States[i].Tokens, 0) < max(g.States[which].Tokens, 0) {
			which = i
		}
	}
	s := &g.States[which]
	return Decision{Allowed: true, Remaining: max(s.Tokens, 0), ResetAfter: s.untilFull(&g.Limits[which])}, which
}

// LookEach is Look with a cost for each limit, or, if there are none, the same for all.
func (g *Group) LookEach(now Instant, cost int64, costs []int64) (d Decision, which int) {
	var all answer
	for i := range g.States {
		c := cost
		if len(costs) > 0 {
			c = costs[i]
		}
		d := g.look(i, now, c)
		all.hear(i, c, d, d.Allowed && max(d.Remaining-c, 0) < g.Limits[i].Overage())
	}
	return all.said()
}

// answer is that of a group, as far as its limits have been heard. The zero answer has heard none.
type answer struct {
	Decision
	cost  int64
	wait  time.Duration // of an admission
	over  bool          // the one that speaks is admitted as overage
	which int           // limit speaks, plus one
}

func (a *answer) hear(i int, cost int64, d Decision, over bool) {
	if d.Allowed {
		a.wait = max(a.wait, d.RetryAfter)
	}
	if a.which == 0 || d.speaksFor(cost, over, a) {
		a.Decision, a.cost, a.over, a.which = d, cost, over, i+1
	}
}

func (a *answer) said() (Decision, int) {
	if a.Allowed {
		a.RetryAfter = a.wait
	}
	return a.Decision, a.which - 1
}

// speaksFor says whether d, for a cost, rather than a is the answer of all. A denial beats an admission; of denials the one that
// lasts longer, so that waiting for it is waiting for all; of admissions that of a limit which is asked for something, then one that
// counts it as overage, then the one nearest to denying.
func (d *Decision) speaksFor(cost int64, over bool, a *answer) bool {
	switch {
	case d.Allowed != a.Allowed:
		return a.Allowed
	case !d.Allowed && d.Never() != a.Never():
		return d.Never()
	case !d.Allowed:
		return d.RetryAfter > a.RetryAfter
	case (cost == 0) != (a.cost == 0):
		return a.cost == 0
	case over != a.over:
		return over
	case cost == a.cost:
		return d.Remaining < a.Remaining
	}
	hi, lo := bits.Mul64(uint64(d.Remaining), uint64(a.cost))
	hisHi, hisLo := bits.Mul64(uint64(a.Remaining), uint64(cost))
	return hi < hisHi || hi == hisHi && lo < hisLo
}

// take takes a cost that there is.
func (g *Group) take(i int, now Instant, cost int64) (d Decision) {
	l, s := &g.Limits[i], &g.States[i]
	switch l.Algorithm {
	case TokenBucket:
		*s, d = s.taken(l, now, cost)
	case Pacer:
		*s, d = s.paced(l, now, cost)
	case SlidingWindow:
		g.charge(i, cost)
		d = g.look(i, now, 0)
	default:
		var left time.Duration
		*s, left = s.rolled(l, l.Burst, now, g.Wall)
		s.spend(l, cost)
		d = Decision{Allowed: true, Remaining: max(s.Tokens, 0), ResetAfter: s.untilAnew(l, left)}
	}
	return d
}

func (g *Group) look(i int, now Instant, cost int64) (d Decision) {
	l, s := &g.Limits[i], g.States[i]
	switch l.Algorithm {
	case TokenBucket:
		d = s.Look(l, now, cost)
	case Pacer:
		s = s.upTo(l, 0, now)
		d = s.pace(l, cost)
		d.ResetAfter = l.timeFor(uint64(-s.Tokens), s.Frac)
	case SlidingWindow:
		if l.IsLogged() {
			return g.Log.look(l, s, now, cost)
		}
		s, gone := s.slid(l, now)
		d = s.slide(l, gone, cost)
		d.ResetAfter = s.untilRested(l, gone)
	default:
		s, left := s.rolled(l, l.Burst, now, g.Wall)
		d = s.count(l, left, cost)
		d.ResetAfter = s.untilAnew(l, left)
	}
	return d
}

// Refill brings every state up to now, but none higher than to what is not out. It never lowers a level.
func (g *Group) Refill(now Instant, out int64) {
	for i := range g.States {
		g.RefillOne(i, now, out)
	}
}

// RefillOne is Refill for one limit.
func (g *Group) RefillOne(i int, now Instant, out int64) {
	l, s := &g.Limits[i], &g.States[i]
	switch l.Algorithm {
	case TokenBucket:
		*s = s.upTo(l, l.Burst-out, now)
	case Pacer: // what is held has not gone yet, and is ahead of everybody
		*s = s.upTo(l, -out, now)
	case SlidingWindow:
		if l.IsLogged() {
			g.Log.expire(l, s, now)
		} else {
			*s, _ = s.slid(l, now)
		}
	default:
		*s, _ = s.rolled(l, l.Burst-out, now, g.Wall)
	}
}

// IsNew says whether every state is at now what Start would make it, and has seen no later instant: then the group is no
// different from one that was never used.
func (g *Group) IsNew(now Instant) bool {
	for i := range g.States {
		if g.States[i].Last > now || !g.isNew(i, now) {
			return false
		}
	}
	return true
}

func (g *Group) isNew(i int, now Instant) bool {
	l, s := &g.Limits[i], g.States[i]
	switch {
	case l.Algorithm == TokenBucket:
		return s.IsFull(l, now)
	case l.Algorithm == Pacer:
		return s.upTo(l, 0, now).Tokens == 0
	case l.IsLogged():
		return g.Log.untilEmpty(l, s, now) == 0
	case l.isCounters():
		s, _ = s.slid(l, now)
		return s.Tokens == 0 && s.Frac == 0
	default:
		s, _ = s.rolled(l, l.Burst, now, g.Wall)
		return s.Tokens >= l.Burst
	}
}

// Clone returns a group of its own that is the same, to see what would become of it.
func (g *Group) Clone() Group {
	c := Group{Limits: g.Limits, States: slices.Clone(g.States), Wall: g.Wall, Log: new(Log)}
	for i := range c.States {
		if s := &c.States[i]; c.Limits[i].IsLogged() {
			s.Tokens, s.Frac = c.Limits[i].Burst, 0
			for at, tokens := range g.Log.all(g.States[i]) {
				c.Log.put(s, at, tokens)
			}
		}
	}
	return c
}
