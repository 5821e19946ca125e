package table

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

// pending is a hold that its coordinator has not ended.
type pending struct {
	id    lease.HoldID
	key   uint64
	costs []int64
	ends  bucket.Instant
}

// TestHoldsNeverAdmitMore plays takes, refunds, holds, and their ends in any order, in a table whose groups become hot and move now and then,
// against a bucket that is charged when something is admitted: by a take, or by the commit of a hold. It is never overdrawn. Of what
// is put back nothing is lost.
func TestHoldsNeverAdmitMore(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tb, ls := newTable(t, 1, 1<<20)
		other, err := New(1, 1<<20, ls, Lending{})
		if err != nil {
			rt.Fatal(err)
		}
		other.Close(0)
		states := rapid.IntRange(1, 3).Draw(rt, "states")
		var limits []bucket.Limit
		for range states {
			l := drawAny(rt)
			if l.Algorithm == bucket.FirstHitWindow { // begins with the hold, not with its commit
				l.Algorithm = bucket.FixedWindow
			}
			limits = append(limits, l)
		}
		g := intern(t, ls, limits...)
		now := bucket.Instant(1e18)
		oracle := map[uint64]*bucket.Group{}
		for key := range uint64(2) {
			m := startedModel(g, now, 0)
			oracle[key] = &m
		}
		admit := func(key uint64, costs []int64) {
			for i := range limits {
				one := bucket.Group{Limits: oracle[key].Limits[i : i+1], States: oracle[key].States[i : i+1], Log: oracle[key].Log}
				if limits[i].Algorithm == bucket.Pacer { // who was there first goes first, whoever is committed first
					one.Debit(now, costs[i], nil)
				} else if d, _ := one.Take(now, costs[i]); !d.Allowed {
					rt.Fatalf("key %d, limit %d %+v: %d were admitted, but %d were left", key, i, limits[i], costs[i], d.Remaining)
				}
			}
		}
		var open []pending
		taken := 0
		for n := range rapid.IntRange(1, 80).Draw(rt, "steps") {
			now += bucket.Instant(rapid.SampledFrom([]int64{0, 1e3, 1e6, 1e8, 1e9}).Draw(rt, "step"))
			key := rapid.Uint64Range(0, 1).Draw(rt, "key")
			id := idOf(key)
			costs := make([]int64, states)
			most := int64(0)
			for i := range costs {
				costs[i] = rapid.Int64Range(0, 5).Draw(rt, "cost")
				most = max(most, costs[i])
			}
			switch rapid.IntRange(0, 10).Draw(rt, "call") {
			case 10:
				if _, _, err := tb.Refund(0, id, g, now, most, costs...); err != nil {
					rt.Fatal(err)
				}
				oracle[key].Refund(now, 0, most, costs)
			case 0:
				blob, _ := tb.Export(0, tb.IDs(0, nil), now, nil, 1<<20)
				if err := other.Import(0, blob, now); err != nil {
					rt.Fatal(err)
				}
				tb.Close(0)
				tb.Clear(0)
				tb, other = other, tb
				tb.Open(0, uint64(n)+2)
			case 1:
				tb.Close(0)
				if err := tb.Move(0, other); err != nil {
					rt.Fatal(err)
				}
				tb, other = other, tb
				tb.Open(0, uint64(n)+2)
			case 2:
				tb.Sweep(0, now)
				tb.Cool(0, now)
			case 3: // hot, if it can be
				for range hotPerWindow + 1 {
					if _, err := tb.TakeFor(0, id, g, now, Asker{Name: "b", Leases: true}, 0); err != nil {
						rt.Fatal(err)
					}
				}
			case 4, 5:
				d, _, err := tb.TakeEach(0, id, g, now, most, costs)
				if err != nil {
					rt.Fatal(err)
				}
				if d.Allowed {
					admit(key, costs)
				}
			case 6, 7:
				taken++
				h := lease.HoldID{Node: 7, Number: uint64(taken)}
				held, err := tb.Hold(0, id, g, now, Asker{}, h, time.Duration(rapid.Int64Range(1, 2e9).Draw(rt, "life")), costs)
				if err != nil {
					rt.Fatal(err)
				}
				if held.Decision.Allowed {
					open = append(open, pending{h, key, costs, now + bucket.Instant(held.Life)})
				}
			default:
				if len(open) == 0 {
					break
				}
				i := rapid.IntRange(0, len(open)-1).Draw(rt, "which")
				h := open[i]
				open = append(open[:i], open[i+1:]...)
				commit := rapid.Bool().Draw(rt, "commit") && now < h.ends
				tb.EndHold(0, idOf(h.key), now, h.id, commit)
				if commit {
					admit(h.key, h.costs)
				}
			}
			logged(rt, tb)
		}
		for _, h := range open {
			tb.EndHold(0, idOf(h.key), now, h.id, false)
		}
		for key, m := range oracle {
			got, which, err := tb.Look(0, idOf(key), g, now, 0)
			if err != nil {
				rt.Fatal(err)
			}
			one := bucket.Group{Limits: m.Limits[which : which+1], States: m.States[which : which+1], Log: m.Log}
			if d, _ := one.Look(now, 0); limits[which].Algorithm == bucket.Pacer && got.Remaining > d.Remaining {
				rt.Fatalf("key %d, limit %d: %d remain, want %d at most", key, which, got.Remaining, d.Remaining)
			}
		}
		now += bucket.Instant(time.Hour)
		tb.Cool(0, now)
		tb.Sweep(0, now)
		tb.Sweep(0, now)
		if n := len(tb.parts[0].holds); n != 0 {
			rt.Fatalf("%d ledgers of holds are left", n)
		}
	})
}

