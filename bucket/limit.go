package bucket

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"time"
)

// MaxTokens bounds every count, burst and cost: 2^53, the largest range of whole numbers that JSON, Lua and every
// client language carry without rounding.
const MaxTokens = 1 << 53

// ErrInvalidLimit is wrapped by every error of Limit.Validate.
var ErrInvalidLimit = errors.New("invalid limit")

// Instant is a point in time: nanoseconds on whatever clock the caller reads. Only differences count, so the clock may
// start anywhere; it should not step, but if it steps back no tokens are added and none are lost.
type Instant int64

// Limit is a token bucket: Count tokens flow in per Per, and at most Burst are ever held. The rate is the exact ratio
// Count/Per; it is never turned into a float.
//
// The zero Limit has no rate and no burst and so blocks everything. A Limit is a value: copy it freely, use it from any
// goroutine.
type Limit struct {
	// Count is the number of tokens that arrive in each Per, 0 to MaxTokens. 0 means that a bucket never refills.
	Count int64
	// Per is the time in which Count tokens arrive, at least 1 ns; it may be 0 only if Count is.
	Per time.Duration
	// Burst is the capacity, 0 to MaxTokens: what a bucket holds when new or rested. 0 blocks all; a cost above it is
	// never admitted.
	Burst int64
	// OwnerLoss says what a bucket holds whose owner was lost. It changes no arithmetic: it travels with the limit to
	// whoever has to know.
	OwnerLoss OwnerLoss
}

// Validate says whether the limit is one that the arithmetic is exact for. The error wraps ErrInvalidLimit and names
// the field and its range.
func (l Limit) Validate() error {
	switch {
	case l.Count < 0 || l.Count > MaxTokens:
		return fmt.Errorf("%w: count %d, want 0 to %d", ErrInvalidLimit, l.Count, int64(MaxTokens))
	case l.Per < 0 || l.Per == 0 && l.Count != 0:
		return fmt.Errorf("%w: %d tokens per %v, want a period above zero", ErrInvalidLimit, l.Count, l.Per)
	case l.Burst < 0 || l.Burst > MaxTokens:
		return fmt.Errorf("%w: burst %d, want 0 to %d", ErrInvalidLimit, l.Burst, int64(MaxTokens))
	case l.OwnerLoss > LossFull:
		return fmt.Errorf("%w: rule %d for the loss of an owner, want 0 to %d", ErrInvalidLimit, l.OwnerLoss, LossFull)
	}
	return nil
}

// Reduced returns the same limit with the smallest numbers that say the same rate: 600 per minute becomes 1 per 100 ms.
// Equal limits are equal values afterwards, which is how limits are interned.
func (l Limit) Reduced() Limit {
	if l.Count == 0 {
		return Limit{Burst: l.Burst, OwnerLoss: l.OwnerLoss}
	}
	a, b := uint64(l.Count), uint64(l.Per)
	for b != 0 {
		a, b = b, a%b
	}
	l.Count, l.Per = l.Count/int64(a), l.Per/time.Duration(a)
	return l
}

// Window is the time in which an empty bucket becomes full, rounded up: burst / rate. It is what RateLimit-Policy calls
// the window of a quota. 0 if the bucket never refills.
func (l Limit) Window() time.Duration { return l.timeFor(uint64(l.Burst), 0) }

// timeFor returns the shortest time after which tokens*Per - frac sub-tokens have arrived, rounded up to whole
// nanoseconds and saturating at the longest Duration, about 292 years. The caller sees to it that the difference is
// not negative. 0 if the limit has no rate: the caller asks never before it asks when.
func (l *Limit) timeFor(tokens, frac uint64) time.Duration {
	if l.Count == 0 {
		return 0
	}
	hi, lo := bits.Mul64(tokens, uint64(l.Per))
	lo, borrow := bits.Sub64(lo, frac, 0)
	hi -= borrow
	if hi >= uint64(l.Count) {
		return math.MaxInt64
	}
	if l.Count == 1 { // as for most limits, reduced
		return time.Duration(min(lo, math.MaxInt64))
	}
	q, r := bits.Div64(hi, lo, uint64(l.Count))
	if r != 0 {
		q++
	}
	return time.Duration(min(q, math.MaxInt64))
}
