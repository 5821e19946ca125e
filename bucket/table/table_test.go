package table

import (
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/drossel-dev/drossel/bucket"
)

func newTable(t testing.TB, partitions int, maxBytes int64) (*Table, *Limits) {
	t.Helper()
	limits := NewLimits(1 << 10)
	tb, err := New(partitions, maxBytes, limits, Lending{})
	if err != nil {
		t.Fatal(err)
	}
	return tb, limits
}

func intern(t testing.TB, ls *Limits, limits ...bucket.Limit) *Group {
	t.Helper()
	g, err := ls.Intern(limits)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// idOf spreads small numbers over the whole range, as a keyed hash does.
func idOf(n uint64) bucket.ID {
	_, id := scatter(n)
	return id
}

// slotBytes is what a group of so many limits takes, without the room around it.
func slotBytes(states int) int { return (headWords + states*stateWords) * wordBytes }

var tenPerHour = bucket.Limit{Count: 10, Per: time.Hour, Burst: 10}

// TestAgainstModel plays random takes, looks, debits, sweeps and changes of limits over few keys, and compares every answer
// with one bucket.State per key and limit in a map.
func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tb, ls := newTable(t, 3, 1<<20)
		var groups []*Group
		for range rapid.IntRange(1, 4).Draw(rt, "groups") {
			n := rapid.SampledFrom([]int{1, 1, 2, 3, 16}).Draw(rt, "states")
			var limits []bucket.Limit
			for range n {
				limits = append(limits, bucket.Limit{
					Count: rapid.Int64Range(0, 50).Draw(rt, "count"),
					Per:   time.Duration(rapid.Int64Range(1, 1e9).Draw(rt, "per")),
					Burst: rapid.Int64Range(0, 20).Draw(rt, "burst"),
				})
			}
			groups = append(groups, intern(t, ls, limits...))
		}
		type seen struct {
			states []bucket.State
			g      *Group
		}
		model := map[bucket.ID]map[int]*seen{}
		now := bucket.Instant(0)
		for range rapid.IntRange(1, 200).Draw(rt, "steps") {
			now += bucket.Instant(rapid.Int64Range(-1e6, 3e8).Draw(rt, "step"))
			key := rapid.Uint64Range(0, 40).Draw(rt, "key")
			id, part := idOf(key), int(key%3)
			g := rapid.SampledFrom(groups).Draw(rt, "group")
			cost := rapid.Int64Range(0, 22).Draw(rt, "cost")
			k := len(g.limits)
			if model[id] == nil {
				model[id] = map[int]*seen{}
			}
			m := model[id][k]
			states := make([]bucket.State, k)
			for i, l := range g.limits {
				if m == nil {
					states[i] = bucket.Full(&l, now)
				} else {
					states[i] = m.states[i]
					if m.g != g {
						states[i].Adopt(&m.g.limits[i], &l, now)
					}
				}
			}
			type answer struct {
				bucket.Decision
				which int
			}
			want := answer{which: -1}
			if cost > 0 && rapid.IntRange(0, 9).Draw(rt, "debit") == 0 {
				for i, l := range g.limits {
					states[i].Refill(&l, now)
					states[i].Tokens = min(states[i].Tokens, max(states[i].Tokens-cost, -l.Burst))
				}
				if err := tb.Debit(part, id, g, now, cost); err != nil {
					rt.Fatal(err)
				}
				m = &seen{slices.Clone(states), g}
				model[id][k] = m
			}
			all, take := true, rapid.Bool().Draw(rt, "take")
			for i, l := range g.limits {
				if take {
					states[i].Refill(&l, now)
				}
				all = all && states[i].Look(&l, now, cost).Allowed
			}
			for i, l := range g.limits {
				var d bucket.Decision
				if all && take {
					d = states[i].Take(&l, now, cost)
				} else {
					d = states[i].Look(&l, now, cost)
				}
				if want.which < 0 || speaksFor(d, want.Decision) {
					want = answer{d, i}
				}
			}
			var got answer
			if take {
				var err error
				if got.Decision, got.which, err = tb.Take(part, id, g, now, cost); err != nil {
					rt.Fatal(err)
				}
				if m != nil || all && cost > 0 {
					model[id][k] = &seen{states, g}
				}
			} else {
				var err error
				if got.Decision, got.which, err = tb.Look(part, id, g, now, cost); err != nil {
					rt.Fatal(err)
				}
			}
			if got != want {
				rt.Fatalf("take %v key %d cost %d at %d: got %+v, want %+v", take, key, cost, now, got, want)
			}
			if rapid.IntRange(0, 9).Draw(rt, "sweep") == 0 {
				tb.Sweep(part, now)
				for key := range uint64(41) {
					for k, m := range model[idOf(key)] {
						full := int(key%3) == part
						for i, l := range m.g.limits {
							full = full && m.states[i].IsFull(&l, now)
						}
						if full {
							delete(model[idOf(key)], k)
						}
					}
				}
			}
		}
	})
}

