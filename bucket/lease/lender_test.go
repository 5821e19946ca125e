package lease

import (
	"fmt"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// lends is a lender with what it lends from.
type lends struct {
	*Lender
	g   bucket.Group
	seq uint64
}

// lendsAt returns a lender of full buckets at now.
func lendsAt(now bucket.Instant, limits ...bucket.Limit) *lends {
	l := &lends{Lender: NewLender(limits, ID{Epoch: 1}, now), g: bucket.Group{Limits: limits}}
	for _, limit := range limits {
		l.g.States = append(l.g.States, bucket.Full(&limit, now))
	}
	return l
}

// asks renews for a node without a lease, or with one that it lost.
func (l *lends) asks(now bucket.Instant, who string, d Demand) Answer {
	return l.renews(now, who, Request{Demand: d})
}

func (l *lends) renews(now bucket.Instant, who string, r Request) Answer {
	l.seq++
	r.Number = number(l.seq)
	a, _ := l.Renew(&l.g, now, who, r)
	return a
}

// drain leaves so many tokens in every bucket.
func (l *lends) drain(now bucket.Instant, leave int64) {
	l.Refill(&l.g, now)
	for j := range l.g.States {
		l.g.States[j].Tokens, l.g.States[j].Frac = leave, 0
	}
}

func rate(checks float64) Demand { return Demand{Tokens: checks, Checks: checks} }

// A limit of 1 000 a second that holds as many: a quarter, 250, may be lent; the reserve is 50, the pace period 125 ms.
var thousand = perSec(1000, 1000)

// TestOffer: a node that keeps no count is offered a lease once it forwards fifty checks a second.
func TestOffer(t *testing.T) {
	for checks, want := range map[int]bool{40: false, 65: true} {
		l := lendsAt(sec, thousand)
		var a Answered
		for i := range checks {
			now := sec + bucket.Instant(i)*sec/bucket.Instant(checks)
			a = l.Check(&l.g, now, "a", Demand{}, 1)
		}
		if a.Offer != want {
			t.Errorf("%d checks a second: offered %v", checks, a.Offer)
		}
		if a = l.Check(&l.g, 2*sec, "a", rate(100), 1); a.Offer {
			t.Error("a node that says its demand is offered what it knows of")
		}
	}
}

func TestDeny(t *testing.T) {
	t.Run("until the cost fits", func(t *testing.T) {
		l := lendsAt(sec, perSec(10, 20))
		l.drain(sec, 0)
		for _, demand := range []Demand{rate(1), rate(1000)} { // however seldom it asks
			a := l.Check(&l.g, sec, "a", demand, 5)
			if a.Deny != (Deny{For: 500 * time.Millisecond, Cost: 5}) || a.Decision.RetryAfter != a.Deny.For {
				t.Errorf("%+v", a)
			}
		}
	})
	t.Run("until its share has paid for it", func(t *testing.T) {
		l := lendsAt(sec, perSec(100, 20))
		l.drain(sec, 0)
		l.Check(&l.g, sec, "b", rate(1000), 1)
		a := l.Check(&l.g, sec, "a", rate(1000), 10)
		if a.Deny.For != 200*time.Millisecond || a.Decision.RetryAfter != 100*time.Millisecond {
			t.Errorf("%+v, want twice the retry-after of %v", a.Deny, a.Decision.RetryAfter)
		}
	})
	t.Run("a pace period for whoever gets leases", func(t *testing.T) {
		l := lendsAt(sec, thousand)
		l.drain(sec, 0)
		if a := l.Check(&l.g, sec, "a", rate(1000), 1); a.Deny.For != 125*time.Millisecond {
			t.Errorf("%+v", a.Deny)
		}
	})
	t.Run("a second at most", func(t *testing.T) {
		l := lendsAt(sec, bucket.Limit{Count: 1, Per: time.Hour, Burst: 5})
		l.drain(sec, 0)
		for _, cost := range []int64{1, 5, 6} {
			if a := l.Check(&l.g, sec, "a", rate(10), cost); a.Deny != (Deny{For: DenyMax, Cost: cost}) {
				t.Errorf("cost %d: %+v", cost, a.Deny)
			}
		}
	})
	t.Run("nobody who is admitted", func(t *testing.T) {
		l := lendsAt(sec, thousand)
		if a := l.Check(&l.g, sec, "a", rate(10), 1000); !a.Decision.Allowed || a.Deny != (Deny{}) {
			t.Errorf("%+v", a)
		}
	})
	t.Run("beside an answer without tokens", func(t *testing.T) {
		l := lendsAt(sec, thousand)
		l.drain(sec, 0)
		a := l.asks(sec, "a", rate(1000))
		if a.Tokens != 0 || a.Deny.Cost != 1 || a.Deny.For < l.terms.Pace || a.Deny.For > DenyMax {
			t.Errorf("%+v", a)
		}
	})
	t.Run("no answer of a bucket that is merely lent out", func(t *testing.T) {
		l := lendsAt(sec, thousand)
		for i := range 40 {
			l.asks(sec, fmt.Sprint(i), rate(5000))
		}
		if l.Out() < 249 || l.Out() > l.Lendable() {
			t.Fatalf("%d is out", l.Out())
		}
		a := l.asks(sec, "late", rate(5000))
		if a.Tokens != 0 || a.Deny != (Deny{}) || a.Next != 0 {
			t.Errorf("%+v, want neither tokens nor a word that there are none", a)
		}
		if d := l.Check(&l.g, sec, "late", rate(5000), 1); !d.Decision.Allowed {
			t.Errorf("a forwarded check is denied: %+v", d)
		}
	})
}

// TestAgain: a request that comes twice gets the same answer, and changes nothing.
func TestAgain(t *testing.T) {
	l := lendsAt(sec, thousand)
	l.drain(sec, 100)
	r := Request{Number: number(1), Demand: rate(500)}
	first, _ := l.Renew(&l.g, sec, "a", r)
	again, ok := l.Renew(&l.g, sec, "a", r)
	if !ok || first != again || first.Tokens == 0 || first.Next == 0 {
		t.Errorf("%+v, want %+v", again, first)
	}
	if _, ok := l.Renew(&l.g, sec, "a", Request{Number: number(0), Demand: rate(500)}); ok {
		t.Error("an older request is answered")
	}
}
