package table

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

func TestClosed(t *testing.T) {
	l := newLending(t, perSecond(1000, 1000))
	now := l.heat("b")
	l.borrow("b", 1, now)
	groups, out := l.tb.Stats().Groups, l.tb.Stats().Leases.Out
	before, _, _ := l.tb.Look(1, l.id, l.g, now, 0)
	l.tb.Close(1)
	for _, id := range []bucket.ID{l.id, idOf(7)} {
		_, _, take := l.tb.Take(1, id, l.g, now, 1)
		_, takeFor := l.tb.TakeFor(1, id, l.g, now, Asker{Name: "b"}, 1)
		_, ok, lend := l.tb.Lend(1, id, l.g, now, "b", lease.Request{Number: lease.Number{Seq: 2}})
		_, _, look := l.tb.Look(1, id, l.g, now, 1)
		debit := l.tb.Debit(1, id, l.g, now, 1)
		for name, err := range map[string]error{"Take": take, "TakeFor": takeFor, "Lend": lend, "Look": look, "Debit": debit} {
			if !errors.Is(err, ErrClosed) || ok {
				t.Errorf("%s: %v, want ErrClosed", name, err)
			}
		}
	}
	if _, _, err := l.tb.Take(2, idOf(7), l.g, now, 1); err != nil {
		t.Errorf("another partition: %v", err)
	}
	if s := l.tb.Stats(); s.Closed != 1 || s.Groups != groups+1 || s.Leases.Out != out {
		t.Errorf("%+v, want one partition closed, and all there", s)
	}
	l.tb.Open(1, 9)
	if after, _, err := l.tb.Look(1, l.id, l.g, now, 0); err != nil || after != before {
		t.Errorf("opened again: %+v %v, was %+v", after, err, before)
	}
}

// Ids of leases tell by their epoch since when the partition is open, and none comes twice.
func TestOpenBeginsNewIDs(t *testing.T) {
	l := newLending(t, perSecond(1000, 1000))
	now := l.heat("b")
	first := l.borrow("b", 1, now)
	seen := map[lease.ID]bool{first.Lease: true}
	for i, epoch := range []uint64{5, 5, 6} {
		l.tb.Close(1)
		l.tb.Open(1, epoch)
		a := l.borrow("b", uint64(2+i), now) // as one that has lost its lease
		if a.Lease.Epoch != epoch || seen[a.Lease] {
			t.Errorf("lease %v in epoch %d, after %v", a.Lease, epoch, seen)
		}
		seen[a.Lease] = true
	}
	l.id = idOf(3)
	for range hotPerWindow + 1 {
		l.from("b", now)
	}
	if a := l.borrow("b", 9, now); a.Lease.Epoch != 6 {
		t.Errorf("a group that became hot since lends %v, want epoch 6", a.Lease)
	}
}

// Nothing is spent from the lease of this node's own callers once the partition is closed: it is in the bucket.
func TestCloseTakesBackOwnLease(t *testing.T) {
	l := newLending(t, perSecond(1000, 1000))
	now := l.heat("b")
	for range 400 {
		now += bucket.Instant(2e6)
		l.from("b", now)
		l.tb.Take(1, l.id, l.g, now, 1)
	}
	own := l.tb.Lent(now)[0].Holdings
	before := l.tb.Stats().Leases.Out
	if before == 0 {
		t.Fatalf("this node's callers have no lease: %+v", own)
	}
	level, _, _ := l.tb.Look(1, l.id, l.g, now, 0)
	l.tb.Close(1)
	if s := l.tb.Stats().Leases; s.Out != 0 || s.Burned != 0 {
		t.Errorf("%+v after closing, want nothing out", s)
	}
	l.tb.Open(1, 2)
	if d, _, _ := l.tb.Look(1, l.id, l.g, now, 0); d.Remaining <= level.Remaining || d.Remaining > level.Remaining+before {
		t.Errorf("%d tokens, there were %d, and %d out", d.Remaining, level.Remaining, before)
	}
}

// What a take needs of a partition is in one cache line.
func TestPartitionIsTwoCacheLines(t *testing.T) {
	var p partition
	if size, ready := unsafe.Sizeof(p), unsafe.Offsetof(p.ready); size != 128 || ready >= 64 {
		t.Errorf("%d bytes, and ready stands at %d", size, ready)
	}
}
