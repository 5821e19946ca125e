package bucket_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// TestCases holds faults that users of rate limiters have met, each under its number in our list, told as takes from a
// bucket and what must be answered. A pacer with interval T and tolerance b*T is the bucket of rate 1/T and burst b.
func TestCases(t *testing.T) {
	huge := int64(1) << 51
	for _, c := range []struct {
		name  string
		limit bucket.Limit
		steps []step
	}{
		{"C04 denied calls leave no debt", perSecond(1, 1), []step{
			take(0, 1, yes(0, sec)),
			take(0, 1, no(0, sec, sec)).times(100),
			take(sec, 1, yes(0, sec)),
		}},
		{"C14 a denied dear call takes nothing", perSecond(1, 10), []step{
			take(0, 8, yes(2, 8*sec)),
			take(0, 5, no(2, 3*sec, 8*sec)),
			take(0, 2, yes(0, 10*sec)),
		}},
		{"C16 cost above the limit", bucket.Limit{Count: 10, Per: 60 * sec, Burst: 10}, []step{
			take(0, 11, never(10, 0)),
			take(0, 10, yes(0, 60*sec)),
		}},
		{"C17 numbers of an oversized cost", perSecond(1, 5), []step{
			take(0, 1, yes(4, sec)),
			take(6*sec, 6, never(5, 0)),
		}},
		{"C19 cost equal to the capacity", perSecond(1, 5), []step{
			take(0, 1, yes(4, sec)),
			take(0, 5, no(4, sec, sec)),
			take(sec, 5, yes(0, 5*sec)),
		}},
		{"C20 cost above the burst", perSecond(10, 1), []step{
			take(0, 5, never(1, 0)),
			take(0, 1, yes(0, 100*ms)),
			take(0, 5, never(0, 100*ms)),
		}},
		{"C23 time that runs back and forth mints nothing", perSecond(1, 5), []step{
			take(100*sec, 1, yes(4, sec)), take(100*sec, 1, yes(3, 2*sec)), take(100*sec, 3, yes(0, 5*sec)),
			take(99*sec, 1, no(0, sec, 5*sec)), take(100*sec, 1, no(0, sec, 5*sec)), take(99*sec, 1, no(0, sec, 5*sec)),
			take(101*sec, 1, yes(0, 5*sec)), take(101*sec, 1, no(0, sec, 5*sec)),
		}},
		{"C26 an older instant hands out no second burst", perSecond(2, 4), []step{
			take(1000*sec, 4, yes(0, 2*sec)), take(1000*sec, 1, no(0, 500*ms, 2*sec)),
			take(990*sec, 1, no(0, 500*ms, 2*sec)), take(1000*sec, 1, no(0, 500*ms, 2*sec)),
		}},
		{"C29 refill within a second", perSecond(2, 10), []step{
			take(0, 1, yes(9, 500*ms)),
			take(600*ms, 10, yes(0, 5*sec)),
		}},
		{"C32 not a hair short at the promised instant", bucket.Limit{Count: 1, Per: time.Hour, Burst: 1}, []step{
			take(0, 1, yes(0, time.Hour)),
			take(time.Hour-1, 1, no(0, 1, 1)),
			take(time.Hour, 1, yes(0, time.Hour)),
		}},
		{"C35 one a day", bucket.Limit{Count: 1, Per: 24 * time.Hour, Burst: 1}, []step{
			take(0, 1, yes(0, 86_400*sec)),
			take(86_399*sec, 1, no(0, sec, sec)),
			take(86_400*sec, 1, yes(0, 86_400*sec)),
		}},
		{"C38 intervals that are no whole milliseconds", perSecond(3000, 1), []step{
			take(0, 1, yes(0, 333_334)),
			take(0, 1, no(0, 333_334, 333_334)).times(9),
			take(333_333, 1, no(0, 1, 1)),
			take(333_334, 1, yes(0, 333_334)),
		}},
		{"C40 cost times interval overflows", bucket.Limit{Count: 1, Per: 86_400 * sec, Burst: 1}, []step{
			take(0, 200_000_000, never(1, 0)),
			take(0, bucket.MaxTokens, never(1, 0)),
			take(0, 1, yes(0, 86_400*sec)),
		}},
		{"C41 elapsed times rate overflows", perSecond(huge, huge), []step{
			take(0, huge, yes(0, sec)),
			look(10*365*24*time.Hour, huge, yes(huge, 0)),
			take(10*365*24*time.Hour, huge, yes(0, sec)),
			take(10*365*24*time.Hour, 1, no(0, 1, sec)),
		}},
		{"C44 no rate", perSecond(0, 1), []step{
			take(0, 1, yes(0, 0)),
			take(sec, 1, never(0, 0)),
			take(365*24*time.Hour, 1, never(0, 0)),
		}},
		{"C46 burst below the rate", perSecond(3, 1), []step{
			take(0, 1, yes(0, 333_333_334)),
			take(0, 1, no(0, 333_333_334, 333_333_334)).times(9),
		}},
		{"C50 two a second", perSecond(2, 2), []step{
			take(0, 1, yes(1, 500*ms)), take(0, 1, yes(0, sec)), take(0, 1, no(0, 500*ms, sec)),
		}},
		{"C52 six a minute", bucket.Limit{Count: 6, Per: time.Minute, Burst: 6}, []step{
			take(0, 6, yes(0, time.Minute)), take(0, 1, no(0, 10*sec, time.Minute)),
		}},
		{"C58 an obedient client gets in", bucket.Limit{Count: 3, Per: 60 * sec, Burst: 1}, []step{
			take(0, 1, yes(0, 20*sec)),
			take(900*ms, 1, no(0, 19_100*ms, 19_100*ms)),
			take(20_900*ms, 1, yes(0, 20*sec)),
		}},
		{"C61 retry, reset and remaining", bucket.Limit{Count: 3, Per: 60 * sec, Burst: 3}, []step{
			take(0, 1, yes(2, 20*sec)), take(0, 1, yes(1, 40*sec)), take(0, 1, yes(0, 60*sec)),
			take(0, 1, no(0, 20*sec, 60*sec)),
		}},
		{"C62 a look knows the wait", bucket.Limit{Count: 1, Per: 10 * sec, Burst: 1}, []step{
			take(0, 1, yes(0, 10*sec)),
			look(3*sec, 1, no(0, 7*sec, 7*sec)).times(3),
			take(10*sec, 1, yes(0, 10*sec)),
		}},
		{"C64 the wait is for one token", perSecond(1, 10), []step{
			take(0, 10, yes(0, 10*sec)), take(0, 1, no(0, sec, 10*sec)),
		}},
		{"C65 remaining is never negative", bucket.Limit{Count: 2, Per: 60 * sec, Burst: 2}, []step{
			take(0, 1, yes(1, 30*sec)), take(0, 1, yes(0, 60*sec)), take(0, 1, no(0, 30*sec, 60*sec)),
		}},
		{"C119 the first hit counts once", bucket.Limit{Count: 5, Per: 60 * sec, Burst: 5}, []step{
			take(0, 1, yes(4, 12*sec)),
		}},
	} {
		t.Run(c.name, func(t *testing.T) { run(t, c.limit, c.steps...) })
	}
}

