package lease

import (
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// When a borrower speaks to its owner.

// Due says what a borrower has to tell the owner.
type Due uint8

const (
	Nothing Due = iota // there is nothing to say
	Renewal            // ask for tokens, or for longer life
	Return             // give everything back
	Resend             // the answer is overdue: the request may have been lost
)

// Due says what is to be done at now. forwarding says that a check is being sent to the owner, and the borrower may
// want a lease, its first perhaps.
func (b *Borrower) Due(now bucket.Instant, roundTrip time.Duration, forwarding bool) Due {
	if sent, waiting := b.Waiting(); waiting {
		switch {
		case now-sent >= bucket.Instant(TTL): // whatever comes now is dead
			b.GiveUp()
			b.recall = false
		case now-sent >= bucket.Instant(max(4*roundTrip, resendAfter, b.patience)):
			return Resend
		default:
			return Nothing
		}
	}
	demand := b.demand.at(now)
	if b.alive(now) {
		switch {
		case now-b.used > bucket.Instant(Idle) || b.left == 0 && !b.Terms.worth(demand):
			if b.held == 0 {
				return Return
			}
		case now-b.renewed > bucket.Instant(TTL/2): // or it would die with tokens in it
			return Renewal
		}
	}
	if !b.Terms.worth(demand) || ahead(now, b.quiet) {
		return Nothing
	}
	then := now + bucket.Instant(roundTrip+roundTrip/2+time.Millisecond) // when an answer is there
	if ahead(then, b.next) || ahead(then, b.denied) {
		return Nothing
	}
	if forwarding {
		return Renewal
	}
	if !b.had || now-b.used > bucket.Instant(Idle) {
		return Nothing
	}
	if float64(b.Left(now)) <= max(1, lowWater*tokensIn(demand.Tokens, roundTrip)) {
		return Renewal
	}
	return Nothing
}

// resendAfter is how long an answer is waited for at least before the request is sent again.
const resendAfter = 20 * time.Millisecond

// Renew returns the request that is due, under a number that the caller chose.
func (b *Borrower) Renew(now bucket.Instant, number Number) Request {
	if !b.alive(now) {
		b.used = now // somebody wants to use what comes
	}
	b.patience = 0
	r := b.Ask(now, number)
	r.Demand = b.demand.at(now)
	return r
}

// Repeated says whether the request that waits was sent more than once.
func (b *Borrower) Repeated() bool { return b.patience != 0 }

// Repeat returns the request whose answer is overdue once more. The next time is after twice as long.
func (b *Borrower) Repeat(now bucket.Instant) Request {
	sent, _ := b.Waiting()
	b.patience = 2 * time.Duration(now-sent)
	r := b.Again()
	r.Demand = b.demand.at(now)
	return r
}

// Rested says that there is nothing to remember at now: no lease, no word of the owner that still holds, no check
// lately. Who had a lease may soon want one again, and is remembered for longer: it then asks without having to be made
// an offer.
func (b *Borrower) Rested(now bucket.Instant) bool {
	if _, waiting := b.Waiting(); waiting || b.alive(now) || ahead(now, b.denied) || ahead(now, b.next) {
		return false
	}
	if b.had {
		return now-b.checked > bucket.Instant(TTL)
	}
	return now-b.checked > bucket.Instant(Idle)
}
