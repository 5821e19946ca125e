package lease

import (
	"reflect"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

const trip = 2 * time.Millisecond

var thousands = []bucket.Limit{thousand}

// borrower returns one that is asked for a thousand checks a second since a second ago, and holds so many tokens.
func borrower(now bucket.Instant, tokens int64) *Borrower {
	b := &Borrower{Terms: TermsOf(thousands)}
	asked(&b.demand, now-sec, sec, ms, 1)
	if tokens > 0 {
		b.grant(now, Answer{Lease: leaseID(1, 1), Tokens: tokens})
	}
	return b
}

// grant asks at now and is answered at once.
func (b *Borrower) grant(now bucket.Instant, a Answer) (give bool) {
	r := b.Renew(now, Number{1, b.asked.Seq + 1})
	a.Number, a.TTL = r.Number, TTL
	give, _ = b.Answer(now, thousands, &a, trip)
	return give
}

func (b *Borrower) checks(t *testing.T, now bucket.Instant, cost int64, want Verdict) {
	t.Helper()
	if got := b.Check(now, cost, trip); got != want {
		t.Errorf("cost %d at %v: verdict %d, want %d", cost, time.Duration(now), got, want)
	}
}

func TestCheck(t *testing.T) {
	t.Run("a new borrower forwards", func(t *testing.T) {
		var b Borrower
		b.checks(t, sec, 1, Forward)
		b.checks(t, sec, 0, Forward)
	})
	t.Run("spends what it has", func(t *testing.T) {
		b := borrower(2*sec, 3)
		b.checks(t, 2*sec, 2, Spent)
		b.checks(t, 2*sec, 2, Forward)
		b.checks(t, 2*sec, 1, Spent)
		b.checks(t, 2*sec, 1, Forward)
	})
	t.Run("a deny lease is for its cost and higher ones", func(t *testing.T) {
		b := borrower(2*sec, 0)
		b.Told(2*sec, thousands, 5, bucket.Decision{}, 0, Deny{For: 100 * time.Millisecond, Cost: 5})
		b.checks(t, 2*sec, 4, Forward)
		b.checks(t, 2*sec, 5, Denied)
		b.checks(t, 2*sec+100*ms-1, 6, Denied)
		b.checks(t, 2*sec+100*ms, 5, Forward)
	})
	t.Run("a purse pays in spite of a deny lease", func(t *testing.T) {
		b := borrower(2*sec, 3)
		b.Told(2*sec, thousands, 5, bucket.Decision{}, 0, Deny{For: 100 * time.Millisecond, Cost: 1})
		b.checks(t, 2*sec, 3, Spent)
		b.checks(t, 2*sec, 1, Denied)
	})
	t.Run("no deny lease is longer than a second", func(t *testing.T) {
		b := borrower(2*sec, 0)
		b.Told(2*sec, thousands, 1, bucket.Decision{}, 0, Deny{For: time.Hour, Cost: 1})
		if b.DeniedFor(2*sec) != DenyMax {
			t.Errorf("denied for %v", b.DeniedFor(2*sec))
		}
		b.checks(t, 3*sec-1, 1, Denied)
		b.checks(t, 3*sec, 1, Forward)
	})
	t.Run("of two the one for the lower cost stays", func(t *testing.T) {
		b := borrower(2*sec, 0)
		b.Told(2*sec, thousands, 5, bucket.Decision{}, 0, Deny{For: 200 * time.Millisecond, Cost: 2})
		b.Told(2*sec, thousands, 5, bucket.Decision{}, 0, Deny{For: 100 * time.Millisecond, Cost: 5})
		b.checks(t, 2*sec+150*ms, 2, Denied)
	})
	t.Run("an admission ends it", func(t *testing.T) {
		b := borrower(2*sec, 0)
		b.Told(2*sec, thousands, 5, bucket.Decision{}, 0, Deny{For: time.Second, Cost: 5})
		b.Told(2*sec, thousands, 4, bucket.Decision{Allowed: true}, 0, Deny{})
		b.checks(t, 2*sec, 5, Denied)
		b.Told(2*sec, thousands, 5, bucket.Decision{Allowed: true}, 0, Deny{})
		b.checks(t, 2*sec, 5, Forward)
	})
	t.Run("after it one check goes to see, and the others wait for its answer", func(t *testing.T) {
		b := borrower(2*sec, 0)
		b.Told(2*sec, thousands, 5, bucket.Decision{}, 0, Deny{For: 100 * time.Millisecond, Cost: 5})
		now := 2*sec + 100*ms
		b.checks(t, now, 5, Forward)
		b.checks(t, now, 5, Denied)
		b.checks(t, now, 4, Forward)
		b.checks(t, now+4*ms-1, 9, Denied)
		b.checks(t, now+8*ms, 5, Forward) // the answer does not come
		b.Told(now+9*ms, thousands, 5, bucket.Decision{Allowed: true}, 0, Deny{})
		b.checks(t, now+9*ms, 5, Forward)
	})
	t.Run("costs as its leases pay wait for the next, dearer ones are forwarded", func(t *testing.T) {
		b := borrower(2*sec, 0)
		b.grant(2*sec, Answer{Lease: leaseID(1, 1), Tokens: 10, Next: 125 * time.Millisecond})
		b.checks(t, 2*sec, 10, Spent)
		b.checks(t, 2*sec, 10, Denied)
		b.checks(t, 2*sec, 11, Forward)
		b.checks(t, 2*sec+125*ms, 10, Forward)
		b.Recalled()
		b.checks(t, 2*sec+1*ms, 10, Forward)
	})
	t.Run("an answer ahead of time lets the next period follow", func(t *testing.T) {
		b := borrower(2*sec, 0)
		next := Answer{Lease: leaseID(1, 1), Tokens: 10, Next: 125 * time.Millisecond}
		b.grant(2*sec, next)
		b.grant(2*sec+120*ms, next)
		b.checks(t, 2*sec+120*ms, 20, Spent)
		b.checks(t, 2*sec+250*ms-1, 1, Denied)
		b.checks(t, 2*sec+250*ms, 1, Forward)
	})
}

func TestDue(t *testing.T) {
	const now = 2 * sec
	due := func(t *testing.T, b *Borrower, now bucket.Instant, forwarding bool, want Due) {
		t.Helper()
		if got := b.Due(now, trip, forwarding); got != want {
			t.Errorf("at %v due %d, want %d", time.Duration(now), got, want)
		}
	}
	t.Run("who is asked little has nothing to say", func(t *testing.T) {
		b := &Borrower{Terms: TermsOf(thousands)}
		due(t, b, now, false, Nothing)
		due(t, b, now, true, Nothing)
	})
	t.Run("a first lease comes with a forwarded check", func(t *testing.T) {
		b := borrower(now, 0)
		due(t, b, now, false, Nothing)
		due(t, b, now, true, Renewal)
	})
	t.Run("one request at a time, sent again when its answer is overdue", func(t *testing.T) {
		b := borrower(now, 0)
		b.Renew(now, number(1))
		due(t, b, now, true, Nothing)
		due(t, b, now+20*ms-1, true, Nothing)
		due(t, b, now+20*ms, false, Resend)
		if got := b.Due(now+20*ms, 10*time.Millisecond, false); got != Nothing {
			t.Errorf("due %d before four round trips", got)
		}
	})
	t.Run("renews when what is left lasts for three round trips", func(t *testing.T) {
		b := borrower(now, 20)
		due(t, b, now, false, Nothing)
		b.Spend(now, 13)
		due(t, b, now, false, Nothing) // 7 last for 7 ms
		b.Spend(now, 2)
		due(t, b, now, false, Renewal)
	})
	t.Run("waits for its turn", func(t *testing.T) {
		b := borrower(now, 0)
		b.grant(now, Answer{Lease: leaseID(1, 1), Tokens: 10, Next: 125 * time.Millisecond})
		b.Check(now, 10, trip)
		due(t, b, now+100*ms, false, Nothing)
		due(t, b, now+100*ms, true, Nothing)
		due(t, b, now+121*ms, false, Renewal) // a round trip and a half before
	})
	t.Run("asks nothing while a deny lease holds", func(t *testing.T) {
		b := borrower(now, 0)
		b.grant(now, Answer{Deny: Deny{For: 100 * time.Millisecond, Cost: 1}})
		due(t, b, now+90*ms, true, Nothing)
		due(t, b, now+96*ms, true, Renewal)
	})
	t.Run("leaves an owner that had nothing to say alone for a while", func(t *testing.T) {
		b := borrower(now, 0)
		b.grant(now, Answer{})
		due(t, b, now+31*ms, true, Nothing) // a quarter of a pace period
		due(t, b, now+32*ms, true, Renewal)
	})
	t.Run("renews after half of the life, or it would die with tokens in it", func(t *testing.T) {
		b := borrower(now, 100_000)
		for at := now; at <= now+sec; at += 100 * ms {
			b.Check(at, 1, trip)
			due(t, b, at, false, Nothing)
		}
		due(t, b, now+sec+1, false, Renewal)
	})
	t.Run("returns what was not used for a while", func(t *testing.T) {
		b := borrower(now, 100)
		b.Check(now+100*ms, 1, trip)
		due(t, b, now+500*ms, false, Nothing)
		due(t, b, now+500*ms+1, false, Return)
		h, _ := b.Hold(now+500*ms, []int64{1})
		due(t, b, now+500*ms+1, false, Nothing)
		b.PutBack(now+500*ms, h)
		due(t, b, now+500*ms+1, false, Return)
		if _, ok := b.Close(now + 500*ms + 1); !ok {
			t.Fatal("not closed")
		}
		due(t, b, now+500*ms+1, false, Nothing)
	})
	t.Run("returns an empty lease when it is not worth one any more", func(t *testing.T) {
		b := borrower(now, 10)
		b.Check(now, 10, trip)
		due(t, b, now+300*ms, false, Renewal)
		due(t, b, now+350*ms, false, Return) // less than fifty a second by now
	})
	t.Run("asks for no lease that nobody waits for", func(t *testing.T) {
		b := borrower(now, 10)
		b.Check(now, 10, trip)
		b.Close(now)
		asked(&b.demand, now, sec, ms, 1) // and none of it forwarded
		due(t, b, now+sec, false, Nothing)
		due(t, b, now+sec, true, Renewal)
	})
	t.Run("gives back what is recalled", func(t *testing.T) {
		b := borrower(now, 10)
		if give := b.grant(now, Answer{Lease: leaseID(1, 1), Recall: true}); !give {
			t.Error("not told")
		}
	})
}

// TestRenew: a request carries the demand.
func TestRenew(t *testing.T) {
	b := borrower(2*sec, 10)
	b.Check(2*sec, 3, trip)
	r := b.Renew(2*sec+10*ms, number(9))
	want := Request{Number: number(9), Lease: leaseID(1, 1), Spent: 3, Left: 7, Demand: b.Demand(2*sec + 10*ms)}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("%+v, want %+v", r, want)
	}
}

