package lease

import (
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// owner is a ledger with what it lends from.
type owner struct {
	Ledger
	g bucket.Group
}

const (
	ms  = bucket.Instant(time.Millisecond)
	sec = bucket.Instant(time.Second)
)

func perSec(n, burst int64) bucket.Limit {
	return bucket.Limit{Count: n, Per: time.Second, Burst: burst}
}

// owns returns an owner whose buckets are full at 0.
func owns(limits ...bucket.Limit) *owner {
	o := &owner{g: bucket.Group{Limits: limits}, Ledger: Ledger{Last: ID{Epoch: 7}}}
	for _, l := range limits {
		o.g.States = append(o.g.States, bucket.Full(&l, 0))
	}
	return o
}

func (o *owner) take(now bucket.Instant, cost int64) {
	o.Refill(&o.g, now)
	o.g.Take(now, cost)
}

func (o *owner) gets(now bucket.Instant, holder string, r Request, ttl time.Duration, tokens int64) (Answer, bool) {
	a, ok := o.Request(&o.g, now, holder, r, ttl, func() int64 { return tokens })
	if a == nil {
		return Answer{}, ok
	}
	return *a, ok
}

// has checks what is in each bucket at now, and what is out.
func (o *owner) has(t *testing.T, now bucket.Instant, out int64, tokens ...int64) {
	t.Helper()
	o.Refill(&o.g, now)
	for j, want := range tokens {
		if got := o.g.States[j].Tokens; got != want {
			t.Errorf("at %v bucket %d has %d, want %d", time.Duration(now), j, got, want)
		}
	}
	if o.Out() != out {
		t.Errorf("at %v %d is out, want %d", time.Duration(now), o.Out(), out)
	}
}

func number(seq uint64) Number { return Number{Incarnation: 1, Seq: seq} }

func TestLedger(t *testing.T) {
	t.Run("I1 a bucket fills up to what is not out", func(t *testing.T) {
		o := owns(perSec(10, 10))
		o.gets(0, "a", Request{Number: number(1)}, time.Minute, 4)
		o.take(0, 6)
		o.has(t, 300*ms, 4, 3)
		o.has(t, 10*sec, 4, 6)
		o.gets(10*sec, "a", Request{Lease: o.Last, Spent: 4, Close: true}, time.Minute, 0)
		o.has(t, 10*sec, 0, 6)
		o.has(t, 10*sec+100*ms, 0, 7)
	})
	t.Run("I1 a bucket looked at late filled no further than one that was watched", func(t *testing.T) {
		late, watched := owns(perSec(10, 10)), owns(perSec(10, 10))
		for _, o := range []*owner{late, watched} {
			o.gets(0, "a", Request{Number: number(1)}, 3200*time.Millisecond, 4) // burns at 3.3 s
			o.take(0, 6)
		}
		for now := bucket.Instant(0); now <= 3500*ms; now += 100 * ms {
			watched.Refill(&watched.g, now)
		}
		late.Refill(&late.g, 3500*ms)
		late.has(t, 3500*ms, 0, 8)
		watched.has(t, 3500*ms, 0, 8)
	})
	t.Run("I2 a grant takes the same from every state, as much as all have", func(t *testing.T) {
		o := owns(perSec(1, 10), perSec(1, 3))
		a, _ := o.gets(0, "a", Request{Number: number(1)}, TTL, 5)
		if a.Tokens != 3 || a.TTL != TTL || a.Lease != (ID{7, 1}) || a.Number != number(1) {
			t.Errorf("%+v", a)
		}
		o.has(t, 0, 3, 7, 0)
	})
	t.Run("I2 nothing to lend opens no lease", func(t *testing.T) {
		o := owns(perSec(1, 3))
		o.take(0, 3)
		a, ok := o.gets(0, "a", Request{Number: number(1)}, TTL, 5)
		if !ok || a != (Answer{Number: number(1)}) || !o.Idle(0) {
			t.Errorf("%+v %v", a, ok)
		}
	})
	t.Run("I2 a report frees what is out and fills no bucket", func(t *testing.T) {
		o := owns(perSec(0, 10))
		a, _ := o.gets(0, "a", Request{Number: number(1)}, TTL, 5)
		o.gets(0, "a", Request{Number: number(2), Lease: a.Lease, Spent: 3}, TTL, 0)
		o.has(t, 0, 2, 5)
	})
	t.Run("I2 reports are cumulative, and never more than was lent", func(t *testing.T) {
		o := owns(perSec(0, 10))
		a, _ := o.gets(0, "a", Request{Number: number(1)}, TTL, 5)
		o.gets(0, "a", Request{Number: number(2), Lease: a.Lease, Spent: 3}, TTL, 0)
		o.gets(0, "a", Request{Number: number(3), Lease: a.Lease, Spent: 3}, TTL, 0)
		o.has(t, 0, 2, 5)
		o.gets(0, "a", Request{Number: number(4), Lease: a.Lease, Spent: 2}, TTL, 0)
		o.has(t, 0, 2, 5)
		o.gets(0, "a", Request{Number: number(5), Lease: a.Lease, Spent: 1000}, TTL, 0)
		o.has(t, 0, 0, 5)
	})
	t.Run("I2 what was not spent of a state comes back to it once", func(t *testing.T) {
		o := owns(perSec(0, 10), perSec(0, 10))
		a, _ := o.gets(0, "a", Request{Number: number(1)}, TTL, 8)
		r := Request{Number: number(2), Lease: a.Lease, Spent: 5, Under: []int64{0, 4}}
		o.gets(0, "a", r, TTL, 0)
		o.has(t, 0, 3, 2, 6)
		r.Number, r.Spent = number(3), 6
		o.gets(0, "a", r, TTL, 0)
		o.has(t, 0, 2, 2, 6)
	})
	t.Run("I2 no state gets back more than was reported", func(t *testing.T) {
		o := owns(perSec(0, 10), perSec(0, 10))
		a, _ := o.gets(0, "a", Request{Number: number(1)}, TTL, 8)
		o.gets(0, "a", Request{Number: number(2), Lease: a.Lease, Spent: 1, Under: []int64{0, 9, 9}}, TTL, 0)
		o.has(t, 0, 7, 2, 3)
	})
	t.Run("I2 expiry burns", func(t *testing.T) {
		o := owns(perSec(0, 10))
		o.gets(0, "a", Request{Number: number(1)}, TTL, 5)
		o.has(t, 3*sec, 0, 5)
		if o.Burned() != 5 || o.Held("a") != 0 || !o.Idle(3*sec) {
			t.Errorf("burned %d, held %d, idle %v", o.Burned(), o.Held("a"), o.Idle(3*sec))
		}
	})
	t.Run("I4 the same request gets the same answer", func(t *testing.T) {
		o := owns(perSec(0, 10))
		first, _ := o.gets(0, "a", Request{Number: number(1)}, TTL, 5)
		again, ok := o.gets(ms, "a", Request{Number: number(1)}, TTL, 3)
		if !ok || again != first {
			t.Errorf("%+v, want %+v", again, first)
		}
		o.has(t, ms, 5, 5)
	})
	t.Run("I4 an older request gets none", func(t *testing.T) {
		o := owns(perSec(0, 10))
		o.gets(0, "a", Request{Number: number(9)}, TTL, 5)
		if a, ok := o.gets(0, "a", Request{Number: number(8)}, TTL, 5); ok {
			t.Errorf("answered: %+v", a)
		}
		o.has(t, 0, 5, 5)
	})
	t.Run("I4 a request that does not name the lease opens another, and the first burns", func(t *testing.T) {
		o := owns(perSec(0, 10))
		o.gets(0, "a", Request{Number: number(9)}, TTL, 5)
		a, _ := o.gets(0, "a", Request{Number: number(10)}, TTL, 3)
		if a.Lease != (ID{7, 2}) || a.Tokens != 3 || o.Burned() != 5 {
			t.Errorf("%+v, burned %d", a, o.Burned())
		}
		o.has(t, 0, 3, 2)
	})
	t.Run("I4 a holder that started again takes nothing from the process before it", func(t *testing.T) {
		o := owns(perSec(0, 10))
		o.gets(0, "a", Request{Number: Number{1, 9}}, TTL, 5)
		o.gets(sec, "a", Request{Number: Number{2, 1}}, TTL, 3)
		o.has(t, sec, 8, 2)
		if n := o.Held("a"); n != 8 {
			t.Errorf("it may have %d, want 8: both processes may be there", n)
		}
		o.Refill(&o.g, burnAfter(TTL))
		o.has(t, burnAfter(TTL), 3, 2)
	})
	t.Run("I4 an id is never used again", func(t *testing.T) {
		o := owns(perSec(0, 10))
		for want := uint64(1); want <= 3; want++ {
			a, _ := o.gets(0, "a", Request{Number: number(1)}, TTL, 1)
			if a.Lease != (ID{7, want}) {
				t.Errorf("lease %v, want number %d", a.Lease, want)
			}
			o.gets(0, "a", Request{Lease: a.Lease, Left: 1, Close: true}, TTL, 0)
		}
	})
	t.Run("I5 a return closes a lease once", func(t *testing.T) {
		o := owns(perSec(0, 10))
		a, _ := o.gets(0, "a", Request{Number: number(1)}, TTL, 5)
		back := Request{Lease: a.Lease, Spent: 2, Left: 3, Close: true}
		for range 2 {
			if _, ok := o.gets(0, "a", back, TTL, 5); ok {
				t.Error("a return is answered")
			}
			o.has(t, 0, 0, 8)
		}
		o.gets(0, "a", Request{Number: number(2)}, TTL, 4)
		o.gets(0, "a", back, TTL, 0) // names another lease
		o.has(t, 0, 4, 4)
	})
	t.Run("I5 more is never taken back than was lent", func(t *testing.T) {
		o := owns(perSec(0, 10))
		a, _ := o.gets(0, "a", Request{Number: number(1)}, TTL, 5)
		o.gets(0, "a", Request{Lease: a.Lease, Spent: 2, Left: 4, Close: true}, TTL, 0)
		o.has(t, 0, 0, 5)
	})
	t.Run("I6 a lease burns a thirty-second part of its life after it", func(t *testing.T) {
		o := owns(perSec(0, 10))
		o.gets(5*ms, "a", Request{Number: number(1)}, 320*time.Millisecond, 5)
		o.has(t, 335*ms-1, 5, 5)
		o.has(t, 335*ms, 0, 5)
	})
	t.Run("I6 a renewal lets a lease burn later, and never earlier", func(t *testing.T) {
		o := owns(perSec(0, 10))
		a, _ := o.gets(0, "a", Request{Number: number(1)}, 320*time.Millisecond, 5)
		o.gets(100*ms, "a", Request{Number: number(2), Lease: a.Lease}, 320*time.Millisecond, 0)
		o.gets(110*ms, "a", Request{Number: number(3), Lease: a.Lease}, 32*time.Millisecond, 0)
		o.has(t, 430*ms-1, 5, 5)
		o.has(t, 430*ms, 0, 5)
	})
	t.Run("a request costs nobody else", func(t *testing.T) {
		o := owns(perSec(0, 10))
		o.gets(0, "a", Request{Number: number(1)}, TTL, 5)
		o.gets(sec, "b", Request{Number: number(1)}, TTL, 2)
		o.gets(sec, "b", Request{Number: number(2)}, TTL, 1)
		if o.Held("a") != 5 || o.Held("b") != 1 || o.Held("c") != 0 {
			t.Errorf("a %d, b %d, c %d", o.Held("a"), o.Held("b"), o.Held("c"))
		}
		o.has(t, 2500*ms, 1, 2) // a's has burned
	})
}
