package lease

import (
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

func TestTerms(t *testing.T) {
	tests := []struct {
		name     string
		limits   []bucket.Limit
		capacity int64
		pace     time.Duration
	}{
		{"an eighth of the window", []bucket.Limit{thousand}, 1000, 125 * time.Millisecond},
		{"not above the target", []bucket.Limit{perSec(100, 1000)}, 1000, Target},
		{"not below what messages need", []bucket.Limit{perSec(1_000_000, 1000)}, 1000, minPace},
		{"the smallest of each", []bucket.Limit{perSec(10, 500), perSec(4000, 2000)}, 500, 62500 * time.Microsecond},
		{"never fills", []bucket.Limit{{Burst: 70}}, 70, Target},
	}
	for _, tt := range tests {
		if got := TermsOf(tt.limits); got != (Terms{tt.capacity, tt.pace}) {
			t.Errorf("%s: %+v, want capacity %d and pace %v", tt.name, got, tt.capacity, tt.pace)
		}
	}
}

// TestWorth: who gets a lease.
func TestWorth(t *testing.T) {
	tests := []struct {
		name     string
		capacity int64
		demand   Demand
		want     bool
	}{
		{"fifty checks a second", 1000, rate(50), true},
		{"fewer", 1000, rate(49), false},
		{"forty of the mean cost", 40, rate(500), true},
		{"a smaller bucket", 39, rate(500), false},
		{"dear checks", 399, Demand{Tokens: 1000, Checks: 100}, false},
		{"dear checks of a large bucket", 400, Demand{Tokens: 1000, Checks: 100}, true},
	}
	for _, tt := range tests {
		if got := (Terms{Capacity: tt.capacity}).worth(tt.demand); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
		l := lendsAt(sec, perSec(tt.capacity, tt.capacity))
		if a := l.Check(&l.g, sec, "a", Demand{}, 1); a.Offer {
			t.Errorf("%s: one check is offered a lease", tt.name)
		}
		if got := l.asks(sec, "a", tt.demand).Tokens > 0; got != tt.want {
			t.Errorf("%s: lent %v", tt.name, got)
		}
	}
}