// TestGroupAllOrNone is the two-window example of C130: a denial by one limit charges none.
func TestGroupAllOrNone(t *testing.T) {
	tb, ls := newTable(t, 1, 1<<20)
	g := intern(t, ls, bucket.Limit{Count: 10, Per: time.Minute, Burst: 10}, bucket.Limit{Count: 2, Per: time.Minute, Burst: 2})
	allowed := 0
	for range 5 {
		d, which, err := tb.Take(0, idOf(1), g, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		if d.Allowed {
			allowed++
		} else if which != 1 || d.RetryAfter != 30*time.Second {
			t.Fatalf("denied by limit %d, retry %v; want limit 1, 30s", which, d.RetryAfter)
		}
	}
	if allowed != 2 {
		t.Fatalf("allowed %d, want 2", allowed)
	}
	w := tb.parts[0].slab(2).find(idOf(1))
	if a, b := load(w, 0).Tokens, load(w, 1).Tokens; a != 8 || b != 0 {
		t.Fatalf("left %d and %d, want 8 and 0", a, b)
	}
}

// TestC116 keeps an exhausted key through a flood of new ones: it is never silently refilled.
func TestC116(t *testing.T) {
	limit := bucket.Limit{Count: 1, Per: time.Hour, Burst: 1}
	tb, ls := newTable(t, 1, 1000*int64(slotBytes(1)))
	g := intern(t, ls, limit)
	if d, _, _ := tb.Take(0, idOf(0), g, 0, 1); !d.Allowed {
		t.Fatal("first take of A denied")
	}
	refused := 0
	for k := uint64(1); k <= 5000; k++ {
		_, _, err := tb.Take(0, idOf(k), g, bucket.Instant(k), 1)
		if errors.Is(err, ErrFull) {
			refused++
		}
	}
	if d, _, err := tb.Take(0, idOf(0), g, 6000, 1); err != nil || d.Allowed {
		t.Fatalf("A again: %+v, %v; want denied", d, err)
	}
	st := tb.Stats()
	if st.Groups+refused != 5001 || st.Refused != uint64(refused) || st.Groups > 1000 || st.Groups < 800 {
		t.Fatalf("%d groups and %d refused (%d counted) of 5001", st.Groups, refused, st.Refused)
	}
	// An hour later all are full again and give way.
	later := bucket.Instant(2 * time.Hour)
	for k := uint64(10_000); k < 10_500; k++ {
		if _, _, err := tb.Take(0, idOf(k), g, later, 1); err != nil {
			t.Fatalf("key %d after all had rested: %v", k, err)
		}
	}
	if got := tb.Stats().Bytes; got > 1000*int64(slotBytes(1)) {
		t.Fatalf("%d bytes, above the bound", got)
	}
}

// TestC115 lets a million one-shot keys pass through a bounded table, and sees it empty once they have rested.
func TestC115(t *testing.T) {
	limit := bucket.Limit{Count: 5, Per: time.Second, Burst: 5}
	const bound = 100_000 * 48
	tb, ls := newTable(t, 16, bound)
	g := intern(t, ls, limit)
	now := bucket.Instant(0)
	for k := range uint64(1_000_000) {
		now += bucket.Instant(5 * time.Microsecond) // 0.2 s for a group to rest: 40,000 keys
		if _, _, err := tb.Take(int(k%16), bucket.ID{Hi: k, Lo: k * 0x9e3779b97f4a7c15}, g, now, 1); err != nil {
			t.Fatalf("key %d: %v", k, err)
		}
		if k%100_000 == 0 {
			if st := tb.Stats(); st.Groups > 100_000 || st.Bytes > bound {
				t.Fatalf("after %d keys: %+v", k, st)
			}
		}
	}
	for p := range 16 {
		tb.Sweep(p, now+bucket.Instant(time.Second))
	}
	if st := tb.Stats(); st.Groups != 0 || st.Bytes > 16*MinBytesPerPartition {
		t.Fatalf("after a sweep of rested groups: %+v", st)
	}
	if n := g.refs.Load(); n != 1 {
		t.Fatalf("limits are held by %d users after all slots went, want the one pin", n)
	}
}

// TestTakesRaceSweeps has takes and sweeps at once: no take is lost to a sweep.
func TestTakesRaceSweeps(t *testing.T) {
	tb, ls := newTable(t, 2, 1<<20)
	g := intern(t, ls, bucket.Limit{Burst: 5})
	var allowed atomic.Int64
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 2000 {
				k := uint64(i % 100)
				if d, _, err := tb.Take(int(k%2), idOf(k), g, 0, 1); err == nil && d.Allowed {
					allowed.Add(1)
				}
				if i%50 == w {
					tb.Sweep(i%2, 0)
				}
			}
		})
	}
	wg.Wait()
	if n := allowed.Load(); n != 500 {
		t.Fatalf("allowed %d of 100 keys with 5 each, want 500", n)
	}
}

