package table_test

import (
	"fmt"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/table"
)

// Two limits on one key are one group: a check takes from both, or from none.
func ExampleTable_Take() {
	limits := table.NewLimits(1000)
	group, err := limits.Intern([]bucket.Limit{
		{Count: 2, Per: time.Second, Burst: 2},
		{Count: 3, Per: time.Hour, Burst: 3},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer group.Release()
	t, err := table.New(1021, 64<<20, limits, table.Lending{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ann := bucket.ID{Hi: 1, Lo: 2} // a keyed hash, in earnest
	for i := range 5 {
		now := bucket.Instant(i) * bucket.Instant(400*time.Millisecond)
		d, which, err := t.Take(7, ann, group, now, 1)
		fmt.Println(d.Allowed, d.Remaining, "by limit", which, d.RetryAfter, err)
	}
	// Output:
	// true 1 by limit 0 0s <nil>
	// true 0 by limit 0 0s <nil>
	// true 0 by limit 0 0s <nil>
	// false 0 by limit 1 19m58.8s <nil>
	// false 0 by limit 1 19m58.4s <nil>
}

// A partition in use moves to another node: a copy of all, what has changed meanwhile, and a last bit when it is closed.
func ExampleTable_Export() {
	limits := table.NewLimits(1000)
	here, err := table.New(1021, 64<<20, limits, table.Lending{Epoch: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	there, err := table.New(1021, 64<<20, limits, table.Lending{Epoch: 1}) // with limits of its own, in earnest
	if err != nil {
		fmt.Println(err)
		return
	}
	group, err := limits.Intern([]bucket.Limit{{Count: 10, Per: time.Hour, Burst: 10}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer group.Release()
	const part = 7
	ann, bob := bucket.ID{Hi: 1, Lo: 2}, bucket.ID{Hi: 3, Lo: 4}
	now := bucket.Instant(0)
	send := func(ids []bucket.ID) {
		for first := true; first || len(ids) > 0; first = false {
			blob, taken := here.Export(part, ids, now, nil, 512<<10)
			ids = ids[taken:]
			if err := there.Import(part, blob, now); err != nil { // by that node's clock, in earnest
				fmt.Println(err)
			}
		}
	}

	there.Close(part)
	here.Take(part, ann, group, now, 3)
	here.Track(part, true)
	send(here.IDs(part, nil))
	here.Take(part, bob, group, now, 5)
	here.Close(part)
	send(here.Changed(part, nil))
	there.Open(part, 2)
	here.Clear(part)

	_, _, err = here.Take(part, ann, group, now, 1)
	fmt.Println(err)
	for _, id := range []bucket.ID{ann, bob} {
		d, _, err := there.Take(part, id, group, now, 1)
		fmt.Println(d.Allowed, d.Remaining, err)
	}
	// Output:
	// this node does not hold the partition
	// true 6 <nil>
	// true 4 <nil>
}

// The node that kept a partition is gone, and this one has a copy, which may not be the newest: each limit says what
// that means for its buckets.
func ExampleTable_TakenOver() {
	limits := table.NewLimits(1000)
	copies, err := table.New(1021, 64<<20, limits, table.Lending{})
	if err != nil {
		fmt.Println(err)
		return
	}
	owned, err := table.New(1021, 64<<20, limits, table.Lending{})
	if err != nil {
		fmt.Println(err)
		return
	}
	const part = 7
	ann, bob := bucket.ID{Hi: 1, Lo: 2}, bucket.ID{Hi: 3, Lo: 4}
	for _, rule := range []bucket.OwnerLoss{bucket.LossReplica, bucket.LossEmpty, bucket.LossFull} {
		group, err := limits.Intern([]bucket.Limit{{Count: 10, Per: time.Hour, Burst: 10, OwnerLoss: rule}})
		if err != nil {
			fmt.Println(err)
			return
		}
		copies.Take(part, ann, group, 0, 3)

		owned.Close(part)
		if err := copies.Move(part, owned); err != nil {
			fmt.Println(err)
			return
		}
		owned.TakenOver(part, 0)
		owned.Open(part, 2)
		known, _, _ := owned.Look(part, ann, group, 0, 1)
		unknown, _, _ := owned.Look(part, bob, group, 0, 1)
		fmt.Printf("%v: %d where the copy has 7, and %d of a key that it does not know\n", rule, known.Remaining, unknown.Remaining)
		group.Release()
	}
	// Output:
	// replica: 7 where the copy has 7, and 10 of a key that it does not know
	// empty: 0 where the copy has 7, and 0 of a key that it does not know
	// full: 10 where the copy has 7, and 10 of a key that it does not know
}
