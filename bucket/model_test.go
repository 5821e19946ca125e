package bucket_test

import (
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/drossel-dev/drossel/bucket"
)

// model is the slow and obvious bucket: a level as an exact fraction, and the latest instant seen.
type model struct {
	limit bucket.Limit
	level *big.Rat
	last  bucket.Instant
}

func rat(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

func newModel(l bucket.Limit, now bucket.Instant) *model {
	return &model{limit: l, level: rat(l.Burst), last: now}
}

// rate is tokens per nanosecond.
func (m *model) rate() *big.Rat {
	if m.limit.Count == 0 {
		return new(big.Rat)
	}
	return big.NewRat(m.limit.Count, int64(m.limit.Per))
}

// span is to - from, which need not fit into an int64.
func span(from, to bucket.Instant) *big.Rat {
	return new(big.Rat).Sub(rat(int64(to)), rat(int64(from)))
}

func (m *model) at(now bucket.Instant) {
	if now <= m.last {
		return
	}
	m.level.Add(m.level, new(big.Rat).Mul(m.rate(), span(m.last, now)))
	if burst := rat(m.limit.Burst); m.level.Cmp(burst) > 0 {
		m.level = burst
	}
	m.last = now
}

func (m *model) adopt(l bucket.Limit, now bucket.Instant) {
	m.at(now)
	if l.Per != m.limit.Per { // what is left of a token is counted in Per-ths of it, rounded down
		per := rat(max(int64(l.Per), 1))
		ticks := floor(new(big.Rat).Mul(m.level, per))
		m.level = new(big.Rat).Quo(new(big.Rat).SetInt(ticks), per)
	}
	m.limit = l
	if burst := rat(l.Burst); m.level.Cmp(burst) > 0 {
		m.level = burst
	}
}

// wait is the whole nanoseconds until the level is target, rounded up and cut to the longest Duration.
func (m *model) wait(target int64) time.Duration {
	missing := new(big.Rat).Sub(rat(target), m.level)
	if missing.Sign() <= 0 || m.limit.Count == 0 {
		return 0
	}
	ns := missing.Quo(missing, m.rate())
	up := floor(ns.Neg(ns))
	up.Neg(up)
	if !up.IsInt64() {
		return math.MaxInt64
	}
	return time.Duration(up.Int64())
}

// ask is Take if take, else Look.
func (m *model) ask(now bucket.Instant, cost int64, take bool) bucket.Decision {
	if !take {
		m = m.copy()
	}
	m.at(now)
	var d bucket.Decision
	switch {
	case m.level.Cmp(rat(cost)) >= 0:
		d.Allowed = true
		if take {
			m.level.Sub(m.level, rat(cost))
		}
	case cost <= m.limit.Burst && m.limit.Count != 0:
		d.RetryAfter = m.wait(cost)
	}
	d.Remaining = floor(m.level).Int64()
	d.ResetAfter = m.wait(m.limit.Burst)
	return d
}

func (m *model) isFull(now bucket.Instant) bool {
	m = m.copy()
	m.at(now)
	return m.level.Cmp(rat(m.limit.Burst)) == 0 && m.last <= now
}

func (m *model) copy() *model { return &model{m.limit, new(big.Rat).Set(m.level), m.last} }

func floor(r *big.Rat) *big.Int {
	// Div rounds down where the divisor is positive, as every denominator is.
	return new(big.Int).Div(r.Num(), r.Denom())
}

// levelOf is what a State says it holds.
func levelOf(s bucket.State, l bucket.Limit) *big.Rat {
	level := rat(s.Tokens)
	if s.Frac != 0 {
		level.Add(level, new(big.Rat).SetFrac(new(big.Int).SetUint64(s.Frac), big.NewInt(int64(l.Per))))
	}
	return level
}

const year = 365 * 24 * time.Hour

// tokens draws a number of tokens, of every order of magnitude.
func tokens(least int64) *rapid.Generator[int64] {
	return rapid.OneOf(rapid.Int64Range(least, 5), rapid.Int64Range(least, 1000),
		rapid.Int64Range(least, bucket.MaxTokens),
		rapid.Int64Range(bucket.MaxTokens-5, bucket.MaxTokens))
}

// period draws a period of every order of magnitude: round ones, odd ones, the longest.
var period = rapid.OneOf(
	rapid.SampledFrom([]time.Duration{1, time.Millisecond, time.Second, time.Minute, time.Hour, year, math.MaxInt64}),
	rapid.Custom(func(t *rapid.T) time.Duration { return time.Duration(rapid.Int64Range(1, 1e6).Draw(t, "short")) }),
	rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(rapid.Int64Range(1, math.MaxInt64).Draw(t, "any"))
	}),
)

