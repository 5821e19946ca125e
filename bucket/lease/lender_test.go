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
	g   Group
	seq uint64
}

// lendsAt returns a lender of full buckets at now.
func lendsAt(now bucket.Instant, limits ...bucket.Limit) *lends {
	l := &lends{Lender: NewLender(limits, ID{Epoch: 1}, now), g: Group{Limits: limits}}
	for _, limit := range limits {
		l.g.States = append(l.g.States, bucket.Full(limit, now))
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
	a, _ := l.Renew(l.g, now, who, r)
	return a
}

// drain leaves so many tokens in every bucket.
func (l *lends) drain(now bucket.Instant, leave int64) {
	l.Refill(l.g, now)
	for j := range l.g.States {
		l.g.States[j].Tokens, l.g.States[j].Frac = leave, 0
	}
}

func rate(checks float64) Demand { return Demand{Tokens: checks, Checks: checks} }

// A limit of 1 000 a second that holds as many: a quarter, 250, may be lent; the reserve is 50, the pace period 125 ms.
var thousand = perSec(1000, 1000)

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
		if a := l.Check(l.g, sec, "a", Demand{}, 1); a.Offer {
			t.Errorf("%s: one check is offered a lease", tt.name)
		}
		if got := l.asks(sec, "a", tt.demand).Tokens > 0; got != tt.want {
			t.Errorf("%s: lent %v", tt.name, got)
		}
	}
}

// TestOffer: a node that keeps no count is offered a lease once it forwards fifty checks a second.
func TestOffer(t *testing.T) {
	for checks, want := range map[int]bool{40: false, 65: true} {
		l := lendsAt(sec, thousand)
		var a Answered
		for i := range checks {
			now := sec + bucket.Instant(i)*sec/bucket.Instant(checks)
			a = l.Check(l.g, now, "a", Demand{}, 1)
		}
		if a.Offer != want {
			t.Errorf("%d checks a second: offered %v", checks, a.Offer)
		}
		if a = l.Check(l.g, 2*sec, "a", rate(100), 1); a.Offer {
			t.Error("a node that says its demand is offered what it knows of")
		}
	}
}

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
				l.Check(l.g, sec, "other", rate(tt.other), 0)
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

// TestAdapt: a holder that brings much of a lease back gets smaller ones, and larger ones again when it spends them soon.
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

