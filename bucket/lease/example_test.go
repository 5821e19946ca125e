package lease_test

import (
	"fmt"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

// The owner of a key lends to a node that is asked for it a thousand times a second. That node then decides by itself, and
// gives back what it has not used.
func Example() {
	limits := []bucket.Limit{{Count: 1000, Per: time.Second, Burst: 10_000}}
	now := bucket.Instant(time.Hour)
	group := lease.Group{Limits: limits, States: []bucket.State{bucket.Full(limits[0], now)}}
	lender := lease.NewLender(limits, lease.ID{Epoch: 1}, now)
	borrower := lease.Borrower{Terms: lease.TermsOf(limits)}
	const roundTrip = time.Millisecond
	later := func(d time.Duration) { now += bucket.Instant(d) }

	// It forwards its checks, until they are enough to ask for a lease beside one.
	forwarded := 0
	for due := lease.Nothing; due != lease.Renewal; later(time.Millisecond) {
		verdict := borrower.Check(now, 1, roundTrip)
		due = borrower.Due(now, roundTrip, verdict == lease.Forward)
		answer := lender.Check(group, now, "b", borrower.Demand(now), 1)
		borrower.Told(now, limits, 1, answer.Decision, answer.Which, answer.Deny)
		forwarded++
	}
	fmt.Println("forwarded:", forwarded)

	request := borrower.Renew(now, lease.Number{Incarnation: 1, Seq: 1})
	answer, _ := lender.Renew(group, now, "b", request)
	borrower.Answer(now, limits, &answer, roundTrip)
	fmt.Println("lent:", answer.Tokens, "for", answer.TTL)

	spent := 0
	for ; borrower.Check(now, 1, roundTrip) == lease.Spent && spent < 5; later(time.Millisecond) {
		spent++
	}
	fmt.Println("spent without a message:", spent)

	later(lease.Idle + time.Millisecond)
	if borrower.Due(now, roundTrip, false) == lease.Return {
		back, _ := borrower.Close(now)
		lender.Renew(group, now, "b", back)
		fmt.Println("returned:", back.Left, "still out:", lender.Out())
	}
	// Output:
	// forwarded: 11
	// lent: 23 for 2s
	// spent without a message: 5
	// returned: 17 still out: 0
}
