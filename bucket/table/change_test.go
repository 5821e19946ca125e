package table

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

func tagged(tag uint64, count, burst int64) bucket.Limit {
	return bucket.Limit{Tag: tag, Count: count, Per: time.Hour, Burst: burst}
}

// TestLimitsChangeByTag: what was taken stays with the tag, wherever it stands; a limit that is new is full, and one that comes again is.
func TestLimitsChangeByTag(t *testing.T) {
	for _, hot := range []bool{false, true} {
		tb, ls := newTable(t, 1, 1<<20)
		a, b, c := tagged(1, 1, 400), tagged(2, 1, 1000), tagged(3, 1, 600)
		now := bucket.Instant(1e18)
		left := func(g *Group, want ...int64) {
			t.Helper()
			p := &tb.parts[0]
			var room [MaxStates]bucket.State
			s, of, _ := tb.peek(p, idOf(1), g, now, &room)
			var got []int64
			for i := range of.limits {
				got = append(got, s.States[i].Tokens)
			}
			if !slices.Equal(got, want) {
				t.Errorf("hot %v: %d are left, want %d", hot, got, want)
			}
		}
		take := func(g *Group, cost int64) {
			t.Helper()
			if d, _, err := tb.Take(0, idOf(1), g, now, cost); err != nil || !d.Allowed {
				t.Fatalf("%+v, %v", d, err)
			}
		}
		one := intern(t, ls, a)
		take(one, 1)
		if hot {
			for range hotPerWindow + 1 {
				if _, err := tb.TakeFor(0, idOf(1), one, now, Asker{Name: "b", Leases: true}, 0); err != nil {
					t.Fatal(err)
				}
			}
			if tb.Stats().Leases.Hot != 1 {
				t.Fatal("not hot")
			}
		}
		left(one, 399)
		ba := intern(t, ls, b, a)
		left(ba, 1000, 399) // as it would be: a look changes nothing
		left(one, 399)
		take(ba, 2)
		left(ba, 998, 397)
		abc := intern(t, ls, a, b, c)
		take(abc, 5)
		left(abc, 392, 993, 595)
		left(ba, 993, 392)
		take(ba, 1)
		left(ba, 992, 391)
		take(abc, 1)
		left(abc, 390, 991, 599)
		if hot && tb.Stats().Leases.Hot != 1 {
			t.Error("not hot any more")
		}
		if n := tb.Stats().Groups; n != 1 {
			t.Errorf("%d groups, want one", n)
		}
		raised := a
		raised.Burst = 5000
		take(intern(t, ls, raised), 1)
		left(intern(t, ls, raised), 389) // grants nothing
	}
}

// TestNewLimitCountsWhatIsOut: of a limit that is new as much is taken as is out on lease, for that is spent from it as well.
func TestNewLimitCountsWhatIsOut(t *testing.T) {
	old := perSecond(1000, 1000)
	old.Tag = 1
	l := newLending(t, old)
	now := l.heat("b")
	lent := l.borrow("b", 1, now).Tokens
	if lent == 0 {
		t.Fatal("nothing is lent")
	}
	fresh := tagged(2, 1, lent+5)
	l.g = intern(t, l.tb.limits, fresh, old)
	d, which, err := l.tb.Take(1, l.id, l.g, now, 1)
	if err != nil || which != 0 || !d.Allowed || d.Remaining != 4 {
		t.Errorf("%+v by limit %d, %v, want 4 left of %d, of which %d are out", d, which, err, fresh.Burst, lent)
	}
}

