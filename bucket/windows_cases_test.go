package bucket_test

import (
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

func fixed(n int64, per time.Duration) bucket.Limit {
	return bucket.Limit{Algorithm: bucket.FixedWindow, Count: n, Per: per, Burst: n}
}

func firstHit(n int64, per time.Duration) bucket.Limit {
	return bucket.Limit{Algorithm: bucket.FirstHitWindow, Count: n, Per: per, Burst: n}
}

func sliding(n int64, per time.Duration) bucket.Limit {
	return bucket.Limit{Algorithm: bucket.SlidingWindow, Count: n, Per: per, Burst: n}
}

func pacer(n int64, queue int64, wait time.Duration) bucket.Limit {
	return bucket.Limit{Algorithm: bucket.Pacer, Count: n, Per: time.Second, Burst: queue, MaxWait: wait}
}

func quota(n int64, period bucket.Calendar, zone string) bucket.Limit {
	return bucket.Limit{Algorithm: bucket.CalendarWindow, Count: n, Burst: n, Calendar: period, Zone: zone}
}

// goIn is an admission by a pacer that says when to go.
func goIn(wait time.Duration, remaining int64, reset time.Duration) bucket.Decision {
	return bucket.Decision{Allowed: true, Remaining: remaining, RetryAfter: wait, ResetAfter: reset}
}

// play makes the calls of all steps on one group that is new at the start, and compares every answer in full. The wall clock
// shows unix at the start.
func play(t *testing.T, unix int64, limits []bucket.Limit, steps ...step) *bucket.Group {
	t.Helper()
	g := &bucket.Group{Limits: limits, States: make([]bucket.State, len(limits)), Wall: unix - int64(start), Log: new(bucket.Log)}
	for _, l := range limits {
		if err := l.Validate(); err != nil {
			t.Fatal(err)
		}
	}
	g.Start(start)
	playOn(t, g, steps...)
	return g
}

func playOn(t *testing.T, g *bucket.Group, steps ...step) {
	t.Helper()
	for i, step := range steps {
		now := start + bucket.Instant(step.at)
		for range max(step.n, 1) {
			got := bucket.Decision{}
			if step.look {
				got, _ = g.Look(now, step.cost)
			} else {
				got, _ = g.Take(now, step.cost)
			}
			if got != step.want {
				t.Fatalf("step %d, cost %d at %v: got %+v, want %+v", i+1, step.cost, step.at, got, step.want)
			}
		}
	}
}

// TestWindowCases holds what users of rate limiters have met with windows, pacers and quotas, each under its number in our list.
func TestWindowCases(t *testing.T) {
	const day = 24 * time.Hour
	date := func(zone string, y int, m time.Month, d, hour, minute, second int) int64 {
		z, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		return time.Date(y, m, d, hour, minute, second, 0, z).UnixNano()
	}
	const newYork = "America/New_York"
	for _, c := range []struct {
		name  string
		unix  int64 // at the start
		limit bucket.Limit
		steps []step
	}{
		{"C16 cost above the limit", 0, sliding(10, 60*sec), []step{
			take(0, 11, never(10, 0)),
			take(0, 10, yes(0, 60*sec)),
		}},
		{"C22 weighted costs", 0, sliding(10, 60*sec), []step{
			take(0, 5, yes(5, 60*sec)),
			take(0, 5, yes(0, 60*sec)),
			take(0, 5, no(0, 60*sec, 60*sec)),
		}},
		{"C25 a step back is waited for no longer than a window", 1000 * int64(sec), fixed(5, 60*sec), []step{
			take(20*sec, 5, yes(0, 60*sec)), // the window from 1020 on
			take(-320*sec, 1, no(0, 60*sec, 60*sec)),
		}},
		{"C28 time asleep counts", 0, firstHit(5, time.Hour), []step{
			take(0, 5, yes(0, time.Hour)),
			take(36_000*sec, 1, yes(4, time.Hour)),
		}},
		{"C31 a window ends within a second", 0, firstHit(1, 2*sec), []step{
			take(900*ms, 1, yes(0, 2*sec)),
			take(2800*ms, 1, no(0, 100*ms, 100*ms)),
			take(2900*ms, 1, yes(0, 2*sec)),
		}},
		{"C38 pacing above a thousand a second", 0, pacer(3000, 0, 0), []step{
			take(0, 1, yes(0, 333_334)),
			take(0, 1, no(0, 333_334, 333_334)).times(9),
			take(333_333, 1, no(0, 1, 1)),
			take(333_334, 1, yes(0, 333_334)),
		}},
		{"C49 a limit of nothing", 0, pacer(0, 0, 0), []step{
			take(0, 1, never(0, 0)), take(0, 0, yes(0, 0)), take(sec, 1, never(0, 0)), take(sec, 0, yes(0, 0)),
		}},
		{"C55 retry is not always the whole window", 0, sliding(3, 60*sec), []step{
			take(0, 1, yes(2, 60*sec)), take(2*sec, 1, yes(1, 60*sec)), take(4*sec, 1, yes(0, 60*sec)),
			take(20*sec, 1, no(0, 40*sec, 44*sec)),
		}},
		{"C56 retry is no epoch time", 1_700_000_018 * int64(sec), fixed(1, 60*sec), []step{ // windows begin at 40 s
			take(0, 1, yes(0, 22*sec)),
			take(0, 1, no(0, 22*sec, 22*sec)),
		}},
		{"C59 reset of a window that is used up", 0, firstHit(2, 60*sec), []step{
			take(0, 1, yes(1, 60*sec)), take(sec, 1, yes(0, 59*sec)), take(10*sec, 1, no(0, 50*sec, 50*sec)),
		}},
		{"C65 remaining", 0, fixed(2, 60*sec), []step{
			take(0, 1, yes(1, 60*sec)), take(0, 1, yes(0, 60*sec)), take(0, 1, no(0, 60*sec, 60*sec)),
		}},
		{"C68 a fixed window at its edge", 0, fixed(5, 60*sec), []step{
			take(59_900*ms, 5, yes(0, 100*ms)), take(60*sec, 5, yes(0, 60*sec)), take(60*sec, 1, no(0, 60*sec, 60*sec)),
		}},
		{"C68 a sliding window at no edge", 0, sliding(5, 60*sec), []step{
			take(59_900*ms, 5, yes(0, 60*sec)), take(60*sec, 1, no(0, 59_900*ms, 59_900*ms)),
		}},
		{"C70 no idle credit in a sliding window", 0, sliding(10, sec), []step{
			take(0, 10, yes(0, sec)),
			take(100*ms, 1, no(0, 900*ms, 900*ms)), take(500*ms, 1, no(0, 500*ms, 500*ms)), take(900*ms, 1, no(0, 100*ms, 100*ms)),
		}},
		{"C71 retry of two counters", 0, sliding(60_000, 60*sec), []step{
			take(0, 60_000, yes(0, 120*sec)),
			take(72*sec, 12_000, yes(0, 108*sec)),
			take(72*sec, 1000, no(0, sec, 108*sec)),
			take(73*sec-1, 1000, no(999, 1, 107*sec+1)),
			take(73*sec, 1000, yes(0, 107*sec)),
		}},
		{"C73 retry is when the oldest ends", 0, sliding(2, 60*sec), []step{
			take(0, 1, yes(1, 60*sec)), take(10*sec, 1, yes(0, 60*sec)),
			take(20*sec, 1, no(0, 40*sec, 50*sec)), take(60*sec, 1, yes(0, 60*sec)),
		}},
		{"C74 what has ended is dropped before counting", 0, sliding(3, 10*sec), []step{
			take(0, 3, yes(0, 10*sec)), take(10*sec, 1, yes(2, 10*sec)),
		}},
		{"C79 remaining of two counters", 0, sliding(5000, sec), []step{
			take(0, 5000, yes(0, 2*sec)),
			look(1200*ms, 1, yes(1000, 800*ms)),
			take(1200*ms, 0, yes(1000, 800*ms)),
		}},
		{"C83 a month", date("UTC", 2026, 1, 31, 23, 59, 59), quota(9, bucket.Month, ""), []step{
			take(0, 1, yes(8, sec)), take(sec, 1, yes(8, 28*day)),
		}},
		{"C83 a February of 29 days", date("UTC", 2028, 2, 1, 0, 0, 0), quota(9, bucket.Month, ""), []step{
			take(0, 1, yes(8, 29*day)),
		}},
		{"C85 a day of 25 hours", date(newYork, 2026, 11, 1, 0, 30, 0), quota(9, bucket.Day, newYork), []step{
			take(0, 1, yes(8, 88_200*sec)),
		}},
		{"C85 a day of 23 hours", date(newYork, 2026, 3, 8, 0, 30, 0), quota(9, bucket.Day, newYork), []step{
			take(0, 1, yes(8, 81_000*sec)),
		}},
		{"C86 a day in its zone", date("Asia/Shanghai", 2026, 9, 9, 7, 47, 0), quota(9, bucket.Day, "Asia/Shanghai"), []step{
			take(0, 1, yes(8, 58_380*sec)),
		}},
		{"C88 a whole hour, whenever it was first used", date("UTC", 2026, 5, 1, 0, 20, 0), fixed(100, time.Hour), []step{
			take(5*time.Minute, 100, yes(0, 35*time.Minute)),
			take(39*time.Minute+59*sec, 1, no(0, sec, sec)),
			take(40*time.Minute, 1, yes(99, time.Hour)),
		}},
		{"C92 an hour is an hour", 0, firstHit(5, time.Hour), []step{
			take(0, 5, yes(0, time.Hour)), take(301*sec, 1, no(0, 3299*sec, 3299*sec)), take(time.Hour, 1, yes(4, time.Hour)),
		}},
		{"C119 the first counts once", 0, fixed(5, 60*sec), []step{take(0, 1, yes(4, 60*sec))}},
		{"C143 a limit of one admits one", 0, sliding(1, sec), []step{take(0, 1, yes(0, sec)), take(0, 1, no(0, sec, sec))}},
		{"C151 each that waits is told another time", 0, pacer(5, 10, sec), []step{
			take(0, 1, yes(5, 200*ms)),
			take(0, 1, goIn(200*ms, 4, 400*ms)), take(0, 1, goIn(400*ms, 3, 600*ms)),
			take(0, 1, goIn(600*ms, 2, 800*ms)), take(0, 1, goIn(800*ms, 1, sec)),
			take(0, 1, goIn(sec, 0, 1200*ms)), take(0, 1, no(0, 200*ms, 1200*ms)),
		}},
		{"a pacer's queue is full before its wait", 0, pacer(1, 2, time.Hour), []step{
			take(0, 1, yes(2, sec)), take(0, 1, goIn(sec, 1, 2*sec)), take(0, 1, goIn(2*sec, 0, 3*sec)),
			take(0, 1, no(0, sec, 3*sec)), take(sec, 1, goIn(2*sec, 0, 3*sec)),
		}},
		{"what is dear goes at once, and who comes next waits for it", 0, pacer(10, 100, 5*sec), []step{
			take(0, 40, yes(11, 4*sec)), take(0, 1, goIn(4*sec, 10, 4100*ms)),
		}},
	} {
		t.Run(c.name, func(t *testing.T) { play(t, c.unix, []bucket.Limit{c.limit}, c.steps...) })
	}
}

// TestDeniedAreNotCounted: who keeps trying is let in as often as who waits (C76, C77, C91).
func TestDeniedAreNotCounted(t *testing.T) {
	for _, c := range []struct {
		name         string
		limit        bucket.Limit
		every        time.Duration
		takes, admit int
	}{
		{"C76", sliding(1, 5*sec), sec, 21, 5},
		{"C77", sliding(2, 6*sec), 5 * sec, 13, 13},
		{"C91", fixed(10, 60*sec), sec, 180, 30},
		{"C91 from the first request", firstHit(10, 60*sec), sec, 180, 30},
		{"C146", firstHit(10, 60*sec), 5 * sec, 12, 10},
	} {
		g := play(t, 0, []bucket.Limit{c.limit})
		admitted := 0
		for i := range c.takes {
			if d, _ := g.Take(start+bucket.Instant(i)*bucket.Instant(c.every), 1); d.Allowed {
				admitted++
			}
		}
		if admitted != c.admit {
			t.Errorf("%s: %d admitted, want %d", c.name, admitted, c.admit)
		}
	}
}

// TestChangedWindows: what was taken stays taken when a limit is changed (C121, C124, C125).
func TestChangedWindows(t *testing.T) {
	for _, c := range []struct {
		name   string
		limits []bucket.Limit // one after the other
		steps  [][]step       // under each
	}{
		{"C121 a lower limit", []bucket.Limit{fixed(10, sec), fixed(5, sec)}, [][]step{
			{take(0, 3, yes(7, sec))},
			{take(0, 1, yes(1, sec)), take(0, 1, yes(0, sec)), take(0, 1, no(0, sec, sec))},
		}},
		{"C124 a shorter window", []bucket.Limit{fixed(10, time.Hour), fixed(10, time.Minute)}, [][]step{
			{take(0, 10, yes(0, time.Hour))},
			{take(0, 1, no(0, time.Minute, time.Minute)), take(time.Minute, 1, yes(9, time.Minute))},
		}},
		{"C125 lower, and higher again", []bucket.Limit{fixed(1000, sec), fixed(100, sec), fixed(500, sec)}, [][]step{
			{take(0, 400, yes(600, sec))},
			{take(0, 1, no(0, sec, sec))},
			{look(0, 1, yes(100, sec))},
		}},
		{"a sliding window that becomes too large for a log", []bucket.Limit{sliding(1000, sec), sliding(2000, sec)}, [][]step{
			{take(0, 900, yes(100, sec))},
			{look(0, 1, yes(1100, 2*sec)), take(0, 1100, yes(0, 2*sec))},
		}},
		{"another algorithm", []bucket.Limit{fixed(10, time.Hour), perSecond(1, 20)}, [][]step{
			{take(0, 8, yes(2, time.Hour))},
			{look(0, 1, yes(12, 8*sec))},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := play(t, 0, c.limits[:1], c.steps[0]...)
			for i := 1; i < len(c.limits); i++ {
				g.Adopt(c.limits[i:i+1], start)
				playOn(t, g, c.steps[i]...)
			}
		})
	}
}

// TestTiers: all limits of a group admit, or none is charged (C130).
func TestTiers(t *testing.T) {
	minute := func(n int64) bucket.Limit { return bucket.Limit{Count: n, Per: time.Minute, Burst: n} }
	g := play(t, 0, []bucket.Limit{minute(10), minute(2)})
	for i := range 5 {
		if d, which := g.Take(start, 1); d.Allowed != (i < 2) || which != 1 {
			t.Errorf("take %d: %+v by limit %d", i+1, d, which)
		}
	}
	for i, want := range []int64{8, 0} {
		if d, _ := (&bucket.Group{Limits: g.Limits[i : i+1], States: g.States[i : i+1]}).Look(start, 1); d.Remaining != want {
			t.Errorf("limit %d has %d left, want %d", i, d.Remaining, want)
		}
	}
	g = play(t, 0, []bucket.Limit{fixed(10, time.Minute), fixed(30, 30*time.Minute)})
	admitted := 0
	for i := range 31 {
		at := time.Duration(0)
		if i >= 16 {
			at = time.Minute
		}
		if d, _ := g.Take(start+bucket.Instant(at), 1); d.Allowed {
			admitted++
		}
	}
	if long := g.States[1].Tokens; admitted != 20 || long != 10 {
		t.Errorf("%d admitted and %d left, want 20 and 10", admitted, long)
	}
}

// TestTwoLimitsOfOneKey: each counts for itself (C104).
func TestTwoLimitsOfOneKey(t *testing.T) {
	g := play(t, 0, []bucket.Limit{fixed(3, time.Minute), fixed(30, 24*time.Hour)})
	admitted := 0
	for range 4 {
		if d, _ := g.Take(start, 1); d.Allowed {
			admitted++
		}
	}
	if day := g.States[1].Tokens; admitted != 3 || day != 27 {
		t.Errorf("%d admitted, %d left of the day, want 3 and 27", admitted, day)
	}
}

// TestSlidingBesideBucket: a sliding window in one group with a token bucket that limits bursts.
func TestSlidingBesideBucket(t *testing.T) {
	g := play(t, 0, []bucket.Limit{sliding(5, 60*sec), perSecond(1, 2)})
	admitted, last := 0, 0
	for i := range 600 { // ten a second
		d, which := g.Take(start+bucket.Instant(i)*bucket.Instant(100*ms), 1)
		if d.Allowed {
			admitted++
		} else {
			last = which
		}
	}
	if admitted != 5 || last != 0 {
		t.Errorf("%d admitted, in the end limit %d denied", admitted, last)
	}
	if d, which := g.Take(start+bucket.Instant(60*sec+100*ms), 2); !d.Allowed || d.Remaining != 0 || which != 0 {
		t.Errorf("a minute later limit %d says %+v", which, d)
	}
}