var limits = rapid.Custom(func(t *rapid.T) bucket.Limit {
	l := rapid.OneOf(
		rapid.SampledFrom([]bucket.Limit{
			{Count: 1, Per: year, Burst: 1},
			{Count: 1_000_000_001, Per: time.Second, Burst: 1_000_000_001},
			{Count: bucket.MaxTokens, Per: 1, Burst: bucket.MaxTokens},
			{Count: bucket.MaxTokens, Per: math.MaxInt64, Burst: bucket.MaxTokens},
			{Count: 1, Per: math.MaxInt64, Burst: bucket.MaxTokens},
			{Burst: 10},
			{Per: time.Second, Burst: 10},
			{},
		}),
		rapid.Custom(func(t *rapid.T) bucket.Limit {
			return bucket.Limit{
				Count: tokens(0).Draw(t, "count"),
				Per:   period.Draw(t, "per"),
				Burst: tokens(0).Draw(t, "burst"),
			}
		}),
	).Draw(t, "limit")
	if err := l.Validate(); err != nil {
		t.Fatal(err)
	}
	return l
})

// instant draws an instant: near the one before, a step back from it, or anywhere in the range.
func instant(t *rapid.T, before bucket.Instant, l bucket.Limit) bucket.Instant {
	move := func(by int64) bucket.Instant {
		to := before + bucket.Instant(by)
		if (by > 0) != (to > before) { // past the end of the range
			return before
		}
		return to
	}
	switch rapid.IntRange(0, 5).Draw(t, "move") {
	case 0:
		return before
	case 1:
		return move(rapid.Int64Range(-2_000_000_000, -1).Draw(t, "back"))
	case 2:
		return bucket.Instant(rapid.Int64().Draw(t, "jump"))
	case 3: // about as long as a token takes
		return move(rapid.Int64Range(0, 2*int64(min(l.Per/time.Duration(max(l.Count, 1)), math.MaxInt64/2))).Draw(t, "token"))
	case 4:
		return move(rapid.Int64Range(0, math.MaxInt64).Draw(t, "far"))
	default:
		return move(rapid.Int64Range(0, 2_000_000_000).Draw(t, "on"))
	}
}

// costOf draws a cost, often near what the bucket holds.
func costOf(t *rapid.T, s bucket.State, l bucket.Limit) int64 {
	if rapid.Bool().Draw(t, "near") {
		near := rapid.SampledFrom([]int64{s.Tokens, l.Burst}).Draw(t, "level")
		return min(max(near+rapid.Int64Range(-2, 2).Draw(t, "off"), 0), bucket.MaxTokens)
	}
	return tokens(0).Draw(t, "cost")
}

