package bucket_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/drossel-dev/drossel/bucket"
)

// TestStateFrom: a bucket rebuilt from what a Look has told answers like the one that was looked at: the same tokens,
// and waits that are a nanosecond longer at most, and never shorter.
func TestStateFrom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := limits.Filter(func(l bucket.Limit) bool { return l.Burst > 0 }).Draw(t, "limit")
		now := bucket.Instant(rapid.Int64Range(math.MinInt64/2, math.MaxInt64/2).Draw(t, "start"))
		s := bucket.Full(&l, now)
		for range rapid.IntRange(0, 5).Draw(t, "takes") {
			now = instant(t, now, l)
			s.Take(&l, now, costOf(t, s, l))
		}
		if rapid.IntRange(0, 3).Draw(t, "debt") == 0 { // as after a limit was cut below what is out on lease
			s.Tokens -= rapid.Int64Range(1, bucket.MaxTokens).Draw(t, "below")
		}
		now = s.Last // had the clock stepped back, all waits would count from the latest instant
		told := s.Look(&l, now, 0)
		if told.ResetAfter == math.MaxInt64 { // more than was said, and so is the level unknown
			return
		}
		rebuilt := bucket.StateFrom(&l, told, now)
		if rebuilt.Last != now || rebuilt.Frac != 0 && rebuilt.Frac >= uint64(l.Per) {
			t.Fatalf("%+v from %+v of %+v", rebuilt, told, s)
		}
		cost := costOf(t, s, l)
		for _, cost := range []int64{0, cost, l.Burst} {
			want, got := s.Look(&l, now, cost), rebuilt.Look(&l, now, cost)
			if got.Allowed != want.Allowed || got.Remaining != want.Remaining || got.Never() != want.Never() {
				t.Fatalf("cost %d: %+v from %+v says %+v, want %+v of %+v", cost, rebuilt, told, got, want, s)
			}
			for _, wait := range [][2]time.Duration{{got.RetryAfter, want.RetryAfter}, {got.ResetAfter, want.ResetAfter}} {
				if wait[0] < wait[1] || wait[0]-wait[1] > 1 {
					t.Fatalf("cost %d: %v from %+v, want %v of %+v", cost, wait[0], told, wait[1], s)
				}
			}
		}
	})
}
