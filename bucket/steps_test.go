package bucket_test

import (
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// step is a number of equal calls at one instant, and what each of them must answer.
type step struct {
	at   time.Duration // since the start of the case, at which the bucket is full
	n    int           // calls, 0 means one
	look bool
	cost int64
	want bucket.Decision
}

func take(at time.Duration, cost int64, want bucket.Decision) step {
	return step{at: at, cost: cost, want: want}
}

func look(at time.Duration, cost int64, want bucket.Decision) step {
	return step{at: at, cost: cost, want: want, look: true}
}

func (s step) times(n int) step {
	s.n = n
	return s
}

// yes is an admission: what remains, and the time until the bucket is full.
func yes(remaining int64, reset time.Duration) bucket.Decision {
	return bucket.Decision{Allowed: true, Remaining: remaining, ResetAfter: reset}
}

// no is a denial for now.
func no(remaining int64, retry, reset time.Duration) bucket.Decision {
	return bucket.Decision{Remaining: remaining, RetryAfter: retry, ResetAfter: reset}
}

// never is a denial for good.
func never(remaining int64, reset time.Duration) bucket.Decision {
	return bucket.Decision{Remaining: remaining, ResetAfter: reset}
}

// start is the instant at which cases start: none that arithmetic may lean on.
const start bucket.Instant = -3_000_000_017

// run makes the calls of all steps on one bucket that is full at the start, and compares every answer in full.
func run(t *testing.T, l bucket.Limit, steps ...step) bucket.State {
	t.Helper()
	if err := l.Validate(); err != nil {
		t.Fatal(err)
	}
	s := bucket.Full(&l, start)
	for i, step := range steps {
		now := start + bucket.Instant(step.at)
		for range max(step.n, 1) {
			before, got := s, bucket.Decision{}
			if step.look {
				got = s.Look(&l, now, step.cost)
			} else {
				got = s.Take(&l, now, step.cost)
			}
			if got != step.want {
				t.Fatalf("step %d, cost %d at %v: got %+v, want %+v", i+1, step.cost, step.at, got, step.want)
			}
			if step.look && s != before {
				t.Fatalf("step %d: a look changed %+v to %+v", i+1, before, s)
			}
		}
	}
	return s
}

// perSecond is n tokens a second.
func perSecond(n, burst int64) bucket.Limit {
	return bucket.Limit{Count: n, Per: time.Second, Burst: burst}
}

const (
	ms  = time.Millisecond
	sec = time.Second
)
