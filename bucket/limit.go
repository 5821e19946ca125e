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

// MaxLogged is the largest Burst of a sliding window that is kept as a log, and so is exact.
const MaxLogged = 1000

// Limit is how much is admitted, and by which algorithm: in short, Count per Per. A rate is the exact ratio of the two; it is
// never turned into a float.
//
// The zero Limit is a token bucket without rate and burst and so blocks everything. A Limit is a value: copy it freely, use it
// from any goroutine.
type Limit struct {
	// Algorithm says what the numbers mean.
	Algorithm Algorithm
	// Count is, for a token bucket or a pacer, the number of tokens that arrive in each Per, 0 to MaxTokens; 0 means never. For
	// a calendar window it is how much is admitted without being marked as overage, 0 to Burst. Else it is Burst.
	Count int64
	// Per is the time in which Count tokens arrive, or the length of a window, at least 1 ns. It is 0 for a calendar window, and
	// may be if Count is.
	Per time.Duration
	// Burst is the capacity, 0 to MaxTokens: what a token bucket holds when new or rested, what a window admits. 0 blocks all; a
	// cost above it is never admitted. For a pacer it is how much may be ahead of a request that has to wait; 0 lets none wait.
	Burst int64
	// MaxWait is the longest that a pacer tells a request to wait, at least 0. It is 0 for all others.
	MaxWait time.Duration
	// Calendar is the period of a calendar window, and NoCalendar for all others.
	Calendar Calendar
	// OwnerLoss says what a bucket holds whose owner was lost. It changes no arithmetic: it travels with the limit to
	// whoever has to know.
	OwnerLoss OwnerLoss
	// Durable says that what was taken is kept on disk, however short the window is: see IsDurable. It changes no arithmetic.
	Durable bool
	// Zone is the time zone of a calendar window, by its name in the IANA database, such as "Europe/Berlin". "" is UTC.
	Zone string
	// Tag tells the limit from others of its group, now and when the group has other limits: what was taken stays with the tag. 0 is
	// none; limits without one are told by their place. It changes no arithmetic.
	Tag uint64
}

// Validate says whether the limit is one that the arithmetic is exact for. The error wraps ErrInvalidLimit and names
// the field and its range.
func (l Limit) Validate() error {
	switch {
	case l.Algorithm > CalendarWindow:
		return fmt.Errorf("%w: algorithm %d, want 0 to %d", ErrInvalidLimit, l.Algorithm, CalendarWindow)
	case l.Count < 0 || l.Count > MaxTokens:
		return fmt.Errorf("%w: count %d, want 0 to %d", ErrInvalidLimit, l.Count, int64(MaxTokens))
	case l.Burst < 0 || l.Burst > MaxTokens:
		return fmt.Errorf("%w: burst %d, want 0 to %d", ErrInvalidLimit, l.Burst, int64(MaxTokens))
	case l.OwnerLoss > LossFull:
		return fmt.Errorf("%w: rule %d for the loss of an owner, want 0 to %d", ErrInvalidLimit, l.OwnerLoss, LossFull)
	case l.Algorithm == CalendarWindow:
		return l.validateCalendar()
	case l.Calendar != NoCalendar || l.Zone != "":
		return fmt.Errorf("%w: a %v with a %v of the calendar in zone %q, want none", ErrInvalidLimit, l.Algorithm, l.Calendar, l.Zone)
	case l.Per < 0 || l.Per == 0 && (l.Count != 0 || l.isWindow()):
		return fmt.Errorf("%w: %d tokens per %v, want a period above zero", ErrInvalidLimit, l.Count, l.Per)
	case l.MaxWait < 0 || l.MaxWait > 0 && l.Algorithm != Pacer:
		return fmt.Errorf("%w: a %v with a wait of %v, want 0 or more for a pacer, else 0", ErrInvalidLimit, l.Algorithm, l.MaxWait)
	case l.isWindow() && l.Count != l.Burst:
		return fmt.Errorf("%w: a %v with count %d and burst %d, want the same", ErrInvalidLimit, l.Algorithm, l.Count, l.Burst)
	}
	return nil
}