// TestProductsBeyond64Bits picks numbers at which a product of elapsed time and rate just passes 64 bits.
func TestProductsBeyond64Bits(t *testing.T) {
	t.Run("arrived", func(t *testing.T) {
		run(t, bucket.Limit{Count: bucket.MaxTokens, Per: 1, Burst: bucket.MaxTokens},
			take(0, bucket.MaxTokens, yes(0, 1)),
			take(1<<11, bucket.MaxTokens, yes(0, 1))) // 2^64 tokens
	})
	t.Run("missing", func(t *testing.T) {
		// Four tokens are 2^64 + 4 parts, sixteen a nanosecond; 2^61 of them are there after 2^57 ns.
		l := bucket.Limit{Count: 16, Per: 1<<62 + 1, Burst: 4}
		run(t, l,
			take(0, 4, yes(0, 1<<60+1)),
			look(1<<57, 4, no(0, 1<<60-1<<57+1, 1<<60-1<<57+1)))
	})
}

// TestCaseC49 alternates costs of 1 and 0 on a limit that admits nothing.
func TestCaseC49(t *testing.T) {
	var steps []step
	for range 1000 {
		steps = append(steps, take(0, 1, never(0, 0)), take(0, 0, yes(0, 0)))
	}
	if s := run(t, bucket.Limit{}, steps...); s != bucket.Full(&bucket.Limit{}, start) {
		t.Errorf("drifted to %+v", s)
	}
}

// TestCaseC23 alternates an old and a new instant, which must not mint tokens.
func TestCaseC23(t *testing.T) {
	l := perSecond(1, 5)
	s := bucket.Full(&l, 100*bucket.Instant(sec))
	allowed := 0
	takeAt := func(second int64) {
		if s.Take(&l, bucket.Instant(second)*bucket.Instant(sec), 1).Allowed {
			allowed++
		}
	}
	for range 5 {
		takeAt(100)
	}
	for range 100 {
		takeAt(99)
		takeAt(100)
	}
	if allowed != 5 {
		t.Errorf("%d allowed while no time passed, want 5", allowed)
	}
	takeAt(101)
	takeAt(101)
	if allowed != 6 {
		t.Errorf("%d allowed in all, want 6", allowed)
	}
}

// TestCaseC26: a slow node's older instant hands out no second burst.
func TestCaseC26(t *testing.T) {
	l := perSecond(2, 4)
	s := bucket.Full(&l, 1000*bucket.Instant(sec))
	allowed := 0
	for _, second := range []int64{1000, 1000, 1000, 1000, 1000, 990, 1000, 1000, 1000, 1000} {
		if s.Take(&l, bucket.Instant(second)*bucket.Instant(sec), 1).Allowed {
			allowed++
		}
	}
	if allowed != 4 || s.Last != 1000*bucket.Instant(sec) {
		t.Errorf("%d allowed as of %d, want 4 as of the later of the two instants", allowed, s.Last)
	}
}

