package bucket_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/drossel-dev/drossel/bucket"
)

var zoneNames = []string{"", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Asia/Shanghai"}

// limitOf draws a limit of an algorithm.
func limitOf(t *rapid.T, a bucket.Algorithm) bucket.Limit {
	l := bucket.Limit{Algorithm: a}
	few := rapid.OneOf(rapid.Int64Range(0, 5), rapid.Int64Range(0, 100))
	switch a {
	case bucket.TokenBucket:
		return limits.Draw(t, "limit")
	case bucket.Pacer:
		l.Count, l.Per = tokens(0).Draw(t, "count"), period.Draw(t, "per")
		l.Burst = rapid.OneOf(few, tokens(0)).Draw(t, "queue")
		l.MaxWait = rapid.OneOf(rapid.Just(time.Duration(0)), period, rapid.Custom(func(t *rapid.T) time.Duration {
			return min(l.Per, math.MaxInt64/8) * time.Duration(rapid.IntRange(0, 7).Draw(t, "periods"))
		})).Draw(t, "wait")
	case bucket.SlidingWindow:
		l.Per = period.Draw(t, "per")
		l.Burst = rapid.OneOf(few, tokens(0)).Draw(t, "burst")
		l.Count = l.Burst
	case bucket.CalendarWindow:
		l.Calendar = bucket.Calendar(rapid.IntRange(int(bucket.Minute), int(bucket.Year)).Draw(t, "calendar"))
		l.Zone = rapid.SampledFrom(zoneNames).Draw(t, "zone")
		l.Burst = rapid.OneOf(few, tokens(0)).Draw(t, "burst")
		l.Count = rapid.Int64Range(0, l.Burst).Draw(t, "quota")
	default:
		l.Per = period.Draw(t, "per")
		l.Burst = rapid.OneOf(few, tokens(0)).Draw(t, "burst")
		l.Count = l.Burst
	}
	if err := l.Validate(); err != nil {
		t.Fatal(err)
	}
	return l
}

func anyAlgorithm(t *rapid.T) bucket.Algorithm {
	return bucket.Algorithm(rapid.IntRange(int(bucket.TokenBucket), int(bucket.CalendarWindow)).Draw(t, "algorithm"))
}

// far keeps instants away from the ends of the clock, where nothing can be waited for.
const far = math.MaxInt64 / 4

// next draws the instant of the next call: near, or about when something ends.
func next(t *rapid.T, now bucket.Instant, l bucket.Limit, d bucket.Decision) bucket.Instant {
	by := rapid.OneOf(
		rapid.Just(int64(0)),
		rapid.Int64Range(-2_000_000_000, 2_000_000_000),
		rapid.Int64Range(0, int64(max(l.Window(), 1))),
		rapid.SampledFrom([]int64{int64(d.RetryAfter), int64(d.ResetAfter), int64(d.RetryAfter) - 1, int64(d.ResetAfter) - 1}),
		rapid.Int64Range(-far, far),
	).Draw(t, "by")
	to := now + bucket.Instant(by)
	if (by > 0) != (to > now) || to > far || to < -far {
		return now
	}
	return to
}

// checks compares the decision of one limit, before or after a take, with the slow one.
func checks(t *rapid.T, l bucket.Limit, m slow, now bucket.Instant, cost int64, d bucket.Decision) {
	if got, want := d.Remaining, m.left(); got != want {
		t.Fatalf("%d left, want %d", got, want)
	}
	then := func(by time.Duration) slow {
		c, base := m.copy(), m.base(now)
		if by >= math.MaxInt64-1 || base > math.MaxInt64-bucket.Instant(by) {
			return nil // past the end of the clock, or of all durations
		}
		c.at(base + bucket.Instant(by))
		return c
	}
	if d.ResetAfter < 0 || d.ResetAfter == 0 && !m.idle() {
		t.Fatalf("as new in %v, want more", d.ResetAfter)
	}
	if c := then(d.ResetAfter); c != nil && !c.idle() {
		t.Fatalf("as new in %v, which is not enough", d.ResetAfter)
	}
	if c := then(d.ResetAfter - 1); d.ResetAfter > 0 && c != nil && c.idle() {
		t.Fatalf("as new in %v, but it is before", d.ResetAfter)
	}
	if d.Allowed {
		return
	}
	if d.Never() != !m.possible(cost) {
		t.Fatalf("never: %v, possible: %v", d.Never(), m.possible(cost))
	}
	if d.Never() {
		return
	}
	if c := then(d.RetryAfter); c != nil && !c.admits(cost) {
		t.Fatalf("retry in %v, which is not enough", d.RetryAfter)
	}
	if c := then(d.RetryAfter - 1); c != nil && c.admits(cost) {
		t.Fatalf("retry in %v, but it is admitted before", d.RetryAfter)
	}
}

// TestAlgorithms plays random calls to limits of every algorithm, one at a time, and to their slow models.
func TestAlgorithms(t *testing.T) {
	for a := bucket.TokenBucket; a <= bucket.CalendarWindow; a++ {
		t.Run(a.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { playAlgorithm(t, a) })
		})
	}
}

