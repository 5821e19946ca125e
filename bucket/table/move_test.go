package table

import (
	"testing"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

// TestMove gives a partition with all it has to another table, where other groups stood.
func TestMove(t *testing.T) {
	l := newLending(t, perSecond(1000, 1000))
	now := l.heat("b")
	a := l.borrow("b", 1, now)
	pair := intern(t, l.tb.limits, tenPerHour, bucket.Limit{Burst: 5})
	for k := range uint64(100) {
		l.tb.Take(1, idOf(k), l.g, now, 3)
		l.tb.Take(1, idOf(k), pair, now, 3)
	}
	l.tb.Take(2, idOf(0), l.g, now, 1)
	l.tb.Track(1, true)
	l.tb.Close(1)
	to, err := New(4, 1<<20, l.tb.limits, Lending{Epoch: 1})
	if err != nil {
		t.Fatal(err)
	}
	old := &lending{t, to, l.g, idOf(1000)}
	old.heat("c")
	stale := old.borrow("c", 1, now).Lease
	to.Take(1, idOf(1001), pair, now, 1)
	to.Track(1, true)
	before := l.tb.Stats()
	if err := l.tb.Move(1, to); err != nil {
		t.Fatal(err)
	}

	left, got := l.tb.Stats(), to.Stats()
	if left.Groups != 1 || left.Leases != (LeaseStats{}) || left.Closed != 1 || left.Bytes >= before.Bytes {
		t.Errorf("left behind: %+v of %+v", left, before)
	}
	if got.Groups != before.Groups-1 || got.Leases.Hot != 1 || got.Leases.Out != a.Tokens || got.Closed != 0 {
		t.Errorf("arrived: %+v of %+v", got, before)
	}
	if left.Bytes+got.Bytes != before.Bytes {
		t.Errorf("%d and %d bytes, of %d", left.Bytes, got.Bytes, before.Bytes)
	}
	for _, tb := range []*Table{l.tb, to} {
		if hot := tb.hot.Load(); hot != int64(tb.Stats().Leases.Hot) {
			t.Errorf("%d hot groups are counted, there are %d", hot, tb.Stats().Leases.Hot)
		}
	}
	if n := pair.refs.Load(); n != 101 {
		t.Errorf("%d users of the limits of 100 groups and this test", n)
	}
	l.tb = to
	for k := range uint64(100) {
		if d, _, err := to.Look(1, idOf(k), pair, now, 3); err != nil || d.Allowed || d.Remaining != 2 {
			t.Fatalf("key %d: %+v %v", k, d, err)
		}
	}
	to.Take(1, idOf(5), pair, now, 1)
	l.changed("not tracked any more")
	to.Track(1, true)
	to.Take(1, idOf(5), pair, now, 1)
	l.changed("tracked again", idOf(5))

	// The lease that is out lives on; new ones have ids that neither table has given.
	r := lease.Request{Number: lease.Number{Incarnation: 1, Seq: 2}, Lease: a.Lease, Spent: 5, Left: a.Tokens - 5}
	if again, ok, err := to.Lend(1, l.id, l.g, now, "b", r); err != nil || !ok || again.Lease != a.Lease {
		t.Errorf("renewed as %+v, %v", again, err)
	}
	if fresh := l.borrow("c", 9, now); fresh.Lease == a.Lease || fresh.Lease == stale || fresh.Lease.Number>>32 <= stale.Number>>32 {
		t.Errorf("a new lease is %v, there were %v and %v", fresh.Lease, a.Lease, stale)
	}
}

// What was counted stays counted where it was, and goes on to be counted where the groups are.
func TestMoveKeepsCounts(t *testing.T) {
	l := newLending(t, perSecond(1000, 1000))
	now := l.heat("b")
	lent := l.borrow("b", 1, now).Tokens
	now += bucket.Instant(lease.Burn)
	l.borrow("b", 2, now)
	if n := l.tb.Stats().Leases.Burned; n != lent {
		t.Fatalf("%d burned of %d", n, lent)
	}
	to, err := New(4, 1<<20, l.tb.limits, Lending{})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.tb.Move(1, to); err != nil {
		t.Fatal(err)
	}
	if a, b := l.tb.Stats().Leases.Burned, to.Stats().Leases.Burned; a != lent || b != 0 {
		t.Errorf("%d and %d burned", a, b)
	}
	out := to.Stats().Leases.Out
	to.Sweep(1, now+10*second)
	if b := to.Stats().Leases; b.Burned != out || b.Hot != 0 {
		t.Errorf("%+v, want %d burned where they were", b, out)
	}
}

func TestMoveOnlyBetweenLikes(t *testing.T) {
	l := newLending(t, perSecond(1000, 1000))
	l.tb.Take(1, l.id, l.g, second, 1)
	fewer, err := New(2, 1<<20, l.tb.limits, Lending{})
	if err != nil {
		t.Fatal(err)
	}
	stranger, _ := newTable(t, 4, 1<<20)
	for _, to := range []*Table{l.tb, fewer, stranger} {
		if err := l.tb.Move(1, to); err == nil {
			t.Error("moved")
		}
	}
	if n := l.tb.Stats().Groups; n != 1 {
		t.Errorf("%d groups are left", n)
	}
}

func TestClear(t *testing.T) {
	l := newLending(t, perSecond(1000, 1000))
	now := l.heat("b")
	lent := l.borrow("b", 1, now).Tokens
	l.tb.Sweep(1, now+bucket.Instant(lease.Burn))
	l.borrow("b", 2, now+bucket.Instant(lease.Burn))
	pair := intern(t, l.tb.limits, tenPerHour, bucket.Limit{Burst: 5})
	for k := range uint64(100) {
		l.tb.Take(1, idOf(k), pair, now, 3)
	}
	l.tb.Clear(1)
	if s := l.tb.Stats(); s.Groups != 0 || s.Bytes != 0 || s.Leases != (LeaseStats{Burned: lent}) || l.tb.hot.Load() != 0 {
		t.Errorf("%+v, %d hot; want only that %d burned once", s, l.tb.hot.Load(), lent)
	}
	if n := pair.refs.Load(); n != 1 {
		t.Errorf("%d users of the limits", n)
	}
	if d, _, err := l.tb.Take(1, idOf(5), pair, now, 1); err != nil || d.Remaining != 4 {
		t.Errorf("%+v %v, want a new group", d, err)
	}
	if d := l.from("b", now+10*second); !d.Decision.Allowed {
		t.Errorf("%+v", d)
	}
}