// TestCasesOfSteadyClients takes one token at every tick, and wants the ticks that are admitted.
func TestCasesOfSteadyClients(t *testing.T) {
	for _, c := range []struct {
		name  string
		limit bucket.Limit
		tick  time.Duration
		ticks int
		want  []int
	}{
		{"C34 a slow rate is not raised to the tick", perSecond(1, 1), 100 * ms, 100,
			[]int{0, 10, 20, 30, 40, 50, 60, 70, 80, 90}},
		{"C76 trying does not keep one out", bucket.Limit{Count: 1, Per: 5 * sec, Burst: 1}, sec, 21,
			[]int{0, 5, 10, 15, 20}},
		{"C80 no full refill each period", perSecond(3, 3), 100 * ms, 31,
			[]int{0, 1, 2, 4, 7, 10, 14, 17, 20, 24, 27, 30}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := bucket.Full(&c.limit, start)
			var got []int
			for i := range c.ticks {
				if s.Take(&c.limit, start+bucket.Instant(i)*bucket.Instant(c.tick), 1).Allowed {
					got = append(got, i)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("admitted at ticks %v, want %v", got, c.want)
			}
		})
	}
}

// TestCaseC70: a rested bucket admits its burst and then its rate, and no more in that period.
func TestCaseC70(t *testing.T) {
	l := perSecond(10, 10)
	s := bucket.Full(&l, start)
	allowed := 0
	for range 10 {
		if s.Take(&l, start, 1).Allowed {
			allowed++
		}
	}
	for i := 1; i <= 9; i++ {
		for range 3 { // a client that takes what it can
			if s.Take(&l, start+bucket.Instant(i)*bucket.Instant(100*ms), 1).Allowed {
				allowed++
			}
		}
	}
	if allowed != 19 {
		t.Errorf("%d allowed, want 19", allowed)
	}
}

// shared is a bucket that many goroutines use, as its owner would hold it.
type shared struct {
	mu      sync.Mutex
	limit   bucket.Limit
	state   bucket.State
	allowed int
}

func (s *shared) take(now bucket.Instant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.Take(&s.limit, now, 1).Allowed {
		s.allowed++
	}
}

// TestCaseC37: far below a limit above a billion a second, nobody is refused.
func TestCaseC37(t *testing.T) {
	const each = 1_000_000
	l := perSecond(1_000_000_001, 1_000_000_001)
	s := &shared{limit: l, state: bucket.Full(&l, start)}
	var threads sync.WaitGroup
	for range 2 {
		threads.Go(func() {
			for i := range each {
				s.take(start + bucket.Instant(i)*bucket.Instant(time.Second/each))
			}
		})
	}
	threads.Wait()
	if s.allowed != 2*each {
		t.Errorf("%d allowed, want all %d", s.allowed, 2*each)
	}
}

// TestCaseC118: of a thousand takes at one instant exactly one gets the one token.
func TestCaseC118(t *testing.T) {
	l := perSecond(1, 1)
	s := &shared{limit: l, state: bucket.Full(&l, start)}
	var threads sync.WaitGroup
	for range 1000 {
		threads.Go(func() { s.take(start) })
	}
	threads.Wait()
	if s.allowed != 1 {
		t.Errorf("%d allowed, want 1", s.allowed)
	}
}

// TestCaseC122: a smaller burst cuts what is held, a larger one grants nothing.
func TestCaseC122(t *testing.T) {
	ten, five := perSecond(0, 10), perSecond(0, 5)
	s := run(t, ten, take(0, 2, yes(8, 0)))
	s.Adopt(&ten, &five, start)
	if d := s.Look(&five, start, 0); d.Remaining != 5 {
		t.Errorf("remaining %d after the burst went to 5, want 5", d.Remaining)
	}
	s.Adopt(&five, &ten, start)
	if d := s.Look(&ten, start, 0); d.Remaining != 5 {
		t.Errorf("remaining %d after the burst went back to 10, want 5", d.Remaining)
	}
}

// TestAdoptCountsTheOldRateFirst: what had arrived by the old rate stays, and the new one counts from the change.
func TestAdoptCountsTheOldRateFirst(t *testing.T) {
	slow, fast := perSecond(1, 10), bucket.Limit{Count: 10, Per: 7 * sec, Burst: 10}
	s := run(t, slow, take(0, 10, yes(0, 10*sec)))
	change := start + bucket.Instant(2500*ms)
	s.Adopt(&slow, &fast, change) // holds 2.5 tokens
	if got, want := s.Look(&fast, change, 3), no(2, 350*ms, 5250*ms); got != want {
		t.Errorf("after the change: %+v, want %+v", got, want)
	}
	later := change + bucket.Instant(350*ms)
	if got := s.Take(&fast, later, 3); !got.Allowed {
		t.Errorf("after the wait that was said: %+v", got)
	}
}
