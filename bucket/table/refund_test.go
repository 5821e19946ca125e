package table

import (
	"errors"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// TestRefund gives back what was taken, and no more than that.
func TestRefund(t *testing.T) {
	tb, ls := newTable(t, 1, 1<<20)
	g := intern(t, ls, perSecond(10, 10), perSecond(1, 100))
	refund := func(tokens int64, each ...int64) bucket.Decision {
		t.Helper()
		d, _, err := tb.Refund(0, idOf(1), g, 0, tokens, each...)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if d := refund(5); !d.Allowed || d.Remaining != 10 || tb.Stats().Groups != 0 {
		t.Errorf("of a new key: %+v, %d groups, want all 10 and none", d, tb.Stats().Groups)
	}
	tb.Take(0, idOf(1), g, 0, 8)
	if d := refund(3); !d.Allowed || d.Remaining != 5 {
		t.Errorf("3 of 8: %+v, want 5 left", d)
	}
	if d := refund(4, 1, 4); d.Remaining != 6 {
		t.Errorf("one by one: %+v, want 6 left", d)
	}
	if d := refund(1000); d.Remaining != 10 || d.ResetAfter != 0 {
		t.Errorf("more than was taken: %+v, want all 10", d)
	}
	tb.Debit(0, idOf(1), g, 0, 15)
	if d := refund(3); d.Allowed || d.RetryAfter != 300*time.Millisecond {
		t.Errorf("in debt: %+v, want it to be 2 below zero", d)
	}
	tb.Close(0)
	if _, _, err := tb.Refund(0, idOf(1), g, 0, 1); !errors.Is(err, ErrClosed) {
		t.Errorf("of a closed partition: %v", err)
	}
}

// TestRefundWhileLent: what is lent is out, and does not come back twice.
func TestRefundWhileLent(t *testing.T) {
	l := newLending(t, perSecond(1000, 1000))
	now := l.heat("b")
	a := l.borrow("b", 1, now)
	if a.Tokens == 0 {
		t.Fatal("nothing was lent")
	}
	d, _, err := l.tb.Refund(1, l.id, l.g, now, 1000)
	if err != nil || d.Remaining != 1000-a.Tokens {
		t.Errorf("%d are left of 1000, while %d are lent; %v", d.Remaining, a.Tokens, err)
	}
}