// TestDeniedHoldsMakeNoSlots: what is denied leaves the table as it was.
func TestDeniedHoldsMakeNoSlots(t *testing.T) {
	tb, ls := newTable(t, 1, 1<<20)
	g := intern(t, ls, tenPerHour)
	for k := range uint64(100) {
		held, err := tb.Hold(0, idOf(k), g, second, Asker{}, lease.HoldID{Node: 1, Number: k}, time.Second, []int64{11})
		if err != nil || held.Decision.Allowed {
			t.Fatal(held, err)
		}
	}
	if st := tb.Stats(); st.Groups != 0 || st.Held != 0 {
		t.Errorf("%+v", st)
	}
}

// TestPutBack: what was held and is put back is there again, in every algorithm; what is committed, or held for too long, is not.
func TestPutBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := drawAny(rt)
		l.Per = max(l.Per, time.Millisecond)
		if l.Algorithm == bucket.CalendarWindow {
			l.Per = 0
		}
		tb, ls := newTable(t, 1, 1<<20)
		g := intern(t, ls, l)
		now := bucket.Instant(1e18) + bucket.Instant(time.Second/2)
		first := rapid.Int64Range(0, 5).Draw(rt, "first")
		tb.Take(0, idOf(1), g, now, first)
		before, _, _ := tb.Look(0, idOf(1), g, now, 1)
		cost := rapid.Int64Range(0, 10).Draw(rt, "cost")
		h := lease.HoldID{Node: 1, Number: 1}
		held, err := tb.Hold(0, idOf(1), g, now, Asker{}, h, time.Minute, []int64{cost})
		if err != nil {
			rt.Fatal(err)
		}
		during, _, _ := tb.Look(0, idOf(1), g, now, 1)
		if held.Decision.Allowed && during.Remaining != max(0, before.Remaining-cost) {
			rt.Fatalf("%d remain of %d while %d are held", during.Remaining, before.Remaining, cost)
		}
		if again, err := tb.Hold(0, idOf(1), g, now, Asker{}, h, time.Minute, []int64{cost}); err != nil ||
			held.Decision.Allowed && !again.Decision.Allowed {
			rt.Fatal(again, err)
		}
		end := rapid.IntRange(0, 2).Draw(rt, "end")
		if end < 2 {
			tb.EndHold(0, idOf(1), now, h, end == 1)
			tb.EndHold(0, idOf(1), now, h, false) // which it is too late for
		}
		after, _, _ := tb.Look(0, idOf(1), g, now, 1)
		want := before
		if held.Decision.Allowed && end > 0 {
			want = during
		}
		if after != want {
			rt.Fatalf("held %v, ended %d: %+v, want %+v", held.Decision.Allowed, end, after, want)
		}
	})
}

// holding is a table with one group, of which something is held.
func holding(t *testing.T, cost int64, limits ...bucket.Limit) (tb *Table, g *Group, h lease.HoldID) {
	t.Helper()
	tb, ls := newTable(t, 1, 1<<20)
	g = intern(t, ls, limits...)
	h = lease.HoldID{Node: 1, Number: 1}
	costs := make([]int64, len(limits))
	for i := range costs {
		costs[i] = cost
	}
	held, err := tb.Hold(0, idOf(1), g, second, Asker{}, h, time.Second, costs)
	if err != nil || !held.Decision.Allowed {
		t.Fatal(held, err)
	}
	return tb, g, h
}

func slidingOf(n int64) bucket.Limit {
	return bucket.Limit{Algorithm: bucket.SlidingWindow, Count: n, Per: time.Minute, Burst: n}
}

// TestExpiryLeavesWhatIsHeld: looking through a log for what has ended fills nothing up that is held.
func TestExpiryLeavesWhatIsHeld(t *testing.T) {
	tb, g, h := holding(t, 10, slidingOf(10), perSecond(10, 10))
	tb.expire(&tb.parts[0], second+second/2)
	tb.EndHold(0, idOf(1), second+second/2, h, false)
	if got := load(tb.parts[0].slotOfOne(g), 1).Tokens; got != 10 {
		t.Errorf("a burst of 10 holds %d", got)
	}
}

// slotOfOne is the slot of the key of holding.
func (p *partition) slotOfOne(g *Group) []uint64 { return p.slab(len(g.limits)).find(idOf(1)) }