func (l *Limit) validateCalendar() error {
	switch {
	case l.Calendar == NoCalendar || l.Calendar > Year:
		return fmt.Errorf("%w: calendar period %d, want %d to %d", ErrInvalidLimit, l.Calendar, Minute, Year)
	case l.Per != 0 || l.MaxWait != 0:
		return fmt.Errorf("%w: a %v with a period of %v and a wait of %v, want 0", ErrInvalidLimit, l.Algorithm, l.Per, l.MaxWait)
	case l.Count > l.Burst:
		return fmt.Errorf("%w: a quota of %d and at most %d, want no less", ErrInvalidLimit, l.Count, l.Burst)
	}
	if _, err := zoned(l.Zone); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalidLimit, err)
	}
	return nil
}

// Overage is how much of a quota is admitted and marked; 0 for all but calendar windows.
func (l *Limit) Overage() int64 {
	if l.Algorithm != CalendarWindow {
		return 0
	}
	return l.Burst - l.Count
}

// IsOverage says whether a quota of which so much remains after an admission counts that as overage.
func (l *Limit) IsOverage(remaining int64) bool {
	return remaining < l.Overage()
}

// isWindow says whether Burst is what a window of one length admits.
func (l *Limit) isWindow() bool {
	return l.Algorithm == SlidingWindow || l.Algorithm == FixedWindow || l.Algorithm == FirstHitWindow
}

// IsLogged says whether the limit is a sliding window that is kept as a log.
func (l *Limit) IsLogged() bool { return l.Algorithm == SlidingWindow && l.Burst <= MaxLogged }

// isCounters says whether the limit is a sliding window that is kept as two counters.
func (l *Limit) isCounters() bool { return l.Algorithm == SlidingWindow && l.Burst > MaxLogged }

// Reduced returns the same limit with the smallest numbers that say the same: of a token bucket, 600 per minute becomes 1 per
// 100 ms. Equal limits are equal values afterwards, which is how limits are interned.
func (l Limit) Reduced() Limit {
	switch {
	case l.Algorithm == CalendarWindow:
		if l.Zone == "UTC" {
			l.Zone = ""
		}
		return l
	case l.isWindow():
		return l
	case l.Count == 0:
		l.Per = 0
		return l
	}
	a, b := uint64(l.Count), uint64(l.Per)
	for b != 0 {
		a, b = b, a%b
	}
	l.Count, l.Per = l.Count/int64(a), l.Per/time.Duration(a)
	return l
}

// Capacity is the most that can be admitted at one instant, in checks of cost 1: the burst, or of a pacer all that may have to
// wait and the one that goes at once. It is at most MaxTokens.
func (l Limit) Capacity() int64 {
	if l.Algorithm != Pacer {
		return l.Burst
	}
	if l.Count == 0 {
		return 0
	}
	queue, _ := l.queue()
	return min(queue+1, MaxTokens)
}

// Most is the largest cost that is ever admitted: the burst, or for a pacer any that there is, for the next request waits until it
// has been paid for.
func (l Limit) Most() int64 {
	if l.Algorithm == Pacer && l.Count > 0 {
		return MaxTokens
	}
	return l.Burst
}

// DurableWindow is how long a window is of which it matters to forget what was taken when all nodes end at once.
const DurableWindow = time.Hour

// IsDurable says whether what was taken is to be kept on disk, where there is one: because the limit says so, or because its window is
// DurableWindow or longer.
func (l Limit) IsDurable() bool { return l.Durable || l.Window() >= DurableWindow }

// Window is what RateLimit-Policy calls the window of a quota: the length of a window, of a month 31 days and of a year 366.
// Of a token bucket it is the time in which an empty one becomes full, burst / rate, and of a pacer that in which a full queue
// gets empty, rounded up; 0 if it never does.
func (l Limit) Window() time.Duration {
	switch l.Algorithm {
	case TokenBucket:
		return l.timeFor(uint64(l.Burst), 0)
	case Pacer:
		return l.timeFor(uint64(l.Capacity()), 0)
	case CalendarWindow:
		return l.Calendar.longest()
	default:
		return l.Per
	}
}

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
