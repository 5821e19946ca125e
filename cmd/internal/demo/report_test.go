package demo

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
)

func TestRunIsTooShort(t *testing.T) {
	if _, err := Run(context.Background(), Options{Duration: time.Second - 1}); !errors.Is(err, ErrDuration) {
		t.Errorf("%v, want ErrDuration", err)
	}
}

// spread is so many admissions within a time, evenly, each of which took that long.
func spread(n int, from, to, took time.Duration) (all []admission) {
	for i := range n {
		all = append(all, admission{from + (to-from)*time.Duration(i)/time.Duration(n), took})
	}
	return all
}

// TestExceeded: 100 at once and 50 a second are all right, in any span of time.
func TestExceeded(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name     string
		all      []admission
		exceeded int64
		left     float64 // after 4 s
	}{
		{"nothing", nil, 0, 100},
		{"half", spread(100, 0, 4*s, 0), 0, 100},
		{"all", append(spread(100, 0, 1, 0), spread(500, 20*time.Millisecond, 10*s, 0)...), 0, 0},
		{"one too many", append(spread(101, 0, 1, 0), spread(500, 20*time.Millisecond, 10*s, 0)...), 1, 0},
		{"too many of a burst", spread(130, 5*s, 5*s, 0), 30, 100},
		{"that took long", spread(130, 5*s, 5*s, 400*time.Millisecond), 10, 100}, // 20 have come meanwhile
		{"late, not forgiven by a pause before", append(spread(100, 3*s, 3*s, 0), spread(60, 4*s, 4*s, 0)...), 10, 0},
		{"out of order", append(spread(20, 4*s, 4*s, 0), spread(100, s, s, 0)...), 0, 80},
	} {
		n, left := exceeded(Limit, tt.all, 4*s)
		if n != tt.exceeded || left < tt.left-1 || left > tt.left+1 {
			t.Errorf("%s: %d, %.1f left; want %d, %.1f", tt.name, n, left, tt.exceeded, tt.left)
		}
	}
}

// TestKey holds what keys got against their bounds: one token more than burst, rate and allowances is too much.
func TestKey(t *testing.T) {
	const s = time.Second
	calm := crash{victim: "n3", from: 5 * s, closed: 5*s + 200*time.Millisecond}
	lost, worse := calm, calm
	lost.owners[3], lost.owners[hotKey] = "n3", "n3"
	worse.disturbed = 1
	exact := append(spread(100, 0, 1, 0), spread(500, 20*time.Millisecond, 10*s, 0)...)
	hot := append(spread(1000, 0, 1, 0), spread(10_000, s/1000, 10*s, 0)...)
	for _, tt := range []struct {
		name                     string
		key                      int
		lost                     crash
		more                     int // admissions at once, when the owner has died
		byRule                   int64
		crash, bound, used, over int64
	}{
		{"at the bound", 3, calm, 0, 0, 0, 600, 0, 0}, // 100 + 50/s * 10 s
		{"above", 3, calm, 1, 0, 0, 600, 0, 1},
		{"by rule", 3, calm, 3, 2, 0, 602, 2, 1},
		{"lost", 3, lost, 11, 0, 11, 611, 11, 0}, // 50/s * 0.2 s, and one
		{"lost, by rule, above", 3, lost, 20, 5, 11, 616, 16, 4},
		{"others lost", 3, worse, 101, 0, 100, 700, 100, 1},
		{"hot", hotKey, calm, 1, 0, 0, 11_000, 0, 1}, // 1000 + 1000/s * 10 s
		{"hot and lost", hotKey, lost, 202, 0, 201, 11_201, 201, 1},
	} {
		c, other := new(caller), new(caller)
		c.admitted[tt.key] = exact
		if tt.key == hotKey {
			c.admitted[tt.key] = hot
		}
		other.admitted[tt.key] = spread(tt.more, 6*s, 6*s, 0)
		other.admitted[7] = spread(1000, 0, 1, 0) // another key's
		c.checks[tt.key], other.checks[tt.key], c.byRule[tt.key] = 20_000, 1, tt.byRule
		l := &load{callers: []*caller{c, other}, elapsed: 10 * s}
		row := l.key(tt.key, tt.lost)
		if row.Checks != 20_001 || row.AllowanceRule != tt.byRule || row.AllowanceCrash != tt.crash || row.Bound != tt.bound ||
			row.AllowanceUsed != tt.used || row.OverAdmitted != tt.over {
			t.Errorf("%s: %+v", tt.name, row)
		}
	}
}

// TestDeciders: only what was decided where it was asked is local, and a failure rule's decision is not the limit's.
func TestDeciders(t *testing.T) {
	s := Sums{Checks: 10, took: []time.Duration{4, 3, 2, 1, 5, 6, 7, 8, 9, 10}}
	for d, n := range map[policy.Decision]int{
		{DecidedBy: policy.Owner, Node: "n1"}:                 1,
		{DecidedBy: policy.Lease, Node: "n1"}:                 2,
		{DecidedBy: policy.DenyLease, Node: "n1"}:             2,
		{DecidedBy: policy.Owner, Node: "n2"}:                 4,
		{DecidedBy: policy.Local, Node: "n1", Degraded: true}: 1,
	} {
		for range n {
			s.Decided.count(d, "n1")
		}
	}
	s.finish()
	want := Deciders{Own: 1, Lease: 2, DenyLease: 2, Forwarded: 4, Rule: 1}
	if s.Decided != want || s.LocalShare != 0.5 {
		t.Errorf("%+v, want %+v; local %v", s.Decided, want, s.LocalShare)
	}
	if s.P50 != (6*time.Nanosecond).Seconds() || s.P99 != (10*time.Nanosecond).Seconds() {
		t.Errorf("p50 %v, p99 %v", s.P50, s.P99)
	}
}