// TestLostCommit: what was held until its end, and may have been admitted then, counts from then.
func TestLostCommit(t *testing.T) {
	tb, g, _ := holding(t, 10, slidingOf(10))
	ends := second + bucket.Instant(time.Second)
	if d, _, _ := tb.Take(0, idOf(1), g, second+bucket.Instant(time.Minute), 1); d.Allowed {
		t.Error("it is admitted a minute after the hold began")
	}
	if d, _, _ := tb.Take(0, idOf(1), g, ends+ends/16+bucket.Instant(time.Minute), 1); !d.Allowed {
		t.Errorf("it is denied long after: %+v", d)
	}
}

// TestHeldUnderAnotherAlgorithm: what is held when a limit changes its kind is spent.
func TestHeldUnderAnotherAlgorithm(t *testing.T) {
	for _, to := range []bucket.Limit{
		{Algorithm: bucket.FirstHitWindow, Count: 5, Per: time.Hour, Burst: 5},
		{Algorithm: bucket.FixedWindow, Count: 5, Per: time.Hour, Burst: 5},
		{Algorithm: bucket.Pacer, Count: 1, Per: time.Hour, Burst: 4, MaxWait: 1 << 62},
		slidingOf(5), slidingOf(5000),
	} {
		tb, _, h := holding(t, 500, bucket.Limit{Count: 1, Per: time.Hour, Burst: 1000})
		g := intern(t, tb.limits, to)
		before, _, _ := tb.Take(0, idOf(1), g, second, 0)
		tb.EndHold(0, idOf(1), second, h, false)
		if after, _, _ := tb.Take(0, idOf(1), g, second, 0); after.Remaining != before.Remaining || before.Remaining > max(0, to.Burst-500) {
			t.Errorf("%v: %d remain, and %d before the hold was put back", to.Algorithm, after.Remaining, before.Remaining)
		}
	}
}

// TestHeldAtAnOlderInstant: another check may have been decided at a later one.
func TestHeldAtAnOlderInstant(t *testing.T) {
	for _, l := range []bucket.Limit{slidingOf(10), slidingOf(5000)} {
		for _, commit := range []bool{false, true} {
			tb, ls := newTable(t, 1, 1<<20)
			g := intern(t, ls, l)
			tb.Take(0, idOf(1), g, second+5, 1)
			h := lease.HoldID{Node: 1, Number: 1}
			if held, err := tb.Hold(0, idOf(1), g, second, Asker{}, h, time.Second, []int64{4}); err != nil || !held.Decision.Allowed {
				t.Fatal(held, err)
			}
			tb.EndHold(0, idOf(1), second+10, h, commit)
			want := l.Burst - 1
			if commit {
				want -= 4
			}
			if d, _, _ := tb.Look(0, idOf(1), g, second+10, 1); d.Remaining != want {
				t.Errorf("limit %d, commit %v: %d remain, want %d", l.Burst, commit, d.Remaining, want)
			}
		}
	}
}

// TestAskedWithOthers: a key that is asked for with others only becomes hot, and a lease is offered.
func TestAskedWithOthers(t *testing.T) {
	tb, ls := newTable(t, 1, 1<<20)
	g := intern(t, ls, perSecond(1000, 10_000))
	offered := false
	for i := range uint64(10 * hotPerWindow) {
		h := lease.HoldID{Node: 1, Number: i}
		now := second + bucket.Instant(i)*bucket.Instant(time.Millisecond)
		held, err := tb.Hold(0, idOf(1), g, now, Asker{Name: "b", Leases: true}, h, time.Second, []int64{1})
		if err != nil || !held.Decision.Allowed {
			t.Fatal(held, err)
		}
		tb.EndHold(0, idOf(1), now, h, true)
		offered = offered || held.Offer
	}
	if st := tb.Stats(); st.Leases.Hot != 1 || !offered || st.Held != 0 {
		t.Errorf("offered %v, %+v", offered, st)
	}
}

// TestHeldIsInTheWay: nothing flows in where something is held, whoever looks meanwhile, and from its end on it does again.
func TestHeldIsInTheWay(t *testing.T) {
	for _, commit := range []bool{false, true} {
		tb, g, h := holding(t, 7, perSecond(10, 10))
		half := second + second/2
		if d, _, _ := tb.Look(0, idOf(1), g, half, 1); d.Remaining != 3 {
			t.Errorf("a look finds %d, want 3", d.Remaining)
		}
		if d, _, _ := tb.Take(0, idOf(1), g, half, 3); !d.Allowed || d.Remaining != 0 {
			t.Errorf("a take of what is there: %+v", d)
		}
		tb.EndHold(0, idOf(1), half, h, commit)
		want := int64(7)
		if commit {
			want = 0
		}
		if d, _, _ := tb.Look(0, idOf(1), g, half, 1); d.Remaining != want {
			t.Errorf("commit %v: %d remain, want %d", commit, d.Remaining, want)
		}
		if d, _, _ := tb.Look(0, idOf(1), g, half+second/5, 1); d.Remaining != want+2 {
			t.Errorf("commit %v: %d remain 0.2 s later, want %d", commit, d.Remaining, want+2)
		}
	}
}
