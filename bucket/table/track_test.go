package table

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

// changed collects, and wants these ids.
func (l *lending) changed(what string, want ...bucket.ID) {
	l.t.Helper()
	if got := sorted(l.tb.Changed(1, nil)); !slices.Equal(got, sorted(want)) {
		l.t.Errorf("%s: changed are %v, want %v", what, got, want)
	}
}

func TestChanged(t *testing.T) {
	l := newLending(t, perSecond(1000, 1000))
	a, b := idOf(1), idOf(2)
	now := second
	take := func(id bucket.ID, cost int64) {
		t.Helper()
		if _, _, err := l.tb.Take(1, id, l.g, now, cost); err != nil {
			t.Fatal(err)
		}
	}
	take(a, 10)
	l.changed("not tracked")
	l.tb.Track(1, true)
	l.changed("what was before")
	take(a, 1)
	take(a, 1)
	take(b, 1)
	l.tb.Track(1, true) // nothing
	if n := l.tb.Stats().Changed; n != 2 {
		t.Errorf("%d wait", n)
	}
	l.changed("takes of an old group and a new one", a, b)
	l.changed("collected")
	now += 3 * bucket.Instant(time.Millisecond)
	take(a, 0)
	take(a, 5000)
	l.tb.Look(1, a, l.g, now, 1)
	l.changed("nothing but time, and denials")
	l.from("b", now)
	l.tb.Debit(1, b, l.g, now, 1)
	l.changed("a forwarded check of a new group, a debit", l.id, b)
	l.from("b", now)
	l.from("b", now)
	if n := l.tb.Stats().Changed; n != 1 {
		t.Errorf("%d wait", n)
	}
	l.changed("forwarded checks of an old one", l.id)
	l.g = intern(t, l.tb.limits, perSecond(1000, 999))
	take(b, 0)
	l.changed("other limits", b)
	take(a, 1)
	l.tb.Track(1, false)
	l.changed("not tracked any more")
	take(b, 1)
	take(b, 1)
	l.tb.Track(1, true)
	l.changed("tracked again")
	take(b, 1)
	l.changed("a take", b)
	l.tb.Clear(1)
	take(b, 1)
	l.changed("a take after all was dropped", b)
}

func TestChangedByLeases(t *testing.T) {
	l := newLending(t, perSecond(1000, 1000))
	l.tb.Track(1, true)
	now := l.heat("b")
	a := l.borrow("b", 1, now)
	if n := l.tb.Stats().Changed; n != 1 {
		t.Errorf("%d wait", n)
	}
	l.changed("became hot, lent", l.id)
	l.borrow("b", 2, now)
	l.changed("lent again", l.id)
	l.tb.Look(1, l.id, l.g, now+second, 1)
	l.tb.Lent(now + second)
	l.tb.Sweep(1, now+second)
	l.changed("looked at")
	l.borrow("c", 3, now+second)
	l.changed("lent once more", l.id)
	now += bucket.Instant(lease.Burn)
	for name, look := range map[string]func(){
		"look":  func() { l.tb.Look(1, l.id, l.g, now, 1) },
		"lent":  func() { l.tb.Lent(now) },
		"sweep": func() { l.tb.Sweep(1, now) },
		"cool":  func() { l.tb.Cool(1, now) },
	} {
		look()
		l.changed("burned, seen by "+name, l.id)
		now += 2 * second
		l.tb.Cool(1, now+second)
		l.tb.Changed(1, nil)
		now += 2 * second
		for range hotPerWindow + 1 {
			l.from("b", now)
		}
		l.tb.Lend(1, l.id, l.g, now, "b", lease.Request{
			Number: lease.Number{Incarnation: 2, Seq: uint64(now)}, Demand: lease.Demand{Tokens: 500, Checks: 500},
		})
		l.tb.Changed(1, nil)
		now += bucket.Instant(lease.Burn)
	}
	l.tb.Take(1, l.id, l.g, now, 1)
	l.changed("a caller here", l.id)
	l.tb.Lend(1, l.id, l.g, now, "b", lease.Request{Lease: a.Lease, Left: a.Tokens, Close: true})
	l.changed("given back too late, which the lender sees", l.id)
}