// TestDecision: the numbers of a decision made at a holder.
func TestDecision(t *testing.T) {
	const now = 2 * sec
	b := borrower(now, 0)
	b.grant(now, Answer{Lease: leaseID(1, 1), Tokens: 10, Next: 125 * time.Millisecond,
		Level: Level{Remaining: 500, ResetAfter: 500 * time.Millisecond}})
	b.Check(now, 4, trip)
	const reset = 394 * time.Millisecond
	for _, tt := range []struct {
		name    string
		after   bucket.Instant
		cost    int64
		verdict Verdict
		want    bucket.Decision
	}{
		{"spent", 100 * ms, 4, Spent, bucket.Decision{Allowed: true, Remaining: 606, ResetAfter: reset}},
		{"too dear", 100 * ms, 700, Denied,
			bucket.Decision{Remaining: 606, RetryAfter: 94 * time.Millisecond, ResetAfter: reset}},
		{"not its turn for another 25 ms", 100 * ms, 7, Denied,
			bucket.Decision{Remaining: 606, RetryAfter: 25 * time.Millisecond, ResetAfter: reset}},
		{"full", sec, 1, Spent, bucket.Decision{Allowed: true, Remaining: 1000}},
	} {
		if d, which := b.Decision(thousands, now+tt.after, tt.cost, tt.verdict); d != tt.want || which != 0 {
			t.Errorf("%s: %+v of limit %d, want %+v", tt.name, d, which, tt.want)
		}
	}
}

// TestRested: a borrower is thrown away when there is nothing that it would have to remember.
func TestRested(t *testing.T) {
	const now = 2 * sec
	if b := (&Borrower{}); !b.Rested(now) {
		t.Error("a new one")
	}
	b := borrower(now, 0)
	b.Check(now, 1, trip)
	if b.Rested(now+400*ms) || !b.Rested(now+400*ms+1) {
		t.Error("after a check")
	}
	b.Told(now, thousands, 1, bucket.Decision{}, 0, Deny{For: time.Second, Cost: 1})
	if b.Rested(now+sec-1) || !b.Rested(now+sec) {
		t.Error("with a deny lease")
	}
	b.Renew(now, number(1))
	if b.Rested(now + 10*sec) {
		t.Error("while it waits")
	}
	b.Answer(now, thousands, &Answer{Number: number(1), Lease: leaseID(1, 1), Tokens: 1, TTL: TTL}, trip)
	if b.Rested(now+2*sec) || !b.Rested(now+2*sec+1) {
		t.Error("after a lease")
	}
}
