package table

import (
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// TestExportDurable: only what is durable is in the blob, as it was, and there is something durable while limits are in use that are.
func TestExportDurable(t *testing.T) {
	limits := NewLimits(10)
	short := bucket.Limit{Count: 5, Per: time.Second, Burst: 5}
	long := bucket.Limit{Algorithm: bucket.FixedWindow, Count: 7, Per: time.Hour, Burst: 7}
	from, err := New(1, 1<<20, limits, Lending{})
	if err != nil {
		t.Fatal(err)
	}
	to, err := New(1, 1<<20, limits, Lending{})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := limits.Intern([]bucket.Limit{short})
	if err != nil {
		t.Fatal(err)
	}
	if limits.Durable() {
		t.Error("a second is durable")
	}
	both, err := limits.Intern([]bucket.Limit{short, long})
	if err != nil || !limits.Durable() {
		t.Fatal(err, limits.Durable())
	}
	for i, g := range []*Group{plain, both, plain, both} {
		if d, _, err := from.Take(0, bucket.ID{Hi: uint64(i)}, g, 0, 3); err != nil || !d.Allowed {
			t.Fatal(d, err)
		}
	}
	blob, taken, groups := from.ExportDurable(0, from.IDs(0, nil), 0, nil, 1<<20)
	if taken != 4 || groups != 2 {
		t.Errorf("%d ids, %d groups, want 4 and 2", taken, groups)
	}
	const later = bucket.Instant(time.Minute)
	if err := to.Import(0, blob, later-bucket.Instant(time.Second)); err != nil { // a second ago
		t.Fatal(err)
	}
	if ids := to.IDs(0, nil); len(ids) != 2 {
		t.Errorf("%d groups came, want 2", len(ids))
	}
	if d, which, err := to.Look(0, bucket.ID{Hi: 3}, both, later, 1); err != nil || which != 1 || d.Remaining != 4 {
		t.Errorf("%+v by limit %d, %v; want 4 left of the window", d, which, err)
	}
	both.Release()
	from.Clear(0)
	to.Clear(0)
	if limits.Durable() {
		t.Error("nothing is left that is durable")
	}
}
