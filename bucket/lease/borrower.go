package lease

import (
	"slices"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// Borrower is a holder's end of one group: the purse, what the owner said last, and when to ask it again. The zero
// Borrower has nothing and forwards every check.
type Borrower struct {
	Purse
	Terms  Terms // of the group
	demand meter

	// Of these instants 0 is none.
	denied bucket.Instant // a deny lease holds before
	next   bucket.Instant // the share of this pace period is spent: costs as a lease has are denied before
	quiet  bucket.Instant // the owner had nothing to say: it is not asked for a lease before
	probe  bucket.Instant // a check has been sent to see if the bucket is still empty: the others wait until then at most

	deny    int64          // for this cost and higher ones the deny lease is
	size    int64          // of the last grant
	renewed bucket.Instant // when the request was sent that the owner answered last
	used    bucket.Instant // when the purse was last used
	checked bucket.Instant // when the last check came
	had     bool           // whether there ever was a lease
	recall  bool           // everything has to be given back once the request that waits is answered
	// patience is for how long an answer is waited for at least before the request is repeated again.
	patience time.Duration
	level    bucket.State   // of the limit that speaks, as the owner told it last
	edge     bucket.Instant // when it counts anew, if it is a window
	which    uint8
}

// Verdict is what a borrower makes of a check.
type Verdict uint8

const (
	Forward Verdict = iota // the owner has to be asked
	Spent                  // admitted, from the purse
	Denied                 // by the owner's word
)

// Check decides a check at now if it can be decided here. roundTrip is how long an answer of the owner takes. If costs differ, each
// has those of all limits, and cost is the largest of them.
func (b *Borrower) Check(now bucket.Instant, cost int64, roundTrip time.Duration, each ...int64) Verdict {
	b.demand.add(now, cost)
	b.checked = now
	if b.Spend(now, cost, each...) {
		b.used = now
		return Spent
	}
	if len(each) > 0 { // what the owner says of one cost says nothing of several
		return Forward
	}
	if b.denies(now, cost) {
		return Denied
	}
	if b.denied != 0 && cost >= b.deny && !ahead(now, b.denied) && now-b.denied < bucket.Instant(DenyMax) {
		b.probe = now + bucket.Instant(2*roundTrip)
	}
	return Forward
}

// HoldCheck is Check for a cost that is taken aside in the purse and not spent yet; costs has those of all limits.
func (b *Borrower) HoldCheck(now bucket.Instant, cost int64, costs []int64, roundTrip time.Duration) (h Hold, v Verdict) {
	b.demand.add(now, cost)
	b.checked = now
	h, ok := b.Hold(now, costs)
	switch {
	case ok:
		b.used = now
		return h, Spent
	case slices.Min(costs) == cost && b.denies(now, cost):
		return h, Denied
	}
	return h, Forward
}

// denies says whether the owner's word denies a cost that the purse can't pay.
func (b *Borrower) denies(now bucket.Instant, cost int64) bool {
	switch {
	case ahead(now, b.next) && cost <= max(1, b.size):
		return true
	case ahead(now, b.denied):
		return cost >= b.deny
	case ahead(now, b.probe):
		return cost >= b.deny
	}
	return false
}

// ahead says whether an instant is still to come.
func ahead(now, at bucket.Instant) bool { return at != 0 && now < at }

// Told takes in the owner's answer to a forwarded check of this cost.
func (b *Borrower) Told(now bucket.Instant, limits []bucket.Limit, cost int64, d bucket.Decision, which int, deny Deny) {
	b.checked = now
	if cost >= b.deny {
		b.probe = 0
		if d.Allowed { // it is not empty any more: nobody has to wait for another probe
			b.denied = 0
		}
	}
	b.shut(now, deny)
	b.see(limits, Level{uint8(which), d.Remaining, d.ResetAfter}, now)
}

// shut takes in a deny lease, unless one for a lower cost holds longer.
func (b *Borrower) shut(now bucket.Instant, deny Deny) {
	if deny.For <= 0 {
		return
	}
	until := now + bucket.Instant(min(deny.For, DenyMax))
	if ahead(now, b.denied) && b.deny <= deny.Cost && until <= b.denied {
		return
	}
	b.denied, b.deny = until, deny.Cost
}

func (b *Borrower) see(limits []bucket.Limit, v Level, now bucket.Instant) {
	if int(v.Which) < len(limits) {
		l := &limits[v.Which]
		b.which, b.edge = v.Which, now+bucket.Instant(v.ResetAfter)
		b.level = bucket.State{Tokens: v.Remaining, Last: now}
		if l.Algorithm == bucket.TokenBucket {
			b.level = v.of(l, now)
		}
	}
}

// Answer takes in the answer to a request; false if it was not waited for. give says that everything has to be
// returned: the caller closes the lease.
func (b *Borrower) Answer(now bucket.Instant, limits []bucket.Limit, a *Answer, roundTrip time.Duration) (give, ok bool) {
	sent, _ := b.Waiting()
	if !b.Accept(now, a) {
		return false, false
	}
	b.see(limits, a.Level, now)
	if a.Tokens > 0 {
		b.size, b.used, b.had = a.Tokens, now, true
	}
	b.renewed = sent
	if a.Next > 0 && (a.Tokens > 0 || b.Left(now) > 0) {
		if !ahead(now, b.next) {
			b.next = now
		}
		b.next += bucket.Instant(a.Next) // asked ahead of time, the period follows the last one
		b.next = min(b.next, now+bucket.Instant(2*b.Terms.Pace))
	}
	if a.Tokens == 0 && a.Deny.For == 0 && !ahead(now, b.next) {
		b.quiet = now + bucket.Instant(max(b.Terms.Pace/4, 4*roundTrip))
	}
	b.shut(now, a.Deny)
	if give = a.Recall || b.recall; give {
		b.Recalled()
	}
	return give, true
}

// Recalled takes in that the owner wants everything back: the caller closes the lease. While a request waits that can't
// be, and what comes with its answer goes back.
func (b *Borrower) Recalled() {
	b.next = 0
	_, b.recall = b.Waiting()
}

// DeniedFor returns for how long checks are denied here at now, by the owner's word; 0 while there is something to
// spend.
func (b *Borrower) DeniedFor(now bucket.Instant) (d time.Duration) {
	if b.Left(now) > 0 {
		return 0
	}
	for _, until := range []bucket.Instant{b.denied, b.next} {
		if ahead(now, until) {
			d = max(d, time.Duration(until-now))
		}
	}
	return d
}

// Demand returns what the borrower is asked for, at now.
func (b *Borrower) Demand(now bucket.Instant) Demand { return b.demand.at(now) }

// estimate is what a limit would answer for a cost if it were as its owner told last, with what has come since.
func (b *Borrower) estimate(l *bucket.Limit, now bucket.Instant, cost int64) bucket.Decision {
	s := b.level
	if l.Algorithm == bucket.TokenBucket {
		s.Refill(l, now)
		if s.Tokens = min(s.Tokens+b.Left(now), l.Burst); s.Tokens == l.Burst {
			s.Frac = 0
		}
		return s.Look(l, now, cost)
	}
	if now >= b.edge {
		s.Tokens = l.Burst
	}
	d := bucket.Decision{Remaining: max(0, min(s.Tokens+b.Left(now), l.Burst))}
	d.Allowed = cost <= d.Remaining
	if d.Remaining < l.Burst {
		d.ResetAfter = time.Duration(b.edge - now)
	}
	if !d.Allowed && cost <= l.Burst {
		d.RetryAfter = max(1, d.ResetAfter)
	}
	return d
}

// Decision gives the numbers of a decision made here: those of the limit that spoke last at the owner, as of then and
// with what has arrived since, and the tokens left here on top.
func (b *Borrower) Decision(limits []bucket.Limit, now bucket.Instant, cost int64, v Verdict) (d bucket.Decision, which int) {
	which = int(b.which)
	if v == Spent {
		return b.estimate(&limits[which], now, 0), which
	}
	d = b.estimate(&limits[which], now, cost)
	if d.Allowed { // there would be enough, but it is not this node's turn
		d.Allowed = false
		d.RetryAfter = max(1, time.Duration(max(b.denied, b.next, b.probe)-now))
	}
	return d, which
}