func TestDeny(t *testing.T) {
	t.Run("until the cost fits", func(t *testing.T) {
		l := lendsAt(sec, perSec(10, 20))
		l.drain(sec, 0)
		a := l.Check(l.g, sec, "a", rate(1), 5)
		if a.Decision.Allowed || a.Deny != (Deny{For: DenyMax, Cost: 5}) { // 500 ms until it fits; its share needs longer
			t.Errorf("%+v", a)
		}
		a = l.Check(l.g, sec, "a", rate(1000), 3)
		if a.Deny != (Deny{For: 300 * time.Millisecond, Cost: 3}) || a.Decision.RetryAfter != 300*time.Millisecond {
			t.Errorf("%+v", a)
		}
	})
	t.Run("until its share has paid for it", func(t *testing.T) {
		l := lendsAt(sec, perSec(100, 20))
		l.drain(sec, 0)
		l.Check(l.g, sec, "b", rate(1000), 1)
		a := l.Check(l.g, sec, "a", rate(1000), 10)
		if a.Deny.For != 200*time.Millisecond || a.Decision.RetryAfter != 100*time.Millisecond {
			t.Errorf("%+v, want twice the retry-after of %v", a.Deny, a.Decision.RetryAfter)
		}
	})
	t.Run("a pace period for whoever gets leases", func(t *testing.T) {
		l := lendsAt(sec, thousand)
		l.drain(sec, 0)
		if a := l.Check(l.g, sec, "a", rate(1000), 1); a.Deny.For != 125*time.Millisecond {
			t.Errorf("%+v", a.Deny)
		}
	})
	t.Run("a second at most", func(t *testing.T) {
		l := lendsAt(sec, bucket.Limit{Count: 1, Per: time.Hour, Burst: 5})
		l.drain(sec, 0)
		for _, cost := range []int64{1, 5, 6} {
			if a := l.Check(l.g, sec, "a", rate(10), cost); a.Deny != (Deny{For: DenyMax, Cost: cost}) {
				t.Errorf("cost %d: %+v", cost, a.Deny)
			}
		}
	})
	t.Run("nobody who is admitted", func(t *testing.T) {
		l := lendsAt(sec, thousand)
		if a := l.Check(l.g, sec, "a", rate(10), 1000); !a.Decision.Allowed || a.Deny != (Deny{}) {
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
		if d := l.Check(l.g, sec, "late", rate(5000), 1); !d.Decision.Allowed {
			t.Errorf("a forwarded check is denied: %+v", d)
		}
	})
}

// TestAgain: a request that comes twice gets the same answer, and changes nothing.
func TestAgain(t *testing.T) {
	l := lendsAt(sec, thousand)
	l.drain(sec, 100)
	r := Request{Number: number(1), Demand: rate(500)}
	first, _ := l.Renew(l.g, sec, "a", r)
	again, ok := l.Renew(l.g, sec, "a", r)
	if !ok || first != again || first.Tokens == 0 || first.Next == 0 {
		t.Errorf("%+v, want %+v", again, first)
	}
	if _, ok := l.Renew(l.g, sec, "a", Request{Demand: rate(500)}); ok {
		t.Error("an older request is answered")
	}
}

func TestRecall(t *testing.T) {
	// lent returns a lender of which 250 are out, to a, and 700 are left.
	lent := func() (*lends, Answer) {
		l := lendsAt(sec, perSec(1, 1000))
		a := l.asks(sec, "a", rate(5000))
		l.drain(sec, 700)
		return l, a
	}
	t.Run("for a dear cost that only all together can pay", func(t *testing.T) {
		for cost, want := range map[int64]bool{700: false, 701: true, 950: true, 951: false} {
			l, _ := lent()
			if a := l.Check(l.g, sec, "b", rate(1), cost); a.Recall != want || (l.Recalls() == 1) != want {
				t.Errorf("cost %d: recall %v", cost, a.Recall)
			}
		}
		l, _ := lent()
		l.drain(sec, 0)
		if a := l.Check(l.g, sec, "b", rate(1), 50); a.Recall {
			t.Error("for a cost that is not dear")
		}
	})
	t.Run("the wait is the life of a lease at most", func(t *testing.T) {
		l, _ := lent()
		if a := l.Check(l.g, sec, "b", rate(1), 900); a.Decision.RetryAfter != TTL {
			t.Errorf("retry after %v", a.Decision.RetryAfter)
		}
	})
	t.Run("nothing is lent meanwhile, and holders who ask are told", func(t *testing.T) {
		l, first := lent()
		l.Check(l.g, sec, "b", rate(1), 900)
		a := l.renews(sec, "a", Request{Lease: first.Lease, Left: 10, Spent: first.Tokens - 10, Demand: rate(5000)})
		if a.Tokens != 0 || !a.Recall {
			t.Errorf("%+v", a)
		}
		if a := l.asks(sec, "c", rate(5000)); a.Tokens != 0 || !a.Recall {
			t.Errorf("%+v", a)
		}
	})
	t.Run("ends when the cost has passed", func(t *testing.T) {
		l, first := lent()
		l.Check(l.g, sec, "b", rate(1), 900)
		l.renews(sec, "a", Request{Lease: first.Lease, Left: first.Tokens, Close: true})
		if a := l.Check(l.g, sec, "b", rate(1), 500); !a.Decision.Allowed || !l.recall.on(sec) {
			t.Error("a lower cost has ended it")
		}
		l.drain(sec, 950)
		if a := l.Check(l.g, sec, "b", rate(1), 900); !a.Decision.Allowed || l.recall.on(sec) {
			t.Errorf("%+v", a)
		}
		l.drain(sec, 1000)
		if a := l.asks(sec, "a", rate(5000)); a.Tokens == 0 {
			t.Error("nothing is lent after it")
		}
	})
	t.Run("one that failed is followed by a pause", func(t *testing.T) {
		l, _ := lent()
		dear := func(now bucket.Instant) bool {
			l.drain(now, 700)
			return l.Check(l.g, now, "b", rate(1), 800).Recall
		}
		if !dear(sec) || dear(sec+ms) {
			t.Fatal("not one recall")
		}
		for now := sec + 100*ms; now < 5*sec; now += 100 * ms {
			l.drain(now, 1000)
			a := l.asks(now, "a", rate(5000)) // always out
			if during := now < sec+bucket.Instant(TTL); during == (a.Tokens >= 100) {
				t.Fatalf("at %v %d are lent", time.Duration(now), a.Tokens)
			}
			if dear(now) {
				t.Fatalf("again at %v", time.Duration(now))
			}
		}
		l.drain(5*sec, 1000)
		l.asks(5*sec, "a", rate(5000))
		if !dear(5*sec) || l.Recalls() != 2 {
			t.Error("never again")
		}
	})
}
