package lease

import (
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

func TestHold(t *testing.T) {
	id := HoldID{1, 2}
	const life = 320 * time.Millisecond
	t.Run("I9 a hold is out until it is committed", func(t *testing.T) {
		o := owns(perSec(10, 10))
		if !o.setAside(&o.g, 0, id, []int64{4}, life) {
			t.Fatal("not held")
		}
		o.take(0, 6)
		o.has(t, 300*ms, 4, 3)
		if !o.Commit(&o.g, 300*ms, id) || o.Commit(&o.g, 300*ms, id) || o.PutBack(&o.g, 300*ms, id) {
			t.Error("not committed once")
		}
		o.has(t, 300*ms, 0, 3)
	})
	t.Run("I9 what is put back is back", func(t *testing.T) {
		o := owns(perSec(0, 10), perSec(0, 5))
		o.setAside(&o.g, 0, id, []int64{4, 1}, life)
		o.has(t, 0, 4, 6, 4)
		if !o.PutBack(&o.g, 0, id) || o.PutBack(&o.g, 0, id) || o.Commit(&o.g, 0, id) {
			t.Error("not put back once")
		}
		o.has(t, 0, 0, 10, 5)
	})
	t.Run("I9 the same hold is taken once", func(t *testing.T) {
		o := owns(perSec(0, 10))
		if !o.setAside(&o.g, 0, id, []int64{6}, life) || !o.setAside(&o.g, ms, id, []int64{6}, life) {
			t.Error("not answered alike")
		}
		o.has(t, ms, 6, 4)
		o.has(t, 330*ms-1, 6, 4)
		o.has(t, 330*ms, 0, 4)
		if o.Burned() != 6 || o.Commit(&o.g, 330*ms, id) || o.PutBack(&o.g, 330*ms, id) {
			t.Error("not burned")
		}
	})
	t.Run("nothing is held", func(t *testing.T) {
		for name, costs := range map[string][]int64{
			"of too little": {3, 4}, "below zero": {-1, 1}, "for fewer states": {1}, "for more states": {1, 1, 1},
		} {
			o := owns(perSec(0, 10), perSec(0, 3))
			if o.setAside(&o.g, 0, id, costs, life) {
				t.Error(name)
			}
			o.has(t, 0, 0, 10, 3)
		}
		for _, life := range []time.Duration{0, -1} {
			o := owns(perSec(0, 10))
			if o.setAside(&o.g, 0, id, []int64{1}, life) || !o.Idle(0) {
				t.Errorf("for %v", life)
			}
		}
	})
	t.Run("I9 I10 a coordinator counts from its first send, and the life that it was granted", func(t *testing.T) {
		p := Pledge{Sent: 100 * ms, Life: 50 * time.Millisecond}
		if !p.Stands(150*ms-1) || p.Stands(150*ms) || (Pledge{}).Stands(0) {
			t.Error("wrong end")
		}
	})
	t.Run("one burns and others stay", func(t *testing.T) {
		o := owns(perSec(0, 10))
		o.setAside(&o.g, 0, HoldID{1, 1}, []int64{1}, life)
		o.setAside(&o.g, 0, HoldID{1, 2}, []int64{2}, life/2)
		o.setAside(&o.g, 0, HoldID{1, 3}, []int64{3}, 2*life)
		o.has(t, 165*ms, 4, 4)
		o.has(t, 330*ms, 3, 4)
		o.has(t, 660*ms, 0, 4)
	})
}

func TestSettle(t *testing.T) {
	id := HoldID{3, 4}
	tests := []struct {
		name        string
		taken, lent int64
		settled     int64
		want        int64
	}{
		{"I9 a credit comes back", 6, 0, 2, 6},
		{"I9 a credit fills up at most", 1, 0, 2, 10},
		{"I9 a credit fills up to what is not out at most", 1, 4, 2, 6},
		{"I9 a debit is taken", 6, 0, -3, 1},
		{"I9 a debit may leave less than nothing", 6, 0, -7, -3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := owns(perSec(0, 10))
			o.take(0, tt.taken)
			if tt.lent > 0 {
				o.gets(0, "a", Request{Number: number(1)}, TTL, tt.lent)
			}
			for i, want := range []bool{true, false} {
				if got := o.Settle(&o.g, 0, id, tt.settled, time.Second); got != want {
					t.Errorf("time %d: applied %v", i, got)
				}
				o.has(t, 0, tt.lent, tt.want)
			}
		})
	}
	t.Run("a settlement is remembered for as long as was asked", func(t *testing.T) {
		o := owns(perSec(0, 10))
		o.take(0, 6)
		o.Settle(&o.g, 0, id, 1, time.Second)
		if o.Settle(&o.g, sec-1, id, 1, time.Second) || o.Idle(sec-1) || !o.Idle(sec) {
			t.Error("forgotten too early, or not at all")
		}
		if !o.Settle(&o.g, sec, id, 1, time.Second) {
			t.Error("not forgotten")
		}
		o.has(t, sec, 0, 6)
	})
	t.Run("a bucket above what is not out is not lowered by a credit", func(t *testing.T) {
		o := owns(perSec(0, 10), perSec(0, 10))
		o.setAside(&o.g, 0, HoldID{1, 1}, []int64{4, 0}, time.Second) // the second stays full, while 4 are out
		o.Settle(&o.g, 0, id, 1, time.Second)
		o.has(t, 0, 4, 6, 10)
	})
}

// TestIdle: a ledger with anything to remember is not thrown away.
func TestIdle(t *testing.T) {
	o := owns(perSec(0, 10))
	if !o.Idle(0) {
		t.Error("a new ledger")
	}
	o.setAside(&o.g, 0, HoldID{1, 1}, []int64{1}, time.Second)
	if o.Idle(0) {
		t.Error("with a hold")
	}
	o.Commit(&o.g, 0, HoldID{1, 1})
	a, _ := o.gets(0, "a", Request{Number: number(1)}, TTL, 1)
	if o.Idle(0) {
		t.Error("with a lease")
	}
	o.gets(0, "a", Request{Lease: a.Lease, Spent: 1, Close: true}, TTL, 0)
	if !o.Idle(bucket.Instant(0)) {
		t.Error("after all came back")
	}
}

// setAside says whether a hold was taken.
func (l *Ledger) setAside(g *bucket.Group, now bucket.Instant, id HoldID, costs []int64, life time.Duration) bool {
	d, _ := l.Hold(g, now, id, life, costs)
	return d.Allowed
}
