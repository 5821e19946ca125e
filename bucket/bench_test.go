package bucket_test

import (
	"math"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// wideLimit needs products of more than 64 bits.
var wideLimit = bucket.Limit{Count: 1_000_003, Per: 24 * time.Hour, Burst: 1_000_000}

func BenchmarkTakeAllowed(b *testing.B) {
	l := perSecond(1_000_000_000, bucket.MaxTokens)
	s, now := bucket.Full(&l, 0), bucket.Instant(0)
	for b.Loop() {
		now++
		if !s.Take(&l, now, 1).Allowed {
			b.Fatal("denied")
		}
	}
}

func BenchmarkTakeDenied(b *testing.B) {
	s, now := bucket.Full(&wideLimit, 0), bucket.Instant(0)
	s.Take(&wideLimit, now, wideLimit.Burst)
	for b.Loop() {
		now = (now + 1) % 1_000_000_000
		if s.Take(&wideLimit, now, wideLimit.Burst).Allowed {
			b.Fatal("allowed")
		}
	}
}

func BenchmarkLook(b *testing.B) {
	s, now := bucket.Full(&wideLimit, 0), bucket.Instant(0)
	s.Take(&wideLimit, now, wideLimit.Burst)
	for b.Loop() {
		now = (now + 1) % 1_000_000_000
		if s.Look(&wideLimit, now, wideLimit.Burst).Allowed {
			b.Fatal("allowed")
		}
	}
}

func TestNothingAllocates(t *testing.T) {
	s, now := bucket.Full(&wideLimit, 0), bucket.Instant(0)
	other := perSecond(7, 10)
	allowed, denied := 0, 0
	count := func(d bucket.Decision) {
		if d.Allowed {
			allowed++
		} else {
			denied++
		}
	}
	for name, call := range map[string]func(){
		"take allowed": func() { count(s.Take(&wideLimit, now, 1)) },
		"take denied":  func() { count(s.Take(&wideLimit, now, math.MaxInt32)) },
		"look":         func() { count(s.Look(&wideLimit, now, 2)) },
		"adopt":        func() { s.Adopt(&wideLimit, &wideLimit, now) },
		"full":         func() { _ = s.IsFull(&other, now) },
		"reduce":       func() { other = other.Reduced() },
	} {
		if allocs := testing.AllocsPerRun(100, func() {
			now++
			call()
		}); allocs != 0 {
			t.Errorf("%s: %v allocations, want none", name, allocs)
		}
	}
	if allowed == 0 || denied == 0 {
		t.Errorf("%d allowed, %d denied, want both", allowed, denied)
	}
}