// What has changed stays until somebody has heard of it, and no longer than that: a copy of when it was not full would
// be wrong for ever if the bucket never refills.
func TestChangedStaysUntilCollected(t *testing.T) {
	l := newLending(t, bucket.Limit{Burst: 1000})
	now := l.heat("b")
	a := l.borrow("b", 1, now)
	l.tb.Track(1, true)
	w := l.tb.parts[1].one.find(l.id)
	store(w, 0, bucket.State{Tokens: 1000 - a.Tokens, Last: now}) // as if nothing had been taken
	l.tb.Lend(1, l.id, l.g, now, "b", lease.Request{Lease: a.Lease, Left: a.Tokens, Close: true})
	now += 10 * second
	if removed := l.tb.Sweep(1, now); removed != 0 {
		t.Error("removed before anybody heard that it is full")
	}
	l.changed("given back, and full", l.id)
	if removed := l.tb.Sweep(1, now); removed != 1 {
		t.Error("not removed though it is full")
	}
}

func TestChangedIsBounded(t *testing.T) {
	l := newLending(t, perSecond(1000, 10))
	l.tb.Track(1, true)
	now := second
	for k := range uint64(10_000) {
		now += bucket.Instant(time.Millisecond)
		if _, _, err := l.tb.Take(1, idOf(k), l.g, now, 5); err != nil {
			t.Fatal(err)
		}
		if k%100 == 99 {
			l.tb.Changed(1, nil)
			l.tb.Sweep(1, now)
		}
		if s := l.tb.Stats(); s.Changed > 100 || s.Groups > 200 {
			t.Fatalf("%d ids wait, and there are %d groups", s.Changed, s.Groups)
		}
	}
}

// An id comes once though a policy had one limit before, and now has two.
func TestIDsOnceEach(t *testing.T) {
	tb, ls := newTable(t, 1, 1<<20)
	one, two := intern(t, ls, tenPerHour), intern(t, ls, tenPerHour, tenPerHour)
	for k := range uint64(10) {
		tb.Take(0, idOf(k), one, second, 1)
		tb.Take(0, idOf(k+5), two, second, 1)
	}
	all := tb.IDs(0, nil)
	if n := len(sorted(slices.Clone(all))); n != 15 || len(all) != 15 {
		t.Errorf("%d ids, %d different ones, want 15", len(all), n)
	}
	to, _ := newTable(t, 1, 1<<20)
	blob, _ := tb.Export(0, all, second, nil, 1<<20)
	if err := to.Import(0, blob, second); err != nil || to.Stats().Groups != 20 {
		t.Errorf("%d groups arrived of 20: %v", to.Stats().Groups, err)
	}
}

// TestChangedAgainstModel has random takes, changes of limits, sweeps and collections: whoever collects hears of all
// groups that changed by more than time, and of no other.
func TestChangedAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tb, ls := newTable(t, 1, 1<<20)
		groups := [2][]*Group{
			{intern(t, ls, perSecond(10, 10)), intern(t, ls, perSecond(9, 10))},
			{intern(t, ls, perSecond(10, 10), tenPerHour)},
		}
		want := map[bucket.ID]bool{}
		there := func(id bucket.ID) bool { return slices.Contains(tb.IDs(0, nil), id) }
		used := map[bucket.ID]*Group{} // under which limits
		now, tracked := second, false
		for range rapid.IntRange(1, 100).Draw(rt, "steps") {
			key := rapid.Uint64Range(0, 20).Draw(rt, "key")
			id := idOf(key)
			switch rapid.IntRange(0, 5).Draw(rt, "what") {
			case 0:
				now += bucket.Instant(rapid.Int64Range(0, 2e9).Draw(rt, "wait"))
				tb.Sweep(0, now)
				maps.DeleteFunc(used, func(id bucket.ID, _ *Group) bool { return !there(id) })
			case 1:
				tracked = !tracked
				tb.Track(0, tracked)
				clear(want)
			case 2:
				got := tb.Changed(0, nil)
				for id := range want {
					if tracked && !slices.Contains(got, id) {
						rt.Fatalf("%v is not among the changed %v", id, got)
					}
				}
				for _, id := range got {
					if !tracked || !want[id] || !there(id) {
						rt.Fatalf("%v is among the changed", id)
					}
				}
				clear(want)
			default:
				g := rapid.SampledFrom(groups[key%2]).Draw(rt, "limits")
				cost := rapid.Int64Range(0, 4).Draw(rt, "cost")
				had := used[id]
				d, _, err := tb.Take(0, id, g, now, cost)
				if err != nil {
					rt.Fatal(err)
				}
				if there(id) {
					used[id] = g
				}
				if d.Allowed && cost > 0 || had != nil && used[id] != had {
					want[id] = true
				}
			}
		}
	})
}
