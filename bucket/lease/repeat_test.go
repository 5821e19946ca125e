package lease

import (
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// TestRepeat: a request without an answer is repeated as it is, less and less often, and given up when its answer would
// be of no use any more.
func TestRepeat(t *testing.T) {
	b := borrower(2*sec, 0)
	first := b.Renew(2*sec, Number{1, 7})
	var at []time.Duration
	for now := bucket.Instant(2 * sec); now < 2*sec+bucket.Instant(TTL); now += ms {
		if b.Due(now, trip, true) != Resend {
			continue
		}
		if again := b.Repeat(now); again.Number != first.Number || again.Lease != first.Lease {
			t.Fatalf("repeated as %+v, was %+v", again, first)
		}
		at = append(at, time.Duration(now-2*sec))
	}
	want := []time.Duration{20, 40, 80, 160, 320, 640, 1280}
	if len(at) != len(want) {
		t.Fatalf("repeated after %v, want 20 ms and then twice as long each time", at)
	}
	for i := range want {
		if at[i] != want[i]*time.Millisecond {
			t.Errorf("repeated after %v, want %v ms", at, want)
		}
	}
	b.Check(2*sec+bucket.Instant(TTL), 1, trip)
	b.Due(2*sec+bucket.Instant(TTL), trip, false)
	if _, waiting := b.Waiting(); waiting {
		t.Error("it waits for an answer that would be dead")
	}
}

// TestRecalledWhileWaiting: a recall that meets a request under way takes effect with the answer, whatever that says.
func TestRecalledWhileWaiting(t *testing.T) {
	b := borrower(2*sec, 5)
	r := b.Renew(2*sec, Number{1, 9})
	b.Recalled()
	if _, ok := b.Close(2 * sec); ok {
		t.Fatal("closed while a request waits")
	}
	a := Answer{Number: r.Number, Lease: leaseID(1, 1), Tokens: 3, TTL: TTL}
	if give, ok := b.Answer(2*sec, thousands, &a, trip); !give || !ok {
		t.Errorf("give back: %v, want true", give)
	}
	if r, ok := b.Close(2 * sec); !ok || r.Left != 8 {
		t.Errorf("%+v, want all 8 to go back", r)
	}
	if b.grant(3*sec, Answer{Lease: leaseID(1, 2), Tokens: 3}) {
		t.Error("a later answer has everything given back as well")
	}
}

// TestLostIsReported: tokens that died in the purse because the answer to a renewal came too late count as spent, or
// the owner would count on their return for as long as the lease is renewed.
func TestLostIsReported(t *testing.T) {
	b := borrower(2*sec, 50)
	r := b.Renew(2*sec+bucket.Instant(TTL)-ms, Number{1, 9})
	late := 2*sec + bucket.Instant(TTL) + ms
	a := Answer{Number: r.Number, Lease: leaseID(1, 1), Tokens: 3, TTL: TTL}
	if _, ok := b.Answer(late, thousands, &a, trip); !ok || b.Left(late) != 3 {
		t.Fatalf("%d left, want the 3 that came", b.Left(late))
	}
	if r := b.Renew(late, Number{1, 10}); r.Spent != 50 || r.Left != 3 {
		t.Errorf("%+v, want the 50 reported as gone", r)
	}
}

// TestProbeIsOfItsCost: after a deny lease one check of its cost goes to see, and the others are told when to come
// back. A cheaper one is no probe.
func TestProbeIsOfItsCost(t *testing.T) {
	b := borrower(2*sec, 0)
	b.Told(2*sec, thousands, 50, bucket.Decision{Remaining: 1000}, 0, Deny{For: 100 * time.Millisecond, Cost: 50})
	now := 2*sec + 100*ms
	b.checks(t, now, 1, Forward)
	b.checks(t, now, 50, Forward)
	b.checks(t, now, 50, Denied)
	if d, _ := b.Decision(thousands, now, 50, Denied); d.RetryAfter != 2*trip {
		t.Errorf("%+v, want a retry once the probe must be back", d)
	}
	b.Told(now+ms, thousands, 1, bucket.Decision{Allowed: true, Remaining: 40}, 0, Deny{})
	b.checks(t, now+ms, 50, Denied)
	b.checks(t, now+bucket.Instant(2*trip), 50, Forward)
}

// TestQuietWithoutTokens: who is told to wait for the next tokens but got none, and has none, does not ask without
// pause.
func TestQuietWithoutTokens(t *testing.T) {
	b := borrower(2*sec, 0)
	b.grant(2*sec, Answer{Next: 100 * time.Millisecond})
	if d := b.Due(2*sec+ms, trip, true); d != Nothing {
		t.Errorf("due %d right after an answer without tokens", d)
	}
	if d := b.Due(2*sec+100*ms, trip, true); d != Renewal {
		t.Errorf("due %d a pace period later, want a renewal", d)
	}
}