func TestAdoptKeepsLevel(t *testing.T) {
	tb, ls := newTable(t, 1, 1<<20)
	ten, five, twenty := intern(t, ls, bucket.Limit{Burst: 10}), intern(t, ls, bucket.Limit{Burst: 5}), intern(t, ls, bucket.Limit{Burst: 20})
	take := func(g *Group, cost int64) bucket.Decision {
		d, _, err := tb.Take(0, idOf(1), g, 0, cost)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	take(ten, 2)
	if a, _, _ := tb.Look(0, idOf(1), five, 0, 1); a.Remaining != 5 {
		t.Fatalf("a look under burst 5 sees %d of 8 tokens, want 5", a.Remaining)
	}
	if a := take(five, 0); a.Remaining != 5 {
		t.Fatalf("burst 5 keeps %d of 8 tokens, want 5", a.Remaining)
	}
	if a := take(twenty, 0); a.Remaining != 5 {
		t.Fatalf("burst 20 makes %d of 5 tokens, want 5", a.Remaining)
	}
	five.Release()
	if n := ls.Len(); n != 2 {
		t.Fatalf("%d groups of limits in use, want 2", n)
	}
}

func TestInternBounded(t *testing.T) {
	ls := NewLimits(2)
	a, b := intern(t, ls, bucket.Limit{Burst: 1}), intern(t, ls, bucket.Limit{Burst: 2})
	if _, err := ls.Intern([]bucket.Limit{{Burst: 3}}); !errors.Is(err, ErrTooManyLimits) {
		t.Fatalf("third group: %v", err)
	}
	if same := intern(t, ls, bucket.Limit{Burst: 1}); same != a {
		t.Fatal("equal limits are two groups")
	}
	if x, y := intern(t, NewLimits(9), bucket.Limit{Count: 600, Per: time.Minute}), (bucket.Limit{Count: 1, Per: 100 * time.Millisecond}); x.limits[0] != y {
		t.Fatalf("600 a minute is kept as %+v", x.limits[0])
	}
	b.Release()
	intern(t, ls, bucket.Limit{Burst: 3})
	for _, bad := range [][]bucket.Limit{nil, make([]bucket.Limit, MaxStates+1), {{Count: 1}}, {{Burst: -1}}} {
		if _, err := ls.Intern(bad); !errors.Is(err, bucket.ErrInvalidLimit) {
			t.Errorf("Intern(%v): %v", bad, err)
		}
	}
}

func TestNeverFittingCostMakesNoSlot(t *testing.T) {
	tb, ls := newTable(t, 1, 1<<20)
	g := intern(t, ls, tenPerHour)
	if d, _, err := tb.Take(0, idOf(1), g, 0, 11); err != nil || !d.Never() {
		t.Fatalf("%+v, %v", d, err)
	}
	tb.Look(0, idOf(2), g, 0, 1)
	tb.Take(0, idOf(3), g, 0, 0)
	if st := tb.Stats(); st.Groups != 0 {
		t.Fatalf("%d groups after nothing was taken", st.Groups)
	}
}

func TestBoundTooSmall(t *testing.T) {
	if _, err := New(10, 9*MinBytesPerPartition, NewLimits(1), Lending{}); err == nil {
		t.Fatal("a bound below the least is taken")
	}
}

func TestTakeDoesNotAllocate(t *testing.T) {
	tb, ls := newTable(t, 1, 1<<20)
	one, three := intern(t, ls, tenPerHour), intern(t, ls, tenPerHour, bucket.Limit{Burst: 3}, bucket.Limit{Burst: 4})
	for _, g := range []*Group{one, three} {
		id := idOf(1)
		tb.Take(0, id, g, 0, 1)
		if n := testing.AllocsPerRun(100, func() {
			tb.Take(0, id, g, 0, 1)
			tb.Look(0, id, g, 0, 1)
		}); n != 0 {
			t.Errorf("%d limits: %v allocations a check", len(g.limits), n)
		}
	}
}

// speaksFor says whether d rather than a is the answer of a group.
func speaksFor(d, a bucket.Decision) bool {
	if d.Allowed && a.Allowed {
		return d.Remaining < a.Remaining
	}
	rank := func(d bucket.Decision) time.Duration { // how long the limit stands in the way
		switch {
		case d.Allowed:
			return -1
		case d.Never():
			return math.MaxInt64
		}
		return min(d.RetryAfter, math.MaxInt64-1)
	}
	return rank(d) > rank(a)
}
