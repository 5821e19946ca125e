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

// TestKey holds what keys got against their bounds: one token more than burst, rate and allowances is too much.
func TestKey(t *testing.T) {
	for _, test := range []struct {
		name             string
		key              int
		moved            bool
		admitted, byRule int64
		bound, over      int64
	}{
		{"at the bound", 3, false, 600, 0, 600, 0}, // 100 + 50/s * 10 s
		{"above", 3, false, 601, 0, 600, 1},
		{"by rule", 3, false, 603, 2, 602, 1},
		{"moved", 3, true, 800, 0, 800, 0}, // and 100 + 50/s * 2 s
		{"moved, by rule, above", 3, true, 806, 5, 805, 1},
		{"hot", hotKey, false, 11_001, 0, 11_000, 1}, // 1000 + 1000/s * 10 s
		{"hot and moved", hotKey, true, 14_001, 0, 14_000, 1},
	} {
		c := new(caller)
		c.checks[test.key], c.admitted[test.key], c.byRule[test.key] = 20_000, test.admitted-1, test.byRule
		other := new(caller)
		other.checks[test.key], other.admitted[test.key] = 1, 1
		other.admitted[7] = 1000 // another key's
		l := &load{callers: []*caller{c, other}, elapsed: 10 * time.Second, overlap: 2 * time.Second}
		row := l.key(test.key, test.moved)
		if row.Checks != 20_001 || row.Admitted != test.admitted || row.Bound != test.bound ||
			row.OverAdmitted != test.over || row.AllowanceRule != test.byRule || row.AllowanceMoved != 0 != test.moved {
			t.Errorf("%s: %+v", test.name, row)
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
