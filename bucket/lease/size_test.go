package lease

import (
	"fmt"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

func TestSize(t *testing.T) {
	tests := []struct {
		name   string
		limit  bucket.Limit
		leave  int64
		other  float64 // demand of another
		demand float64
		left   int64
		want   int64
		next   bool
	}{
		{"what is used up in the time, and a quarter more", thousand, 1000, 0, 100, 0, 25, false},
		{"less what is left", thousand, 1000, 0, 100, 10, 15, false},
		{"nothing if enough is left", thousand, 1000, 0, 100, 25, 0, false},
		{"a quarter of the capacity at most", thousand, 1000, 0, 5000, 0, 250, false},
		{"half of that beside others", thousand, 1000, 10, 5000, 0, 125, false},
		{"half of what there is above the reserve", thousand, 250, 0, 1000, 0, 100, false},
		{"rationed: the rate since the last grant", thousand, 160, 0, 1000, 0, 156, true},
		{"rationed: no more than there is", thousand, 30, 0, 1000, 0, 30, true},
		{"rationed: half of the rate beside another as busy", thousand, 150, 1000, 1000, 0, 131, true},
		{"a quota that never fills is kept for forwarded checks", bucket.Limit{Burst: 1000}, 40, 0, 1000, 0, 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := lendsAt(sec, tt.limit)
			l.drain(sec, tt.leave)
			if tt.other > 0 {
				l.Check(&l.g, sec, "other", rate(tt.other), 0)
			}
			a := l.renews(sec, "a", Request{Demand: rate(tt.demand), Left: tt.left})
			if a.Tokens != tt.want {
				t.Errorf("%d tokens, want %d", a.Tokens, tt.want)
			}
			if tt.next != (a.Next > 0) {
				t.Errorf("the next after %v", a.Next)
			}
		})
	}
}

// TestPace: a rationed holder is told to come back after a pace period, give or take an eighth, and never all at once.
func TestPace(t *testing.T) {
	l := lendsAt(sec, thousand)
	seen := make(map[time.Duration]bool)
	for i := range 20 {
		l.drain(sec, 40)
		a := l.asks(sec, fmt.Sprint(i), rate(1000))
		if pace := l.terms.Pace; a.Next < pace-pace/8 || a.Next > pace+pace/8 {
			t.Errorf("after %v", a.Next)
		}
		seen[a.Next] = true
	}
	if len(seen) != 20 {
		t.Errorf("%d different periods of 20", len(seen))
	}
}

// TestDebt: what a rationed bucket could not pay of a share is paid next time.
func TestDebt(t *testing.T) {
	next := func(leave int64) int64 {
		l := lendsAt(sec, thousand)
		l.drain(sec, leave)
		first := l.asks(sec, "a", rate(800))
		l.drain(sec+62500*bucket.Instant(time.Microsecond), 125)
		return l.renews(sec+62500*bucket.Instant(time.Microsecond), "a",
			Request{Lease: first.Lease, Spent: first.Tokens, Demand: rate(800)}).Tokens
	}
	if paid, owed := next(160), next(20); owed <= paid {
		t.Errorf("%d after being paid in full, %d after not", paid, owed)
	}
}

// TestAdapt: a holder that brings much of a lease back gets smaller ones, and larger ones again when it spends them
// soon.
func TestAdapt(t *testing.T) {
	l := lendsAt(sec, perSec(100_000, 100_000))
	now, held := sec, int64(0)
	var lease ID
	spent := int64(0)
	turn := func(left int64, after bucket.Instant) int64 {
		now += after
		spent += held - left
		a := l.renews(now, "a", Request{Lease: lease, Spent: spent, Left: left, Demand: rate(1000)})
		lease, held = a.Lease, left+a.Tokens
		return held
	}
	for _, step := range []struct {
		name  string
		left  int64
		after bucket.Instant
		want  int64
	}{
		{"a first lease", 0, 0, 250},
		{"half of it is left", 125, 200 * ms, 250},
		{"more than half is left: no more is lent", 126, 200 * ms, 126},
		{"most of it is spent, the size is still half", 10, 200 * ms, 125},
		{"more than half is left, but soon", 100, 100 * ms, 125},
		{"again more than half is left", 70, 200 * ms, 70},
		{"a quarter by now", 0, 200 * ms, 62},
		{"spent soon: twice as much", 0, 90 * ms, 125},
		{"and again", 0, 90 * ms, 250},
		{"and no more than at first", 0, 90 * ms, 250},
	} {
		if got := turn(step.left, step.after); got != step.want {
			t.Errorf("%s: %d, want %d", step.name, got, step.want)
		}
	}
}
