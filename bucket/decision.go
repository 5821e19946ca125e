package bucket

import "time"

// Decision is the answer of one limit to one check. It is pure: the same state, limit, instant and cost give the same
// Decision anywhere. It is kept to four words, so that it travels in registers.
type Decision struct {
	// Allowed says that the bucket held the cost.
	Allowed bool
	// Remaining is the number of whole tokens held, at least 0; after a take, what is left.
	Remaining int64
	// RetryAfter is how long until the same cost fits if nobody else takes: waiting exactly this long succeeds, one
	// nanosecond less does not. 0 if allowed or never. It saturates at about 292 years. Like ResetAfter it counts from the
	// latest instant seen, should the clock have stepped back.
	RetryAfter time.Duration
	// ResetAfter is how long until the bucket is full if nobody takes. 0 if it is full or does not refill.
	ResetAfter time.Duration
}

// Never says that no wait can help: the cost is above the burst, or the bucket does not refill.
func (d Decision) Never() bool { return !d.Allowed && d.RetryAfter == 0 }
