package lease

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// reader takes a copy apart. After an error it returns zeros.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", ErrCopy, what)
	}
	r.b = nil
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail("it ends early, or a number is too long")
		return 0
	}
	r.b = r.b[n:]
	return v
}

// upTo reads a number that is no larger than most.
func (r *reader) upTo(most uint64) int64 {
	v := r.uvarint()
	if v > most {
		r.fail(fmt.Sprintf("%d, want %d at most", v, most))
		return 0
	}
	return int64(v)
}

// count reads how many things follow, of a byte each at least.
func (r *reader) count() int {
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.fail(fmt.Sprintf("%d things in %d bytes", n, len(r.b)))
		return 0
	}
	return int(n)
}

func (r *reader) tokens(n int) []int64 {
	all := make([]int64, n)
	for i := range all {
		all[i] = r.upTo(bucket.MaxTokens)
	}
	return all
}

// out adds to what is out: more than a capacity and a reserve never is.
func (r *reader) out(sum, more int64) int64 {
	if sum += more; sum > 2*bucket.MaxTokens {
		r.fail("more tokens are out than any bucket has")
	}
	return sum
}

func (r *reader) duration() time.Duration { return time.Duration(r.upTo(math.MaxInt64)) }

// instant reads when something is, as far from now as it was for the writer.
func (r *reader) instant(now bucket.Instant) bucket.Instant {
	at := now + bucket.Instant(r.duration())
	if at < now { // beyond all time
		at = math.MaxInt64
	}
	return at
}

// before reads when something was, as far before now as it was for the writer.
func (r *reader) before(now bucket.Instant) bucket.Instant {
	at := now - bucket.Instant(r.duration())
	if at > now { // before all time
		at = math.MinInt64
	}
	return at
}

func (r *reader) entry(states int, now bucket.Instant) (e entry) {
	n := r.count()
	e.holder, r.b = string(r.b[:n]), r.b[n:]
	e.left, e.burns = r.upTo(bucket.MaxTokens), r.instant(now)
	if e.holder == localName {
		return unclaimed(e.left, e.burns)
	}
	e.lease = ID{r.uvarint(), r.uvarint()}
	e.number = Number{r.uvarint(), r.uvarint()}
	e.answer = Answer{Number: e.number, Lease: e.lease, Tokens: r.upTo(bucket.MaxTokens), TTL: r.duration(),
		Next: r.duration(), Deny: Deny{r.duration(), r.upTo(bucket.MaxTokens)}, Recall: r.upTo(1) == 1}
	e.spent = r.upTo(math.MaxInt64)
	switch r.upTo(uint64(states)) {
	case 0:
	case int64(states):
		e.under = make([]int64, states)
		for j := range e.under {
			e.under[j] = r.upTo(math.MaxInt64)
		}
	default:
		r.fail("an account of some states only")
	}
	return e
}
