package lease

import (
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// TestRepeat: a request without an answer is repeated as it is, less and less often, and given up when its answer would be
// of no use any more.
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