// TestModel drives the bucket and the model through the same calls, and wants the same answers and levels.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := limits.Draw(t, "limit")
		now := bucket.Instant(rapid.Int64().Draw(t, "start"))
		s, m := bucket.Full(&l, now), newModel(l, now)
		for range rapid.IntRange(1, 30).Draw(t, "calls") {
			now = instant(t, now, l)
			switch call := rapid.IntRange(0, 9).Draw(t, "call"); call {
			case 0:
				next := limits.Draw(t, "next limit")
				s.Adopt(&l, &next, now)
				m.adopt(next, now)
				l = next
			case 1, 2:
				before, cost := s, costOf(t, s, l)
				if got, want := s.Look(&l, now, cost), m.ask(now, cost, false); got != want {
					t.Fatalf("Look(%d): %+v, want %+v", cost, got, want)
				}
				if s != before {
					t.Fatalf("Look changed %+v to %+v", before, s)
				}
			default:
				cost := costOf(t, s, l)
				if got, want := s.Take(&l, now, cost), m.ask(now, cost, true); got != want {
					t.Fatalf("Take(%d): %+v, want %+v", cost, got, want)
				}
			}
			if s.Last != m.last || levelOf(s, l).Cmp(m.level) != 0 {
				t.Fatalf("level %v at %d, want %v at %d", levelOf(s, l), s.Last, m.level, m.last)
			}
			if m.level.Cmp(rat(l.Burst)) > 0 || s.Tokens < 0 || s.Frac != 0 && s.Frac >= uint64(l.Per) {
				t.Fatalf("%+v is no state of %+v", s, l)
			}
			if got, want := s.IsFull(&l, now), m.isFull(now); got != want {
				t.Fatalf("IsFull %v, want %v", got, want)
			}
		}
	})
}

// TestRetryAfterIsExact: waiting as long as was said succeeds, one nanosecond less does not.
func TestRetryAfterIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := limits.Filter(func(l bucket.Limit) bool { return l.Burst > 0 && l.Count > 0 }).Draw(t, "limit")
		now := bucket.Instant(rapid.Int64Range(math.MinInt64, 0).Draw(t, "start"))
		s := bucket.Full(&l, now)
		s.Take(&l, now, l.Burst)
		s.Take(&l, now, rapid.Int64Range(0, l.Burst).Draw(t, "more"))
		now += bucket.Instant(rapid.Int64Range(0, int64(l.Per-1)).Draw(t, "later"))
		cost := rapid.Int64Range(1, l.Burst).Draw(t, "cost")
		d := s.Take(&l, now, cost)
		if d.Allowed || d.RetryAfter == math.MaxInt64 {
			return
		}
		if d.Never() || d.RetryAfter <= 0 {
			t.Fatalf("%+v, want a wait", d)
		}
		if now > math.MaxInt64-bucket.Instant(d.RetryAfter) {
			return // beyond the end of the clock
		}
		then := now + bucket.Instant(d.RetryAfter)
		early, early2 := s, s
		if early.Take(&l, then-1, cost).Allowed {
			t.Fatalf("%v was said, and 1 ns less was enough", d.RetryAfter)
		}
		if !early2.Take(&l, then, cost).Allowed {
			t.Fatalf("%v was said, and was not enough", d.RetryAfter)
		}
		if !early.Take(&l, then, cost).Allowed {
			t.Fatalf("%v was said, and was not enough after having tried before", d.RetryAfter)
		}
	})
}

// TestResetAfterIsExact: the bucket is full as soon as was said, and not one nanosecond before.
func TestResetAfterIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := limits.Filter(func(l bucket.Limit) bool { return l.Burst > 0 && l.Count > 0 }).Draw(t, "limit")
		now := bucket.Instant(rapid.Int64Range(math.MinInt64, 0).Draw(t, "start"))
		s := bucket.Full(&l, now)
		d := s.Take(&l, now, rapid.Int64Range(1, l.Burst).Draw(t, "cost"))
		if d.ResetAfter == math.MaxInt64 || now > math.MaxInt64-bucket.Instant(d.ResetAfter) {
			return
		}
		then := now + bucket.Instant(d.ResetAfter)
		if s.IsFull(&l, then-1) || !s.IsFull(&l, then) {
			t.Fatalf("%v was said: full 1 ns before %v, full then %v", d.ResetAfter, s.IsFull(&l, then-1), s.IsFull(&l, then))
		}
		if d.ResetAfter > l.Window() {
			t.Fatalf("%v to be full, above the window %v", d.ResetAfter, l.Window())
		}
	})
}

