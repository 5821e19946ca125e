package lease

import (
	"encoding/hex"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// copied reads what a lender has written of itself at its now, at another node's now.
func (l *lends) copied(t *testing.T, now, there bucket.Instant, after ID) *lends {
	t.Helper()
	l.Refill(&l.g, now)
	b := l.AppendLedger([]byte("before"), now)[len("before"):]
	moved, rest, err := LenderFrom(l.g.Limits, append(b, "after"...), after, there)
	if err != nil || string(rest) != "after" {
		t.Fatalf("%q is left, %v", rest, err)
	}
	g := bucket.Group{Limits: l.g.Limits}
	for _, s := range l.g.States {
		s.Last = there
		g.States = append(g.States, s)
	}
	return &lends{Lender: moved, g: g, seq: l.seq}
}

// TestCopy: a holder finds the new owner as it left the old one.
func TestCopy(t *testing.T) {
	old := lendsAt(sec, thousand)
	r := Request{Number: number(1), Demand: rate(500)}
	first, _ := old.Renew(&old.g, sec, "a", r)
	old.seq = 1
	const there = 100 * sec // another clock
	l := old.copied(t, sec+500*ms, there, ID{Epoch: 2, Number: 40})

	if l.Out() != first.Tokens || l.Held("a") != first.Tokens || l.Burned() != 0 {
		t.Fatalf("%d is out, %d at a, %d burned; %d were lent", l.Out(), l.Held("a"), l.Burned(), first.Tokens)
	}
	again, ok := l.Renew(&l.g, there, "a", r)
	if again.Level = first.Level; !ok || again != first {
		t.Errorf("the same request gets %+v, %v; the old owner said %+v", again, ok, first)
	}
	if _, ok := l.Renew(&l.g, there, "a", Request{Number: number(0), Demand: rate(500)}); ok {
		t.Error("an older request is answered")
	}
	kept := l.renews(there, "a", Request{Lease: first.Lease, Spent: 20, Left: first.Tokens - 20, Demand: rate(500)})
	if kept.Lease != first.Lease || l.Held("a") != first.Tokens-20+kept.Tokens {
		t.Errorf("renewed as %+v, %d at a", kept, l.Held("a"))
	}
	if fresh := l.asks(there, "b", rate(500)); fresh.Lease != (ID{2, 41}) {
		t.Errorf("a new lease is %v, want the one after those of before", fresh.Lease)
	}
}

// TestCopyBurnsLater: a lease burns as long after it was read as it would have after it was written, and not before.
func TestCopyBurnsLater(t *testing.T) {
	old := lendsAt(sec, perSec(0, 1000))
	old.gets(t, sec, "a", 50)
	const there = 100 * sec
	l := old.copied(t, sec+500*ms, there, ID{Epoch: 2})
	ends := there + bucket.Instant(Burn) - 500*ms
	l.Refill(&l.g, ends-1)
	if l.Out() != 50 {
		t.Errorf("%d is out before the end", l.Out())
	}
	l.Refill(&l.g, ends)
	if l.Out() != 0 || l.Burned() != 50 || l.g.States[0].Tokens != 950 {
		t.Errorf("%d is out, %d burned, the bucket has %d", l.Out(), l.Burned(), l.g.States[0].Tokens)
	}
}

// gets lends so many tokens whoever asks.
func (l *lends) gets(t *testing.T, now bucket.Instant, who string, tokens int64) {
	t.Helper()
	l.seq++
	a, _ := l.Request(&l.g, now, who, Request{Number: number(l.seq)}, TTL, func() int64 { return tokens })
	if a.Tokens != tokens {
		t.Fatalf("lent %d", a.Tokens)
	}
}

// TestCopyOfOwnLease: the lease of an owner's own callers burns at the next owner, whose own callers get theirs.
func TestCopyOfOwnLease(t *testing.T) {
	old := lendsAt(sec, thousand)
	now := old.shareWithOwner(sec)
	had := old.Held(localName)
	if had == 0 {
		t.Fatal("the owner's callers have no lease")
	}
	const there = 100 * sec
	l := old.copied(t, now, there, ID{Epoch: 2})
	if l.Out() != old.Out() {
		t.Errorf("%d is out, was %d", l.Out(), old.Out())
	}
	later := l.shareWithOwner(there)
	if mine := l.local.Left(later); mine == 0 || l.Held(localName) != had+mine+l.local.spent {
		t.Errorf("the new owner's callers have %d, and %d is out to nobody and them", mine, l.Held(localName))
	}
	l.Refill(&l.g, there+bucket.Instant(Burn))
	if l.Burned() < had {
		t.Errorf("%d burned, want the %d of the old owner's callers", l.Burned(), had)
	}

	old.TakeBack(&old.g, now)
	if old.Held(localName) != 0 || old.local.Left(now) != 0 || old.Burned() != 0 {
		t.Errorf("%d are held by the old owner's callers after they gave back, %d burned", old.Held(localName), old.Burned())
	}
}

// shareWithOwner has the owner asked by its own callers while another node wants some as well, until they have a lease.
func (l *lends) shareWithOwner(now bucket.Instant) bucket.Instant {
	for i := 0; i < 1000 && l.local.Left(now) == 0; i++ {
		now += ms
		l.Check(&l.g, now, "b", rate(200), 1)
		l.Local(&l.g, now, 1)
	}
	return now
}

func TestReserve(t *testing.T) {
	t.Run("what may be out leaves no room until it burns", func(t *testing.T) {
		o := owns(perSec(10, 100))
		o.take(0, 100)
		o.Reserve(25, 9*sec)
		o.Reserve(0, 90*sec)
		o.has(t, 8*sec, 25, 75)
		o.has(t, 9*sec-ms, 25, 75)
		o.has(t, 10*sec, 0, 85)
		if o.Burned() != 25 || !o.Idle(10*sec) {
			t.Errorf("%d burned, idle %v", o.Burned(), o.Idle(10*sec))
		}
	})
	t.Run("nobody is its holder", func(t *testing.T) {
		l := lendsAt(sec, thousand)
		l.Reserve(10, 100*sec)
		l = l.copied(t, sec, sec, ID{Epoch: 1})
		now := l.shareWithOwner(sec)
		l.giveBackLocal(&l.g, now)
		l.Lender.Request(&l.g, now, localName, Request{Close: true, Left: 10}, TTL, nil)
		if l.Held(localName) != 10 || l.Burned() != 0 || len(l.Holders()) != 0 {
			t.Errorf("%d held by nobody, %d burned, held by %q", l.Held(localName), l.Burned(), l.Holders())
		}
	})
}

// TestBelowZero: a bucket may be below zero, as after a debit: nothing is lent from it or held, and it fills from there.
func TestBelowZero(t *testing.T) {
	l := lendsAt(sec, thousand, perSec(1000, 2000))
	l.g.States[0].Tokens = -500
	if a := l.asks(sec, "a", rate(500)); a.Tokens != 0 || a.Lease != (ID{}) || a.Deny.Cost != 1 || a.Deny.For < 501*time.Millisecond {
		t.Errorf("asked for a lease: %+v", a)
	}
	if a := l.Check(&l.g, sec, "a", rate(500), 1); a.Decision.Allowed || a.Which != 0 || a.Decision.RetryAfter != 501*time.Millisecond {
		t.Errorf("forwarded: %+v", a)
	}
	if a := l.Local(&l.g, sec, 1); a.Decision.Allowed {
		t.Errorf("at the owner: %+v", a)
	}
	if l.setAside(&l.g, sec, HoldID{1, 1}, []int64{1, 1}, time.Second) {
		t.Error("held of what is not there")
	}
	if !l.setAside(&l.g, sec, HoldID{1, 2}, []int64{0, 1}, time.Second) || !l.PutBack(&l.g, sec, HoldID{1, 2}) {
		t.Error("a cost of nothing is not held")
	}
	l.Refill(&l.g, sec+501*ms)
	if l.g.States[0].Tokens != 1 {
		t.Errorf("%d after 501 ms", l.g.States[0].Tokens)
	}
	if a := l.Check(&l.g, sec+501*ms, "a", rate(500), 1); !a.Decision.Allowed {
		t.Errorf("after the wait: %+v", a)
	}
}

// everything is a ledger with something of each kind.
func everything() *owner {
	o := owns(perSec(10, 1000), perSec(20, 2000))
	o.gets(0, "node-b", Request{Number: Number{3, 9}}, TTL, 40)
	o.gets(ms, "node-b", Request{Number: Number{3, 10}, Lease: o.Last, Spent: 7, Under: []int64{0, 2}}, TTL, 5)
	o.entries[0].answer.Next, o.entries[0].answer.Recall = 125*time.Millisecond, true
	o.entries[0].answer.Deny = Deny{time.Millisecond, 1}
	o.gets(ms, localName, Request{Number: Number{0, 1}}, TTL, 6)
	o.Reserve(250, 2*sec)
	o.setAside(&o.g, ms, HoldID{4, 5}, []int64{1, 3}, time.Second)
	o.Settle(&o.g, ms, HoldID{6, 7}, 1, time.Minute)
	o.Settle(&o.g, ms, HoldID{8, 9}, 1, 0) // forgotten already
	return o
}

const everythingHex = "03" + // leases: holder, left, burns in, id, request; answer; spent, under
	"066e6f64652d62" + "26" + "a081bdd707" + "0701" + "030a" + "05" + "80a8d6b907" + "c0b2cd3b" + "c0843d01" + "01" + "07" + "020002" +
	"00" + "06" + "a081bdd707" +
	"00" + "fa01" + "c0a399b907" +
	"01" + "0405" + "00" + "d0c0deeb03" + "0103" + // holds: id, taken, ends in, costs
	"01" + "0607" + "80b09dc2df01" // settlements

// TestCopyGolden: the bytes stay as they are, for nodes of two versions exchange them.
func TestCopyGolden(t *testing.T) {
	o := everything()
	b := o.AppendLedger(nil, ms)
	if got := hex.EncodeToString(b); got != everythingHex {
		t.Errorf("written as\n%s, want\n%s", got, everythingHex)
	}
	l, rest, err := LenderFrom(o.g.Limits, b, o.Last, ms)
	if err != nil || len(rest) != 0 {
		t.Fatal(rest, err)
	}
	// What has no name any more is told from the rest by that.
	want := o.Ledger
	want.settled = want.settled[:1]
	want.entries[1] = unclaimed(6, want.entries[1].burns)
	if !sameLedger(&l.Ledger, &want) {
		t.Errorf("read as %+v, want %+v", l.Ledger, want)
	}
}

func TestCopyMalformed(t *testing.T) {
	o := everything()
	b := o.AppendLedger(nil, ms)
	for n := range b {
		if _, _, err := LenderFrom(o.g.Limits, b[:n], o.Last, ms); !errors.Is(err, ErrCopy) {
			t.Errorf("%d bytes of %d: %v", n, len(b), err)
		}
	}
	if _, _, err := LenderFrom(append(o.g.Limits, o.g.Limits...), b, o.Last, ms); !errors.Is(err, ErrCopy) {
		t.Errorf("as that of a larger group: %v", err)
	}
	huge := &owner{}
	for range 3 {
		huge.Reserve(bucket.MaxTokens, sec)
	}
	if _, _, err := LenderFrom(o.g.Limits, huge.AppendLedger(nil, 0), o.Last, 0); !errors.Is(err, ErrCopy) {
		t.Errorf("more than all tokens are out: %v", err)
	}
}

// FuzzLenderFrom: whatever comes, it is a ledger in order, or an error.
func FuzzLenderFrom(f *testing.F) {
	f.Add(everything().AppendLedger(nil, ms), int64(ms))
	f.Add([]byte{0, 0, 0}, int64(math.MaxInt64-5))
	f.Fuzz(func(t *testing.T, b []byte, at int64) {
		limits := everything().g.Limits
		now := bucket.Instant(at)
		l, rest, err := LenderFrom(limits, b, ID{Epoch: 1}, now)
		if err != nil {
			if !errors.Is(err, ErrCopy) {
				t.Fatal(err)
			}
			return
		}
		if len(rest) > len(b) || l.Out() < 0 || l.Out() > 2*bucket.MaxTokens {
			t.Fatalf("%d bytes left of %d, %d is out", len(rest), len(b), l.Out())
		}
		again, _, err := LenderFrom(limits, l.AppendLedger(nil, now), ID{Epoch: 1}, now)
		if err != nil || again.Out() != l.Out() || len(again.entries) != len(l.entries) || len(again.holds) != len(l.holds) {
			t.Fatalf("%+v read again as %+v: %v", l.Ledger, again, err)
		}
		g := bucket.Group{Limits: limits, States: []bucket.State{bucket.Full(&limits[0], now), bucket.Full(&limits[1], now)}}
		l.Refill(&g, math.MaxInt64)
		if l.Out() != 0 || !l.Idle(math.MaxInt64) {
			t.Fatalf("%d is out for ever", l.Out())
		}
	})
}
