package lease

import (
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// ID names a lease. The owner chooses it and never uses it twice: an epoch of its own, and a number in it. The zero ID
// is no lease.
type ID struct{ Epoch, Number uint64 }

// Number names a request. The holder chooses it, and later requests of a holder have higher ones.
type Number struct {
	// Incarnation is higher after each restart of the holder.
	Incarnation uint64
	// Seq rises with each request of an incarnation, over all its purses. 1 is the first.
	Seq uint64
}

func (n Number) before(m Number) bool {
	return n.Incarnation < m.Incarnation || n.Incarnation == m.Incarnation && n.Seq < m.Seq
}

// Demand is what a requester is asked for, admitted or not. It sizes leases and decides nothing, so it may be a float.
type Demand struct {
	Tokens float64 // per second
	Checks float64 // per second
}

// Request is what a holder says to an owner about one group: what it has spent, and that it wants more, or gives back.
type Request struct {
	Number Number
	// Lease is the lease held; zero asks for a new one.
	Lease ID
	// Spent is all that was spent of the lease since it began, in tokens: of each check the largest of its costs.
	Spent int64
	// Under says for each state how much less than Spent was spent of it; nil if no costs differed.
	Under []int64
	// Left is what the purse holds, or, with Close, what comes back.
	Left int64
	// Close ends the lease. There is no answer.
	Close bool
	// Demand is that of the requester.
	Demand Demand
}

// Answer is what an owner says to a Request that does not close.
type Answer struct {
	// Number is that of the request.
	Number Number
	// Lease is the lease that Tokens were added to; zero if the holder has none.
	Lease ID
	// Tokens may be spent, on top of what is left.
	Tokens int64
	// TTL is how long the lease lives, counted from when the request was first sent.
	TTL time.Duration
	// Next is how long no more tokens are to be had, counted from receipt: the holder got its share. 0 is no such word.
	Next time.Duration
	// Deny is the owner's word that the bucket is empty for a while.
	Deny Deny
	// Recall asks for everything back: somebody waits for a cost that only all tokens together can pay.
	Recall bool
	// Level is the state of the bucket, for the numbers in decisions.
	Level Level
}

// Deny is a deny lease: for a while, counted from receipt, no check of this cost or a higher one fits. The zero Deny
// denies nothing.
type Deny struct {
	For  time.Duration // at most DenyMax
	Cost int64
}

// Level is what one limit of a group held when its owner spoke.
type Level struct {
	Which      uint8 // of the group's limits
	Remaining  int64
	ResetAfter time.Duration
}

// of rebuilds the token bucket that a level was told of, received at now. Less than a nanosecond's refill is lost.
func (v Level) of(l *bucket.Limit, now bucket.Instant) bucket.State {
	return bucket.StateFrom(l, bucket.Decision{Remaining: v.Remaining, ResetAfter: v.ResetAfter}, now)
}
