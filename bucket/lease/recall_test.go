package lease

import (
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

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
			if a := l.Check(&l.g, sec, "b", rate(1), cost); a.Recall != want || (l.Recalls() == 1) != want {
				t.Errorf("cost %d: recall %v", cost, a.Recall)
			}
		}
		l, _ := lent()
		l.drain(sec, 0)
		if a := l.Check(&l.g, sec, "b", rate(1), 50); a.Recall {
			t.Error("for a cost that is not dear")
		}
	})
	t.Run("the wait is the life of a lease at most", func(t *testing.T) {
		l, _ := lent()
		if a := l.Check(&l.g, sec, "b", rate(1), 900); a.Decision.RetryAfter != TTL {
			t.Errorf("retry after %v", a.Decision.RetryAfter)
		}
	})
	t.Run("nothing is lent meanwhile, and holders who ask are told", func(t *testing.T) {
		l, first := lent()
		l.Check(&l.g, sec, "b", rate(1), 900)
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
		l.Check(&l.g, sec, "b", rate(1), 900)
		l.renews(sec, "a", Request{Lease: first.Lease, Left: first.Tokens, Close: true})
		if a := l.Check(&l.g, sec, "b", rate(1), 500); !a.Decision.Allowed || !l.recall.on(sec) {
			t.Error("a lower cost has ended it")
		}
		l.drain(sec, 950)
		if a := l.Check(&l.g, sec, "b", rate(1), 900); !a.Decision.Allowed || l.recall.on(sec) {
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
			return l.Check(&l.g, now, "b", rate(1), 800).Recall
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