// TestDenialChangesNothing: a take that is denied leaves the level that it found.
func TestDenialChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := limits.Draw(t, "limit")
		now := bucket.Instant(rapid.Int64().Draw(t, "start"))
		tried, left := bucket.Full(&l, now), bucket.Full(&l, now)
		for range rapid.IntRange(1, 20).Draw(t, "calls") {
			now = instant(t, now, l)
			cost := costOf(t, tried, l)
			if d := tried.Look(&l, now, cost); d.Allowed {
				if d.Never() || d.RetryAfter != 0 {
					t.Fatalf("allowed, and yet %+v", d)
				}
				tried.Take(&l, now, cost)
				left.Take(&l, now, cost)
				continue
			}
			if d := tried.Take(&l, now, cost); d.Allowed {
				t.Fatalf("Look said no, Take said %+v", d)
			}
			left.Refill(&l, now)
			if tried != left {
				t.Fatalf("denied: %+v, want %+v", tried, left)
			}
		}
	})
}

// TestAdmittedOverEveryWindow: between any two instants no more is admitted than burst + rate * time, exactly.
func TestAdmittedOverEveryWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := limits.Draw(t, "limit")
		now := bucket.Instant(rapid.Int64().Draw(t, "start"))
		s := bucket.Full(&l, now)
		type admission struct {
			at   bucket.Instant
			cost int64
		}
		var all []admission
		for range rapid.IntRange(1, 30).Draw(t, "calls") {
			now = instant(t, now, l)
			if cost := costOf(t, s, l); s.Take(&l, now, cost).Allowed {
				all = append(all, admission{s.Last, cost}) // where the clock stepped back, the latest instant counts
			}
		}
		rate := newModel(l, 0).rate()
		for i := range all {
			sum := new(big.Rat)
			for _, a := range all[i:] {
				sum.Add(sum, rat(a.cost))
				most := new(big.Rat).Mul(rate, span(all[i].at, a.at))
				if most.Add(most, rat(l.Burst)); sum.Cmp(most) > 0 {
					t.Fatalf("%v admitted from %d to %d, want at most %v", sum, all[i].at, a.at, most)
				}
			}
		}
	})
}

// TestReduced: the smallest numbers of a rate decide as the larger ones do.
func TestReduced(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := limits.Draw(t, "limit")
		r := l.Reduced()
		if err := r.Validate(); err != nil {
			t.Fatal(err)
		}
		if r.Reduced() != r || newModel(r, 0).rate().Cmp(newModel(l, 0).rate()) != 0 || r.Window() != l.Window() {
			t.Fatalf("%+v is reduced to %+v", l, r)
		}
		now := bucket.Instant(rapid.Int64().Draw(t, "start"))
		a, b := bucket.Full(&l, now), bucket.Full(&r, now)
		for range 10 {
			now = instant(t, now, l)
			cost := costOf(t, a, l)
			if da, db := a.Take(&l, now, cost), b.Take(&r, now, cost); da != db {
				t.Fatalf("%+v says %+v, %+v says %+v", l, da, r, db)
			}
		}
	})
}

// TestRefillBesideWhatIsOut: what is out makes a bucket smaller, and no slower.
func TestRefillBesideWhatIsOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := limits.Draw(t, "limit")
		g := bucket.Group{Limits: []bucket.Limit{l}, States: []bucket.State{bucket.Full(&l, 0)}}
		g.Take(0, costOf(t, g.States[0], l))
		smaller, now := l, instant(t, 0, l)
		smaller.Burst = rapid.Int64Range(0, l.Burst).Draw(t, "capacity")
		want := g.States[0]
		want.Refill(&smaller, now)
		if g.Refill(now, l.Burst-smaller.Burst); g.States[0] != want {
			t.Fatalf("%+v, want %+v", g.States[0], want)
		}
	})
}