// TestOlderLimitsChangeNothing: a slot keeps the limits of the newest policies that it has seen, whoever asks, and answers by them.
func TestOlderLimitsChangeNothing(t *testing.T) {
	tb, ls := newTable(t, 1, 1<<20)
	now := bucket.Instant(1e18)
	as := func(version uint64, limits ...bucket.Limit) *Group {
		g, err := ls.InternAs(limits, version)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	a, b, wide := tagged(1, 1, 10), tagged(2, 1, 3), tagged(1, 1, 100)
	old, next := as(1, wide), as(2, b, a)
	ask := func(g *Group, cost int64, allowed bool, left int64, tag uint64, each ...int64) {
		t.Helper()
		d, which, err := tb.TakeEach(0, idOf(1), g, now, cost, each)
		if err != nil || d.Allowed != allowed || d.Remaining != left || g.limits[which].Tag != tag {
			t.Errorf("%+v by limit %d, %v, want %v and %d left of %d", d, g.limits[which].Tag, err, allowed, left, tag)
		}
		if l, which, err := tb.Look(0, idOf(1), g, now, 0); err != nil || which >= len(g.limits) || l.Allowed != true {
			t.Errorf("a look: %+v, %d, %v", l, which, err)
		}
	}
	ask(old, 1, true, 99, 1)
	ask(next, 1, true, 2, 2)
	ask(old, 1, true, 1, 1) // by the limit that it does not know, which is named as its own
	ask(next, 1, true, 0, 2)
	ask(old, 1, false, 0, 1)
	ask(as(1, a, b), 2, true, 5, 1, 2, 0) // costs are those of the limits that they are said of
	back := as(3, wide)
	if back != old || back.Version() != 3 {
		t.Errorf("version %d, want 3: the limits of before are those of now again", back.Version())
	}
	ask(old, 1, true, 4, 1)
	ask(next, 1, true, 3, 1)
}

// TestChangesNeverAdmitMore plays takes, holds, leases and moves while limits come, go and change places, against a bucket for each tag
// that begins full when its limit comes. None is ever overdrawn.
func TestChangesNeverAdmitMore(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tb, ls := newTable(t, 1, 1<<20)
		other, err := New(1, 1<<20, ls, Lending{})
		if err != nil {
			rt.Fatal(err)
		}
		other.Close(0)
		var pool []bucket.Limit
		for tag := range uint64(4) {
			l := drawAny(rt)
			if l.Algorithm == bucket.FirstHitWindow || l.Algorithm == bucket.Pacer { // begin with the hold, not with its commit
				l.Algorithm = bucket.FixedWindow
				l.MaxWait = 0
			}
			l.Tag = tag + 1
			pool = append(pool, l)
		}
		draw := func() *Group {
			limits := rapid.Permutation(pool).Draw(rt, "limits")[:rapid.IntRange(1, len(pool)).Draw(rt, "how many")]
			return intern(t, ls, limits...)
		}
		g := draw()
		now := bucket.Instant(1e18)
		oracle := map[uint64]bucket.Group{}
		begin := func() { // limits that are no more are forgotten, and new ones are full
			next := map[uint64]bucket.Group{}
			for i, l := range g.limits {
				if m, ok := oracle[l.Tag]; ok {
					next[l.Tag] = m
					continue
				}
				m := bucket.Group{Limits: g.limits[i : i+1], States: make([]bucket.State, 1), Log: new(bucket.Log)}
				m.Start(now)
				next[l.Tag] = m
			}
			oracle = next
		}
		begin()
		admit := func(of *Group, costs []int64) {
			for i, l := range of.limits {
				m, ok := oracle[l.Tag]
				if !ok {
					continue
				}
				if d, _ := m.Take(now, costs[i]); !d.Allowed {
					rt.Fatalf("limit %d %+v: %d were admitted, but %d were left", l.Tag, l, costs[i], d.Remaining)
				}
			}
		}
		type open struct {
			pending
			of *Group
		}
		var held []open
		taken := 0
		id := idOf(1)
		for n := range rapid.IntRange(1, 60).Draw(rt, "steps") {
			now += bucket.Instant(rapid.SampledFrom([]int64{0, 1e3, 1e6, 1e8, 1e9}).Draw(rt, "step"))
			costs := make([]int64, len(g.limits))
			for i := range costs {
				costs[i] = rapid.Int64Range(0, 5).Draw(rt, "cost")
			}
			switch rapid.IntRange(0, 8).Draw(rt, "call") {
			case 0:
				ids := tb.IDs(0, nil)
				blob, _ := tb.Export(0, ids, now, nil, 1<<20)
				if len(ids) == 0 || rapid.Bool().Draw(rt, "clear") { // else what comes replaces what is there
					other.Clear(0)
				}
				if err := other.Import(0, blob, now); err != nil {
					rt.Fatal(err)
				}
				tb.Close(0)
				tb, other = other, tb
				tb.Open(0, uint64(n)+2)
			case 1:
				tb.Sweep(0, now)
				tb.Cool(0, now)
			case 2: // hot, if it can be
				for range hotPerWindow + 1 {
					if _, err := tb.TakeFor(0, id, g, now, Asker{Name: "b", Leases: true}, 0); err != nil {
						rt.Fatal(err)
					}
				}
			case 3, 4:
				g = draw()
				if _, _, err := tb.TakeEach(0, id, g, now, 0, make([]int64, len(g.limits))); err != nil {
					rt.Fatal(err)
				}
				begin()
			case 5, 6:
				d, _, err := tb.TakeEach(0, id, g, now, slices.Max(costs), costs)
				if err != nil {
					rt.Fatal(err)
				}
				if d.Allowed {
					admit(g, costs)
				}
			case 7:
				taken++
				h := lease.HoldID{Node: 7, Number: uint64(taken)}
				a, err := tb.Hold(0, id, g, now, Asker{}, h, time.Duration(rapid.Int64Range(1, 2e9).Draw(rt, "life")), costs)
				if err != nil {
					rt.Fatal(err)
				}
				if a.Decision.Allowed {
					held = append(held, open{pending{h, 1, costs, now + bucket.Instant(a.Life)}, g})
				}
			default:
				if len(held) == 0 {
					break
				}
				i := rapid.IntRange(0, len(held)-1).Draw(rt, "which")
				h := held[i]
				held = slices.Delete(held, i, i+1)
				commit := rapid.Bool().Draw(rt, "commit") && now < h.ends
				tb.EndHold(0, id, now, h.id, commit)
				if commit && sameTags(h.of, g) {
					admit(h.of, h.costs)
				}
			}
			logged(rt, tb)
		}
		if tb.Stats().Groups > 1 {
			rt.Fatalf("%d groups of one key", tb.Stats().Groups)
		}
	})
}