func playAlgorithm(t *rapid.T, a bucket.Algorithm) {
	l := limitOf(t, a)
	now := bucket.Instant(rapid.Int64Range(-far, far).Draw(t, "start"))
	g := bucket.Group{Limits: []bucket.Limit{l}, States: make([]bucket.State, 1), Log: new(bucket.Log)}
	if rapid.Bool().Draw(t, "wall") {
		g.Wall = rapid.Int64Range(-far, far).Draw(t, "wall")
	}
	g.Start(now)
	m := newSlow(l, now, g.Wall)
	var d bucket.Decision
	for range rapid.IntRange(1, 40).Draw(t, "calls") {
		now = next(t, now, l, d)
		if w, ok := m.(*slowWindow); ok && rapid.IntRange(0, 9).Draw(t, "set the clock") == 0 {
			by := rapid.OneOf(rapid.Int64Range(-2*min(int64(l.Window()), far), 2*min(int64(l.Window()), far)), rapid.Int64Range(-far, far)).Draw(t, "by")
			g.Wall = min(max(g.Wall+by, -far), far)
			w.wall = g.Wall
		}
		cost := rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(0, l.Burst+1),
			rapid.SampledFrom([]int64{d.Remaining, min(d.Remaining+1, bucket.MaxTokens)})).Draw(t, "cost")
		cost = min(cost, bucket.MaxTokens)
		take := rapid.IntRange(0, 3).Draw(t, "look") > 0
		m := m // as this call sees it
		if !take {
			m = m.copy() // which leaves no trace, not even of the time
		}
		if take {
			d, _ = g.Take(now, cost)
		} else {
			before, entries := g.States[0], g.Log.Used()
			if d, _ = g.Look(now, cost); g.States[0] != before || g.Log.Used() != entries {
				t.Fatalf("Look made %+v of %+v", g.States[0], before)
			}
		}
		m.at(now)
		if d.Allowed != m.admits(cost) {
			t.Fatalf("%d at %d: allowed %v, want %v", cost, now, d.Allowed, m.admits(cost))
		}
		if d.Allowed {
			want := m.wait()
			if cost == 0 {
				want = 0
			}
			if d.RetryAfter != want {
				t.Fatalf("go in %v, want %v", d.RetryAfter, want)
			}
			if take {
				m.take(cost)
			}
		}
		checks(t, l, m, now, cost, d)
		if take {
			if got, want := g.IsNew(now), m.idle() && m.base(now) == now; l.Count > 0 && got != want {
				t.Fatalf("as new: %v, want %v", got, want)
			}
		}
	}
}

