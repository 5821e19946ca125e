package table

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// TestDebit takes what was admitted elsewhere: the bucket goes below zero, and every answer counts from there.
func TestDebit(t *testing.T) {
	tb, ls := newTable(t, 1, 1<<20)
	g := intern(t, ls, perSecond(10, 10), perSecond(1, 100))
	debit := func(now bucket.Instant, tokens int64) {
		t.Helper()
		if err := tb.Debit(0, idOf(1), g, now, tokens); err != nil {
			t.Fatal(err)
		}
	}
	look := func(now bucket.Instant, cost int64) bucket.Decision {
		t.Helper()
		d, _, err := tb.Look(0, idOf(1), g, now, cost)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	debit(0, 0)
	debit(0, -5)
	if n := tb.Stats().Groups; n != 0 {
		t.Fatalf("%d groups after nothing was taken", n)
	}
	debit(0, 13) // leaves -3 and 87
	if d := look(0, 1); d.Allowed || d.Remaining != 0 || d.RetryAfter != 400*time.Millisecond || d.ResetAfter != 1300*time.Millisecond {
		t.Errorf("in debt of 3: %+v", d)
	}
	if d := look(0, 0); !d.Allowed {
		t.Errorf("nothing is denied: %+v", d)
	}
	at := bucket.Instant(400 * time.Millisecond)
	if d, _, _ := tb.Take(0, idOf(1), g, at-1, 1); d.Allowed || d.RetryAfter != 1 {
		t.Errorf("a moment early: %+v", d)
	}
	if d, _, _ := tb.Take(0, idOf(1), g, at, 1); !d.Allowed || d.Remaining != 0 {
		t.Errorf("after the wait: %+v", d)
	}
	debit(at, math.MaxInt64)
	w := tb.parts[0].slab(2).find(idOf(1))
	if a, b := load(w, 0).Tokens, load(w, 1).Tokens; a != -10 || b != -100 {
		t.Errorf("levels %d and %d, want no less than a burst below zero", a, b)
	}
	debit(at, 1)
	if a := load(w, 0).Tokens; a != -10 {
		t.Errorf("%d after one more", a)
	}
	if removed := tb.Sweep(0, at+bucket.Instant(199*time.Second)); removed != 0 {
		t.Error("removed before it was full again")
	}
	if removed := tb.Sweep(0, at+bucket.Instant(200*time.Second)); removed != 1 {
		t.Error("not removed when it was full again")
	}
}

// A debit counts what is lent as out, and a cut limit leaves a debt beyond the new burst as it is.
func TestDebitWhileLent(t *testing.T) {
	l := newLending(t, perSecond(1000, 1000))
	now := l.heat("b")
	a := l.borrow("b", 1, now)
	now += second
	if err := l.tb.Debit(1, l.id, l.g, now, 1500); err != nil {
		t.Fatal(err)
	}
	if d, _, _ := l.tb.Look(1, l.id, l.g, now, 1); d.RetryAfter != time.Duration(501+a.Tokens)*time.Millisecond {
		t.Errorf("%+v: want the wait for a bucket of 1000 without %d and 1500", d, a.Tokens)
	}
	l.g = intern(t, l.tb.limits, perSecond(1, 100))
	l.tb.Take(1, l.id, l.g, now, 0)
	w := l.tb.parts[1].one.find(l.id)
	before := load(w, 0).Tokens
	if err := l.tb.Debit(1, l.id, l.g, now, 5); err != nil || load(w, 0).Tokens != before || before > -500 {
		t.Errorf("%d, was %d: a level below the lowest is not changed; %v", load(w, 0).Tokens, before, err)
	}
}

func TestDebitFindsNoRoom(t *testing.T) {
	tb, ls := newTable(t, 1, MinBytesPerPartition)
	g := intern(t, ls, tenPerHour)
	full := 0
	for k := range uint64(20) {
		if err := tb.Debit(0, idOf(k), g, 0, 1); errors.Is(err, ErrFull) {
			full++
		}
	}
	if st := tb.Stats(); full == 0 || st.Groups+full != 20 || st.Refused != uint64(full) {
		t.Errorf("%d found no room, %+v", full, st)
	}
}
