package sim

import (
	"math/big"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// taken is one admission of a history.
type taken struct {
	now           bucket.Instant
	cost, allowed int64
}

func TestOracleJudges(t *testing.T) {
	const s = bucket.Instant(time.Second)
	ten := bucket.Limit{Count: 10, Per: time.Second, Burst: 10}
	third := bucket.Limit{Count: 1, Per: 3 * time.Second, Burst: 2}
	for _, c := range []struct {
		name    string
		limit   bucket.Limit
		history []taken
		over    int64
		excess  bool
	}{
		{"nothing", ten, nil, 0, false},
		{"burst and rate", ten, []taken{{0, 10, 0}, {s, 10, 0}, {s + s/2, 5, 0}}, 0, false},
		{"one too many at once", ten, []taken{{0, 10, 0}, {0, 1, 0}}, 1, true},
		{"one too early", ten, []taken{{0, 10, 0}, {s - 1, 10, 0}}, 1, true},
		{"rest fills no more than the burst", ten, []taken{{100 * s, 11, 0}}, 1, true},
		{"an excess long ago is not forgotten", ten, []taken{{0, 13, 0}, {60 * s, 1, 0}}, 3, true},
		{"what a fault allows", ten, []taken{{0, 10, 0}, {0, 3, 3}}, 3, false},
		{"more than a fault allows", ten, []taken{{0, 10, 0}, {0, 4, 3}}, 4, true},
		{"a fault counts until the bucket is full", ten, []taken{{0, 10, 0}, {0, 3, 3}, {s, 10, 0}}, 3, false},
		{"and not after that", ten, []taken{{0, 10, 0}, {0, 3, 3}, {2 * s, 11, 0}}, 3, true},
		{"parts of tokens", third, []taken{{0, 2, 0}, {3 * s, 1, 0}, {6*s - 1, 1, 0}}, 1, true},
		{"whole tokens", third, []taken{{0, 2, 0}, {3 * s, 1, 0}, {6 * s, 1, 0}}, 0, false},
		{"no rate", bucket.Limit{Burst: 1}, []taken{{0, 1, 0}, {1000 * s, 1, 0}}, 1, true},
		{"the largest numbers", bucket.Limit{Count: bucket.MaxTokens, Per: 1, Burst: bucket.MaxTokens},
			[]taken{{0, bucket.MaxTokens, 0}, {1, bucket.MaxTokens, 0}, {1, 1, 0}}, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := &group{policy: "p", key: "k", limits: []bucket.Limit{c.limit}}
			var o oracle
			o.watch(g, 0)
			for _, a := range c.history {
				o.admit(g, admission{now: a.now, cost: a.cost, allowed: a.allowed})
			}
			if v := o.verdict(); v.over != c.over || (len(v.excess) > 0) != c.excess || v.fed != len(c.history) {
				t.Errorf("%+v; want %d over, excess: %v", v, c.over, c.excess)
			}
		})
	}
}

// TestOracleKnowsAllWindows compares the lowest level with what the definition says: of every span of time, what was
// admitted less burst and rate.
func TestOracleKnowsAllWindows(t *testing.T) {
	seen := 0
	for seed := range uint64(300) {
		r := draw(seed, "history")
		l := bucket.Limit{Count: r.Int64N(20) + 1, Per: time.Duration(r.Int64N(50) + 1), Burst: r.Int64N(30)}
		ref := newReference(l, 0)
		var history []taken
		for now := bucket.Instant(0); len(history) < 40; now += bucket.Instant(r.Int64N(60)) {
			history = append(history, taken{now: now, cost: r.Int64N(12)})
			ref.admit(now, history[len(history)-1].cost, 0)
		}
		worst := new(big.Rat)
		for first := range history {
			sum := int64(0)
			for _, a := range history[first:] {
				sum += a.cost
				due := big.NewRat(l.Count*int64(a.now-history[first].now), int64(l.Per))
				due.Add(due, big.NewRat(l.Burst, 1))
				if e := new(big.Rat).Sub(big.NewRat(sum, 1), due); e.Cmp(worst) > 0 {
					worst = e
				}
			}
		}
		low := new(big.Rat).SetFrac(new(big.Int).Neg(ref.low), ref.per)
		if worst.Sign() == 0 {
			if ref.low.Sign() < 0 {
				t.Errorf("seed %d: lowest level %v, and no window has too much", seed, low)
			}
			continue
		}
		seen++
		if low.Cmp(worst) != 0 {
			t.Errorf("seed %d: %+v: lowest level %v below zero, worst window %v", seed, l, low, worst)
		}
	}
	if seen < 50 {
		t.Errorf("only %d of 300 histories had too much", seen)
	}
}

func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &clock{began: time.Now(), offset: 5, ppm: -10_000}
		want := func(when string, now bucket.Instant) {
			t.Helper()
			if got := c.Now(); got != now {
				t.Errorf("%s: %d, want %d", when, got, now)
			}
		}
		want("at first", 5)
		time.Sleep(time.Second)
		want("a second later", 990_000_005)
		c.stop()
		time.Sleep(time.Second)
		want("standing still", 990_000_005)
		c.resume()
		want("going again", 1_980_000_005)
	})
}
