package lease

import (
	"testing"

	"github.com/drossel-dev/drossel/bucket"
)

// TestLocal: what the owner's own callers get.
func TestLocal(t *testing.T) {
	t.Run("alone, all there is", func(t *testing.T) {
		l := lendsAt(sec, thousand)
		for range 1000 {
			if a := l.Local(&l.g, sec, 1); !a.Decision.Allowed {
				t.Fatalf("%+v", a)
			}
		}
		if a := l.Local(&l.g, sec, 1); a.Decision.Allowed || a.Decision.RetryAfter.Nanoseconds() != 1e6 {
			t.Errorf("%+v", a)
		}
		if l.Out() != 0 || l.Renewals() != 0 {
			t.Errorf("%d out", l.Out())
		}
	})
	t.Run("beside others, its share", func(t *testing.T) {
		l := lendsAt(0, thousand)
		l.drain(0, 0)
		local, other := 0, int64(0)
		var next bucket.Instant
		var lease ID
		var left, spent int64
		for now := ms; now < 10*sec; now += ms / 4 { // four thousand local checks a second, and two thousand at another
			if l.Local(&l.g, now, 1).Decision.Allowed && now >= 2*sec {
				local++
			}
			if now >= next {
				spent += left
				a := l.renews(now, "other", Request{Lease: lease, Spent: spent, Demand: rate(2000)})
				if a.Lease != lease {
					lease, spent = a.Lease, 0
				}
				left, next = a.Tokens, now+bucket.Instant(max(a.Next, a.Deny.For, 10e6))
				if now >= 2*sec {
					other += left
				}
			}
			if now%(10*ms) == 0 && l.Out() > l.Lendable() {
				t.Fatalf("I8: %d is out", l.Out())
			}
		}
		if local < 3200 || other < 3200 || local+int(other) < 7600 || local+int(other) > 8300 {
			t.Errorf("in eight seconds %d local ones and %d of the other are admitted, want 4000 each", local, other)
		}
	})
	t.Run("its lease comes back when nobody else is left", func(t *testing.T) {
		l := lendsAt(sec, thousand)
		now := sec
		for ; now < 2*sec; now += ms {
			l.Check(&l.g, now, "other", rate(100), 1)
			l.Local(&l.g, now, 1)
		}
		if l.Held(localName) == 0 || len(l.Holders()) != 0 {
			t.Fatalf("%d held, holders %q", l.Held(localName), l.Holders())
		}
		l.Local(&l.g, now+sec, 1)
		if l.Out() != 0 {
			t.Errorf("%d is out", l.Out())
		}
	})
	t.Run("its lease comes back when it asks no more", func(t *testing.T) {
		l := lendsAt(sec, thousand)
		now := sec
		for ; now < 2*sec; now += ms {
			l.Check(&l.g, now, "other", rate(100), 1)
			l.Local(&l.g, now, 1)
		}
		l.Check(&l.g, now+bucket.Instant(Idle)/2, "other", rate(100), 1)
		if l.Held(localName) == 0 {
			t.Error("early")
		}
		l.Check(&l.g, now+bucket.Instant(Idle)+ms, "other", rate(100), 1)
		if l.Held(localName) != 0 {
			t.Errorf("%d held", l.Held(localName))
		}
	})
	t.Run("its lease comes back for a dear cost of another", func(t *testing.T) {
		l := lendsAt(sec, thousand)
		now := sec
		for ; now < 2*sec; now += ms {
			l.Check(&l.g, now, "other", rate(100), 1)
			l.Local(&l.g, now, 1)
		}
		held := l.Held(localName)
		l.drain(now, 500)
		if a := l.Check(&l.g, now, "other", rate(100), 500+held); !a.Recall {
			t.Fatalf("%+v with %d held", a, held)
		}
		if a := l.Check(&l.g, now, "other", rate(100), 500+held-1); !a.Decision.Allowed && l.Held(localName) > 0 {
			t.Errorf("%+v with %d held", a, l.Held(localName))
		}
	})
}
