package lease_test

import (
	"fmt"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

// The owner of a key lends to a node that is asked for it a thousand times a second. That node then decides by
// itself, and gives back what it has not used.
func Example() {
	limits := []bucket.Limit{{Count: 1000, Per: time.Second, Burst: 10_000}}
	now := bucket.Instant(time.Hour)
	group := &bucket.Group{Limits: limits, States: []bucket.State{bucket.Full(&limits[0], now)}}
	lender := lease.NewLender(limits, lease.ID{Epoch: 1}, now)
	borrower := lease.Borrower{Terms: lease.TermsOf(limits)}
	const roundTrip = time.Millisecond
	later := func(d time.Duration) { now += bucket.Instant(d) }

	// It forwards its checks, until the owner has seen that they are many.
	for range 1000 {
		borrower.Check(now, 1, roundTrip)
		answer := lender.Check(group, now, "b", lease.Demand{}, 1)
		borrower.Told(now, limits, 1, answer.Decision, answer.Which, answer.Deny)
		later(time.Millisecond)
		if answer.Offer && borrower.Due(now, roundTrip, true) == lease.Renewal {
			fmt.Println("offered a lease")
			break
		}
	}

	request := borrower.Renew(now, lease.Number{Incarnation: 1, Seq: 1})
	answer, _ := lender.Renew(group, now, "b", request)
	borrower.Answer(now, limits, &answer, roundTrip)
	fmt.Println("lent for", answer.TTL)

	spent := 0
	for spent < 5 && borrower.Check(now, 1, roundTrip) == lease.Spent {
		spent++
		later(time.Millisecond)
	}
	fmt.Println("spent without a message:", spent)

	later(lease.Idle)
	if borrower.Due(now, roundTrip, false) == lease.Return {
		back, _ := borrower.Close(now)
		lender.Renew(group, now, "b", back)
		fmt.Println("returned, and still out:", lender.Out())
	}
	// Output:
	// offered a lease
	// lent for 2s
	// spent without a message: 5
	// returned, and still out: 0
}
