package bucket_test

import (
	"testing"

	"github.com/drossel-dev/drossel/bucket"
)

// TestArithmeticByExample is the arithmetic as one would tell it: a capacity of 100, and 10 tokens a second.
func TestArithmeticByExample(t *testing.T) {
	l := perSecond(10, 100)
	for _, c := range []struct {
		name  string
		steps []step
	}{
		{"level 50, one second later 60", []step{
			take(0, 50, yes(50, 5*sec)), look(sec, 0, yes(60, 4*sec))}},
		{"level 95, one second later 100, not 105", []step{
			take(0, 5, yes(95, 500*ms)), look(sec, 0, yes(100, 0)), take(sec, 100, yes(0, 10*sec)),
			take(sec, 1, no(0, 100*ms, 10*sec))}},
		{"no time elapsed, unchanged", []step{
			take(0, 50, yes(50, 5*sec)), look(0, 0, yes(50, 5*sec)), take(0, 0, yes(50, 5*sec))}},
		{"empty, 100 s later 100", []step{
			take(0, 100, yes(0, 10*sec)), look(100*sec, 0, yes(100, 0))}},
		{"an earlier time changes nothing", []step{
			take(0, 100, yes(0, 10*sec)), take(5*sec, 0, yes(50, 5*sec)), take(2*sec, 0, yes(50, 5*sec))}},
		{"and later refill counts from the latest time seen", []step{
			take(0, 100, yes(0, 10*sec)), take(5*sec, 0, yes(50, 5*sec)), take(2*sec, 0, yes(50, 5*sec)),
			take(6*sec, 0, yes(60, 4*sec))}},
		{"costs 50 and 50 pass, then 1 is denied", []step{
			take(0, 50, yes(50, 5*sec)), take(0, 50, yes(0, 10*sec)), take(0, 1, no(0, 100*ms, 10*sec))}},
	} {
		t.Run(c.name, func(t *testing.T) { run(t, l, c.steps...) })
	}

	t.Run("a new key starts full: 100 pass, the 101st is denied, one second later 10 more", func(t *testing.T) {
		s := bucket.Full(&l, start)
		admitted := func(now bucket.Instant) (n int) {
			for range 1000 {
				if s.Take(&l, now, 1).Allowed {
					n++
				}
			}
			return n
		}
		if n := admitted(start); n != 100 {
			t.Errorf("%d pass at first, want 100", n)
		}
		if n := admitted(start + bucket.Instant(sec)); n != 10 {
			t.Errorf("%d pass one second later, want 10", n)
		}
	})

	t.Run("two keys never share", func(t *testing.T) {
		a, b := bucket.Full(&l, start), bucket.Full(&l, start)
		a.Take(&l, start, 100)
		if d := b.Take(&l, start, 100); !d.Allowed {
			t.Errorf("the other bucket: %+v, want 100 admitted", d)
		}
	})

	t.Run("two checks at the same instant with 10 tokens left admit 10 between them", func(t *testing.T) {
		s := run(t, l, take(0, 90, yes(10, 9*sec)))
		admitted := 0
		for range 11 {
			for range 2 { // nodes in turn
				if s.Take(&l, start, 1).Allowed {
					admitted++
				}
			}
		}
		if admitted != 10 {
			t.Errorf("%d admitted, want 10", admitted)
		}
	})
}
