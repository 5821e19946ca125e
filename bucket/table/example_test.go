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