// TestGroups plays random calls to several limits at once: all or none are taken from, and the right one speaks.
func TestGroups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := bucket.Instant(rapid.Int64Range(-far, far).Draw(t, "start"))
		g := bucket.Group{Wall: rapid.Int64Range(-far, far).Draw(t, "wall"), Log: new(bucket.Log)}
		var models []slow
		for range rapid.IntRange(1, 4).Draw(t, "limits") {
			l := limitOf(t, anyAlgorithm(t))
			g.Limits = append(g.Limits, l)
			models = append(models, newSlow(l, now, g.Wall))
		}
		g.States = make([]bucket.State, len(g.Limits))
		g.Start(now)
		var d bucket.Decision
		for range rapid.IntRange(1, 30).Draw(t, "calls") {
			spoken := rapid.IntRange(0, len(models)-1).Draw(t, "limit")
			now = next(t, now, g.Limits[spoken], d)
			cost, costs := int64(0), []int64(nil)
			draw := func(burst int64) int64 {
				return min(bucket.MaxTokens, rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(0, burst+1)).Draw(t, "cost"))
			}
			if rapid.Bool().Draw(t, "each") {
				for _, l := range g.Limits {
					costs = append(costs, draw(l.Burst))
				}
			} else {
				cost = draw(g.Limits[spoken].Burst)
			}
			costOf := func(i int) int64 {
				if costs != nil {
					return costs[i]
				}
				return cost
			}
			switch rapid.IntRange(0, 8).Draw(t, "call") {
			case 0:
				limits := make([]bucket.Limit, len(models))
				for i := range limits {
					limits[i] = g.Limits[i]
					switch rapid.IntRange(0, 2).Draw(t, "change") {
					case 0:
						limits[i] = limitOf(t, anyAlgorithm(t))
					case 1:
						limits[i] = limitOf(t, limits[i].Algorithm)
					}
					models[i] = adoptSlow(models[i], g.Limits[i], limits[i], now, g.Wall)
				}
				g.Adopt(limits, now)
			case 1:
				g.Debit(now, cost, costs)
				for i, m := range models {
					m.at(now)
					m.take(max(0, min(costOf(i), m.bottom())))
				}
			case 2:
				i := rapid.IntRange(0, len(models)-1).Draw(t, "exhaust")
				for _, m := range models {
					m.at(now)
				}
				models[i].take(models[i].left())
				if m, ok := models[i].(*slowBucket); ok && m.level.Cmp(rat(1)) < 0 && m.level.Sign() > 0 {
					m.level.SetInt64(0)
				}
				g.Refill(now, 0)
				g.Exhaust(i, now)
			case 4:
				g.Refund(now, 0, cost, costs)
				for i, m := range models {
					m.at(now)
					m.refund(costOf(i))
				}
			case 3:
				seen := make([]slow, len(models))
				for i, m := range models {
					seen[i] = m.copy()
					seen[i].at(now)
				}
				var which int
				d, which = g.LookEach(now, cost, costs)
				speaks(t, g.Limits, seen, now, costOf, d, which, false)
			default:
				admitted := true
				for i, m := range models {
					m.at(now)
					admitted = admitted && m.admits(costOf(i))
				}
				waits := time.Duration(0)
				for i, m := range models {
					if admitted {
						if costOf(i) > 0 {
							waits = max(waits, m.wait())
						}
						m.take(costOf(i))
					}
				}
				var which int
				d, which = g.TakeEach(now, cost, costs)
				if d.Allowed != admitted || admitted && d.RetryAfter != waits {
					t.Fatalf("%+v, want allowed %v and to wait for %v", d, admitted, waits)
				}
				speaks(t, g.Limits, models, now, costOf, d, which, true)
			}
			for i, m := range models {
				c := m.copy()
				c.at(now)
				alone := bucket.Group{g.Limits[i : i+1], g.States[i : i+1], g.Wall, g.Log}
				if got, _ := alone.Look(now, 0); got.Remaining != c.left() {
					t.Fatalf("limit %d has %d, want %d", i, got.Remaining, c.left())
				}
			}
		}
		g.Drop()
		if g.Log.Used() != 0 {
			t.Fatalf("%d entries belong to nobody", g.Log.Used())
		}
	})
}

func adoptSlow(m slow, old, l bucket.Limit, now bucket.Instant, wall int64) slow {
	logged := func(l bucket.Limit) bool { return l.Algorithm == bucket.SlidingWindow && l.Burst <= bucket.MaxLogged }
	m.at(now)
	if old.Algorithm == l.Algorithm && logged(old) == logged(l) {
		if same := m.adopt(now, l); same != nil {
			return same
		}
	}
	next := newSlow(l, now, wall)
	next.take(max(0, min(m.used(), l.Capacity())))
	return next
}

// speaks checks that the answer of a group is that of the limit which it should be.
func speaks(t *rapid.T, limits []bucket.Limit, models []slow, now bucket.Instant, costOf func(int) int64, d bucket.Decision, which int, took bool) {
	if m := models[which]; !d.Allowed || !took {
		if d.Allowed != m.admits(costOf(which)) {
			t.Fatalf("limit %d says %+v", which, d)
		}
	}
	over := func(i int) bool {
		used := limits[i].Burst - models[i].left()
		if !took {
			used += costOf(i)
		}
		return limits[i].Algorithm == bucket.CalendarWindow && used > limits[i].Count
	}
	checks(t, limits[which], models[which], now, costOf(which), d)
	for i, m := range models {
		switch {
		case d.Allowed && (costOf(which) > 0) != (costOf(i) > 0):
			if costOf(which) == 0 {
				t.Fatalf("limit %d speaks, which is asked for nothing", which)
			}
		case d.Allowed && over(which) != over(i):
			if over(i) {
				t.Fatalf("limit %d speaks, but for limit %d it is overage", which, i)
			}
		case d.Allowed:
			mine, his := rat(models[which].left()), rat(m.left())
			if costOf(i) > 0 {
				mine.Quo(mine, rat(costOf(which)))
				his.Quo(his, rat(costOf(i)))
			}
			if his.Cmp(mine) < 0 {
				t.Fatalf("limit %d speaks with %v more like it, limit %d has %v", which, mine, i, his)
			}
		case d.Never() || m.admits(costOf(i)):
		case !m.possible(costOf(i)):
			t.Fatalf("limit %d says when, limit %d never", which, i)
		case d.RetryAfter < far: // later, wall clocks end
			c := m.copy()
			if c.at(m.base(now) + bucket.Instant(d.RetryAfter)); !c.admits(costOf(i)) {
				t.Fatalf("limit %d says in %v, but limit %d denies then", which, d.RetryAfter, i)
			}
		}
	}
}
