package bucket_test

import (
	"math/big"
	"slices"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// slow is a limit told by what it has admitted, in the most obvious way. Times are exact, and nothing is kept up to date.
type slow interface {
	at(now bucket.Instant)                         // time passes
	base(now bucket.Instant) bucket.Instant        // from when on waits count
	admits(cost int64) bool                        // now
	possible(cost int64) bool                      // ever
	left() int64                                   // what is admitted now
	wait() time.Duration                           // how long an admitted request has to wait
	take(cost int64)                               // which is admitted
	used() int64                                   // what counts as taken, rounded up
	refund(tokens int64)                           // as if that had not been admitted
	bottom() int64                                 // what may still be taken, whether it is there or not
	idle() bool                                    // as if nothing was taken
	adopt(now bucket.Instant, l bucket.Limit) slow // another limit of the same algorithm and windows, or nil
	copy() slow
}

func newSlow(l bucket.Limit, now bucket.Instant, wall int64) slow {
	switch l.Algorithm {
	case bucket.TokenBucket:
		return &slowBucket{newModel(l, now)}
	case bucket.Pacer:
		return &slowPacer{l: l, backlog: new(big.Rat), last: now}
	case bucket.SlidingWindow:
		if l.Burst <= bucket.MaxLogged {
			return &slowLog{l: l, last: now}
		}
		return &slowCounters{l: l, now: now}
	case bucket.FirstHitWindow:
		return &slowFirstHit{l: l, last: now}
	}
	w := &slowWindow{l: l, wall: wall, last: now}
	w.index, _ = w.window(now)
	return w
}

type slowBucket struct{ *model }

func (m *slowBucket) base(now bucket.Instant) bucket.Instant { return max(now, m.last) }
func (m *slowBucket) admits(cost int64) bool                 { return cost == 0 || m.level.Cmp(rat(cost)) >= 0 }
func (m *slowBucket) possible(cost int64) bool               { return cost <= m.limit.Burst && m.limit.Count > 0 }
func (m *slowBucket) left() int64                            { return max(floor(m.level).Int64(), 0) }
func (m *slowBucket) wait() time.Duration                    { return 0 }
func (m *slowBucket) take(cost int64)                        { m.level.Sub(m.level, rat(cost)) }
func (m *slowBucket) idle() bool                             { return m.level.Cmp(rat(m.limit.Burst)) >= 0 || m.limit.Count == 0 }
func (m *slowBucket) used() int64                            { return m.limit.Burst - floor(m.level).Int64() }
func (m *slowBucket) bottom() int64                          { return floor(m.level).Int64() + m.limit.Burst }
func (m *slowBucket) refund(tokens int64) {
	if most := rat(m.limit.Burst); m.level.Cmp(most) < 0 {
		if m.level.Add(m.level, rat(tokens)); m.level.Cmp(most) > 0 {
			m.level = most
		}
	}
}
func (m *slowBucket) copy() slow { return &slowBucket{m.model.copy()} }
func (m *slowBucket) adopt(now bucket.Instant, l bucket.Limit) slow {
	m.model.adopt(l, now)
	return m
}

// slowPacer is the cost that is ahead of whoever comes now.
type slowPacer struct {
	l       bucket.Limit
	backlog *big.Rat
	last    bucket.Instant
}

func (m *slowPacer) rate() *big.Rat { return newModel(m.l, 0).rate() }

func (m *slowPacer) at(now bucket.Instant) {
	if now <= m.last {
		return
	}
	m.backlog.Sub(m.backlog, new(big.Rat).Mul(m.rate(), span(m.last, now)))
	if m.backlog.Sign() < 0 {
		m.backlog.SetInt64(0)
	}
	m.last = now
}

func (m *slowPacer) base(now bucket.Instant) bucket.Instant { return max(now, m.last) }

// ns is how long the backlog takes, exactly.
func (m *slowPacer) ns() *big.Rat {
	if m.l.Count == 0 {
		return new(big.Rat)
	}
	return new(big.Rat).Quo(m.backlog, m.rate())
}

func (m *slowPacer) admits(cost int64) bool {
	return cost == 0 || m.l.Count > 0 && m.ns().Cmp(rat(int64(m.l.MaxWait))) <= 0 && m.backlog.Cmp(rat(m.l.Burst)) <= 0
}
func (m *slowPacer) possible(int64) bool { return m.l.Count > 0 }

// left is what could be admitted one after the other: all but the last of them may be ahead of somebody.
func (m *slowPacer) left() int64 {
	if !m.admits(1) {
		return 0
	}
	ahead := new(big.Rat).Mul(m.rate(), rat(int64(m.l.MaxWait)))
	if burst := rat(m.l.Burst); ahead.Cmp(burst) > 0 {
		ahead = burst
	}
	n := floor(ahead.Sub(ahead, m.backlog))
	return min(n.Int64()+1, bucket.MaxTokens)
}

func (m *slowPacer) wait() time.Duration {
	ns := m.ns()
	up := floor(ns.Neg(ns))
	return time.Duration(up.Neg(up).Int64())
}
func (m *slowPacer) take(cost int64) { m.backlog.Add(m.backlog, rat(cost)) }
func (m *slowPacer) idle() bool      { return m.backlog.Sign() == 0 || m.l.Count == 0 }
func (m *slowPacer) used() int64     { return -floor(new(big.Rat).Neg(m.backlog)).Int64() }
func (m *slowPacer) refund(tokens int64) {
	if m.backlog = new(big.Rat).Sub(m.backlog, rat(tokens)); m.backlog.Sign() < 0 {
		m.backlog = new(big.Rat)
	}
}
func (m *slowPacer) bottom() int64 { return 2*m.l.Capacity() - m.used() }
func (m *slowPacer) copy() slow    { return &slowPacer{m.l, new(big.Rat).Set(m.backlog), m.last} }
func (m *slowPacer) adopt(now bucket.Instant, l bucket.Limit) slow {
	m.at(now)
	if l.Per != m.l.Per {
		per := rat(max(int64(l.Per), 1))
		level := new(big.Rat).Neg(m.backlog)
		m.backlog.Quo(new(big.Rat).SetInt(floor(level.Mul(level, per))), per).Neg(m.backlog)
	}
	m.l = l
	return m
}

// slowLog is a sliding window: all that it has admitted.
type slowLog struct {
	l    bucket.Limit
	last bucket.Instant
	all  []admitted
}

type admitted struct {
	at   bucket.Instant
	cost int64
}

func (m *slowLog) at(now bucket.Instant)                  { m.last = max(m.last, now) }
func (m *slowLog) base(now bucket.Instant) bucket.Instant { return max(now, m.last) }

// used is what was admitted in the window of now: after now - Per, and until now.
func (m *slowLog) used() (n int64) {
	for _, a := range m.all {
		if span(a.at, m.last).Cmp(rat(int64(m.l.Per))) < 0 {
			n += a.cost
		}
	}
	return n
}
func (m *slowLog) admits(cost int64) bool   { return cost == 0 || m.used()+cost <= m.l.Burst }
func (m *slowLog) possible(cost int64) bool { return cost <= m.l.Burst }
func (m *slowLog) left() int64              { return max(m.l.Burst-m.used(), 0) }
func (m *slowLog) wait() time.Duration      { return 0 }
func (m *slowLog) take(cost int64)          { m.all = append(m.all, admitted{m.last, cost}) }
func (m *slowLog) idle() bool               { return m.used() == 0 }
func (m *slowLog) bottom() int64            { return 2*m.l.Burst - m.used() }
func (m *slowLog) refund(tokens int64) {
	for n := len(m.all); n > 0 && tokens > 0; n = len(m.all) {
		some := min(tokens, m.all[n-1].cost)
		if m.all[n-1].cost -= some; m.all[n-1].cost == 0 {
			m.all = m.all[:n-1]
		}
		tokens -= some
	}
}
func (m *slowLog) copy() slow { return &slowLog{m.l, m.last, slices.Clone(m.all)} }
func (m *slowLog) adopt(now bucket.Instant, l bucket.Limit) slow {
	m.at(now)
	m.all = slices.DeleteFunc(m.all, func(a admitted) bool { // what has ended does not come back
		return span(a.at, m.last).Cmp(rat(int64(m.l.Per))) >= 0
	})
	m.l = l
	return m
}

// slowCounters is a sliding window of two counters: what was admitted by window, counted from when it began.
type slowCounters struct {
	l      bucket.Limit
	now    bucket.Instant
	begun  bucket.Instant
	window int64 // of now
	counts map[int64]int64
}

func (m *slowCounters) at(now bucket.Instant) {
	m.now = now
	if m.counts == nil {
		return
	}
	n := floor(new(big.Rat).Quo(span(m.begun, now), rat(int64(m.l.Per)))).Int64()
	m.window = max(m.window, n)
	if m.counts[m.window]+m.counts[m.window-1] == 0 {
		m.counts = nil
	}
}

// gone is how much of the window has passed, from 0 to 1.
func (m *slowCounters) gone() *big.Rat {
	windows := new(big.Rat).Quo(span(m.begun, m.now), rat(int64(m.l.Per)))
	if windows.Sub(windows, rat(m.window)); windows.Sign() < 0 {
		return new(big.Rat)
	}
	return windows
}

func (m *slowCounters) base(now bucket.Instant) bucket.Instant {
	if m.counts == nil {
		return now
	}
	begins := new(big.Rat).Add(rat(int64(m.begun)), new(big.Rat).Mul(rat(m.window), rat(int64(m.l.Per))))
	if begins.Cmp(rat(int64(now))) > 0 {
		return bucket.Instant(floor(begins).Int64())
	}
	return now
}

func (m *slowCounters) free() *big.Rat {
	if m.counts == nil {
		return rat(m.l.Burst)
	}
	part := new(big.Rat).Sub(rat(1), m.gone())
	used := new(big.Rat).Mul(part, rat(m.counts[m.window-1]))
	used.Add(used, rat(m.counts[m.window]))
	return used.Sub(rat(m.l.Burst), used)
}
func (m *slowCounters) admits(cost int64) bool   { return cost == 0 || m.free().Cmp(rat(cost)) >= 0 }
func (m *slowCounters) possible(cost int64) bool { return cost <= m.l.Burst }
func (m *slowCounters) left() int64              { return max(floor(m.free()).Int64(), 0) }
func (m *slowCounters) wait() time.Duration      { return 0 }
func (m *slowCounters) take(cost int64) {
	if cost == 0 {
		return
	}
	if m.counts == nil {
		m.begun, m.window, m.counts = m.now, 0, map[int64]int64{}
	}
	m.counts[m.window] += cost
}
func (m *slowCounters) idle() bool    { return m.counts == nil }
func (m *slowCounters) used() int64   { return m.l.Burst - floor(m.free()).Int64() }
func (m *slowCounters) bottom() int64 { return 2*m.l.Burst - m.counts[m.window] }
func (m *slowCounters) refund(tokens int64) {
	for _, of := range []int64{m.window, m.window - 1} {
		some := min(tokens, m.counts[of])
		if some > 0 {
			m.counts[of] -= some
		}
		tokens -= some
	}
	if m.counts[m.window]+m.counts[m.window-1] == 0 {
		m.counts = nil
	}
}
func (m *slowCounters) copy() slow {
	c := *m
	if m.counts != nil {
		c.counts = map[int64]int64{m.window: m.counts[m.window], m.window - 1: m.counts[m.window-1]}
	}
	return &c
}
func (m *slowCounters) adopt(now bucket.Instant, l bucket.Limit) slow {
	if l.Per != m.l.Per {
		return nil
	}
	m.at(now)
	m.l = l
	return m
}

// slowFirstHit is a window that begins with the first request.
type slowFirstHit struct {
	l           bucket.Limit
	last, begun bucket.Instant
	taken       int64
}

func (m *slowFirstHit) at(now bucket.Instant) {
	m.last = max(m.last, now)
	if m.taken > 0 && span(m.begun, m.last).Cmp(rat(int64(m.l.Per))) >= 0 {
		m.taken = 0
	}
}
func (m *slowFirstHit) base(now bucket.Instant) bucket.Instant { return max(now, m.last) }
func (m *slowFirstHit) admits(cost int64) bool                 { return cost == 0 || m.taken+cost <= m.l.Burst }
func (m *slowFirstHit) possible(cost int64) bool               { return cost <= m.l.Burst }
func (m *slowFirstHit) left() int64                            { return max(m.l.Burst-m.taken, 0) }
func (m *slowFirstHit) wait() time.Duration                    { return 0 }
func (m *slowFirstHit) idle() bool                             { return m.taken == 0 }
func (m *slowFirstHit) used() int64                            { return m.taken }
func (m *slowFirstHit) bottom() int64                          { return 2*m.l.Burst - m.taken }
func (m *slowFirstHit) refund(tokens int64)                    { m.taken = max(0, m.taken-tokens) }
func (m *slowFirstHit) copy() slow                             { c := *m; return &c }
func (m *slowFirstHit) take(cost int64) {
	if m.taken == 0 {
		m.begun = m.last
	}
	m.taken += cost
}
func (m *slowFirstHit) adopt(now bucket.Instant, l bucket.Limit) slow {
	if l.Per != m.l.Per {
		return nil
	}
	m.at(now)
	m.l = l
	return m
}

// slowWindow is a window of the clock or the calendar.
type slowWindow struct {
	l     bucket.Limit
	wall  int64
	last  bucket.Instant
	index int64
	taken int64
}

// window is the index of the window of an instant, and that of the next.
func (m *slowWindow) window(now bucket.Instant) (index, next int64) {
	unix := int64(now) + m.wall
	if m.l.Algorithm == bucket.CalendarWindow {
		zone, err := time.LoadLocation(m.l.Zone)
		if err != nil {
			panic(err)
		}
		w := m.l.Calendar.Window(unix, zone)
		return w.Index, m.l.Calendar.Window(w.End, zone).Index
	}
	i := floor(new(big.Rat).Quo(rat(unix), rat(int64(m.l.Per)))).Int64()
	return i, i + 1
}

func (m *slowWindow) at(now bucket.Instant) {
	m.last = max(m.last, now)
	switch index, next := m.window(m.last); {
	case index > m.index:
		m.index, m.taken = index, 0
	case m.index > next: // it was wrong
		m.index = index
	}
}
func (m *slowWindow) base(now bucket.Instant) bucket.Instant { return max(now, m.last) }
func (m *slowWindow) admits(cost int64) bool                 { return cost == 0 || m.taken+cost <= m.l.Burst }
func (m *slowWindow) possible(cost int64) bool               { return cost <= m.l.Burst }
func (m *slowWindow) left() int64                            { return max(m.l.Burst-m.taken, 0) }
func (m *slowWindow) wait() time.Duration                    { return 0 }
func (m *slowWindow) refund(tokens int64)                    { m.taken = max(0, m.taken-tokens) }
func (m *slowWindow) take(cost int64)                        { m.taken += cost }
func (m *slowWindow) idle() bool                             { return m.taken == 0 }
func (m *slowWindow) used() int64                            { return m.taken }
func (m *slowWindow) bottom() int64                          { return 2*m.l.Burst - m.taken }
func (m *slowWindow) copy() slow                             { c := *m; return &c }
func (m *slowWindow) adopt(now bucket.Instant, l bucket.Limit) slow {
	if l.Per != m.l.Per || l.Calendar != m.l.Calendar || l.Zone != m.l.Zone {
		return nil
	}
	m.at(now)
	m.l = l
	return m
}