func sameTags(a, b *Group) bool {
	return len(a.limits) == len(b.limits) && !slices.Contains(a.from(b), -1)
}

// TestReturnOfOldLease: what comes back of leases under old limits, or is charged under them, does not bring these back, nor forget what
// was taken of the new ones, though nobody says which are newer.
func TestReturnOfOldLease(t *testing.T) {
	old := perSecond(1000, 1000)
	old.Tag = 1
	l := newLending(t, old)
	now := l.heat("b")
	lent := l.borrow("b", 1, now)
	next := intern(t, l.tb.limits, old, tagged(2, 1, 300))
	admitted := int64(0)
	for i := range 4 {
		for {
			d, _, err := l.tb.Take(1, l.id, next, now, 10)
			if err != nil {
				t.Fatal(err)
			}
			if !d.Allowed {
				break
			}
			admitted += 10
		}
		if i%2 == 1 {
			if err := l.tb.Debit(1, l.id, l.g, now, 1); err != nil {
				t.Fatal(err)
			}
			continue
		}
		back := lease.Request{Number: lease.Number{Incarnation: 1, Seq: 2}, Lease: lent.Lease, Left: lent.Tokens, Close: true}
		if _, _, err := l.tb.Lend(1, l.id, l.g, now, "b", back); err != nil {
			t.Fatal(err)
		}
	}
	if admitted > 300 {
		t.Errorf("%d admitted by a limit of 300", admitted)
	}
}

// TestNewWindowCountsWhatIsOut: so does a limit that is not lent from.
func TestNewWindowCountsWhatIsOut(t *testing.T) {
	for _, algorithm := range []bucket.Algorithm{bucket.SlidingWindow, bucket.FirstHitWindow, bucket.FixedWindow} {
		old := perSecond(1000, 1000)
		old.Tag = 1
		l := newLending(t, old)
		now := l.heat("b")
		lent := l.borrow("b", 1, now).Tokens
		l.g = intern(t, l.tb.limits, bucket.Limit{Tag: 2, Algorithm: algorithm, Per: time.Hour, Count: lent + 5, Burst: lent + 5}, old)
		if d, _, err := l.tb.Look(1, l.id, l.g, now, 6); err != nil || d.Allowed {
			t.Errorf("%v: a look says that 6 fit of %d, of which %d are out: %v", algorithm, lent+5, lent, err)
		}
		if d, _, err := l.tb.Take(1, l.id, l.g, now, 6); err != nil || d.Allowed {
			t.Errorf("%v: 6 are admitted of %d, of which %d are out: %v", algorithm, lent+5, lent, err)
		}
		if d, _, err := l.tb.Take(1, l.id, l.g, now, 5); err != nil || !d.Allowed {
			t.Errorf("%v: %+v, %v: 5 are left", algorithm, d, err)
		}
	}
}

// TestNewLimitAfterLoss: where an owner was lost a limit that starts empty does so in a group that was there before, too: the copy may
// be older than the limit.
func TestNewLimitAfterLoss(t *testing.T) {
	old := ruled(perSecond(1, 1000), bucket.LossEmpty)
	old.Tag = 1
	l := newLending(t, old)
	l.from("b", second)
	l.lose(second)
	for _, fresh := range []bucket.Limit{perSecond(1, 1000), {Algorithm: bucket.SlidingWindow, Count: 900, Per: time.Hour, Burst: 900}} {
		fresh = ruled(fresh, bucket.LossEmpty)
		fresh.Tag = 2
		l.g = intern(t, l.tb.limits, fresh, old)
		if d, _, err := l.tb.Look(1, l.id, l.g, second+1, 800); err != nil || d.Allowed {
			t.Errorf("%v: a look says that it began full: %v", fresh.Algorithm, err)
		}
		if d, _, err := l.tb.Take(1, l.id, l.g, second+1, 800); err != nil || d.Allowed {
			t.Errorf("%v: it began full: %v", fresh.Algorithm, err)
		}
	}
}

// TestImportKeepsWhatHasNoRoom: a group that comes under more limits, for which there is no memory, stays as it was.
func TestImportKeepsWhatHasNoRoom(t *testing.T) {
	from, ls := newTable(t, 1, 1<<20)
	one, two := intern(t, ls, tagged(1, 0, 10)), intern(t, ls, tagged(1, 0, 10), tagged(2, 0, 10))
	if _, _, err := from.Take(0, idOf(1), two, second, 5); err != nil {
		t.Fatal(err)
	}
	blob, _ := from.Export(0, []bucket.ID{idOf(1)}, second, nil, 1<<10)
	to, err := New(1, MinBytesPerPartition, ls, Lending{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := to.Take(0, idOf(1), one, second, 3); err != nil {
		t.Fatal(err)
	}
	if err := to.Import(0, blob, second); !errors.Is(err, ErrFull) {
		t.Fatalf("%v, want no room", err)
	}
	if d, _, err := to.Look(0, idOf(1), one, second, 1); err != nil || d.Remaining != 7 {
		t.Errorf("%+v, %v, want the 7 that were left", d, err)
	}
}
