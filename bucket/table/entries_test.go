package table

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

func internFor(t testing.TB, ls *Limits, text string, limits ...bucket.Limit) *Group {
	t.Helper()
	g, err := ls.InternFor(limits, 1, NameOf(text))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Release)
	return g
}

func setEntry(t testing.TB, tb *Table, id bucket.ID, number uint64, text string) {
	t.Helper()
	if got, err := tb.SetEntry(0, Entry{id, number, text}, false, second); err != nil || got != number {
		t.Fatalf("entry %d counts: %v, want %d", got, err, number)
	}
}

// TestEntry: a key is decided by the limits of its entry from when that is set, and what was taken before stays taken.
func TestEntry(t *testing.T) {
	tb, ls := newTable(t, 1, 1<<20)
	l := tagged(1, 0, 10)
	own, few, same := intern(t, ls, l), internFor(t, ls, "few", tagged(1, 0, 4)), internFor(t, ls, "same", l)
	id := idOf(1)
	asked := func(g *Group, wants string) {
		t.Helper()
		for i, ask := range []func() (d bucket.Decision, err error){
			func() (d bucket.Decision, err error) { d, _, err = tb.Look(0, id, g, second, 1); return },
			func() (d bucket.Decision, err error) { d, _, err = tb.Take(0, id, g, second, 0); return },
			func() (d bucket.Decision, err error) {
				d, _, err = tb.TakeEach(0, id, g, second, 0, []int64{0})
				return
			},
			func() (bucket.Decision, error) {
				a, err := tb.TakeFor(0, id, g, second, Asker{Name: "b"}, 0)
				return a.Decision, err
			},
			func() (bucket.Decision, error) {
				held, err := tb.Hold(0, id, g, second, Asker{}, lease.HoldID{Node: 1, Number: uint64(i1())}, 0, []int64{0})
				return held.Decision, err
			},
			func() (d bucket.Decision, err error) { d, _, err = tb.Take(0, id, g, second, 1); return },
		} {
			d, err := ask()
			got := fmt.Sprintf("%d left", d.Remaining)
			if other := (*OtherLimits)(nil); errors.As(err, &other) {
				got = "other limits: " + other.Text
			} else if err != nil {
				t.Fatal(err)
			}
			if want := wants; i == 5 && got != want || i < 5 && (err != nil) != (len(want) > 6 && want[:5] == "other") {
				t.Errorf("way %d: %s, want %s", i, got, want)
			}
		}
	}
	asked(own, "9 left")
	setEntry(t, tb, id, 5, "few")
	asked(own, "other limits: few")
	asked(few, "3 left") // a smaller burst cuts
	asked(own, "other limits: few")
	setEntry(t, tb, id, 6, "same") // as those of the policy
	asked(few, "other limits: same")
	asked(own, "other limits: same")
	asked(same, "2 left") // a larger one grants nothing
	if n, err := tb.SetEntry(0, Entry{id, 5, "few"}, false, second); n != 6 || err != nil {
		t.Errorf("an older entry: %d counts, %v", n, err)
	}
	asked(same, "1 left")
	setEntry(t, tb, id, 7, "")
	asked(same, "other limits: ")
	setEntry(t, tb, idOf(2), 1, "few")
	if d, _, err := tb.Take(0, idOf(2), own, second, 1); err == nil {
		t.Errorf("a key that was not seen before is decided by the policy's limits: %v", d)
	}
	if d, _, err := tb.Take(0, idOf(2), few, second, 1); err != nil || d.Remaining != 3 {
		t.Errorf("%v, %v", d, err)
	}
	if st := tb.Stats(); st.Entries != 1 {
		t.Errorf("%d entries, want 1", st.Entries)
	}
	if _, _, err := tb.Take(0, id, own, second, 1); err != nil {
		t.Error(err)
	}
}

var holdNumber int

func i1() int { holdNumber++; return holdNumber }

// TestEntryOfHotKey: who holds leases is told, gets no more of the old ones, and what comes back counts.
func TestEntryOfHotKey(t *testing.T) {
	ls := NewLimits(100)
	var recalled []string
	tb, err := New(1, 1<<20, ls, Lending{Recall: func(_ bucket.ID, holders []string) { recalled = append(recalled, holders...) }})
	if err != nil {
		t.Fatal(err)
	}
	old, next := intern(t, ls, tagged(1, 0, 100000)), internFor(t, ls, "next", tagged(1, 0, 200000))
	id, now := idOf(1), bucket.Instant(second)
	for range hotPerWindow + 1 {
		if _, err := tb.TakeFor(0, id, old, now, Asker{Name: "b", Leases: true}, 1); err != nil {
			t.Fatal(err)
		}
	}
	lend := func(g *Group, r lease.Request) lease.Answer {
		t.Helper()
		r.Number.Incarnation = 1
		a, _, err := tb.Lend(0, id, g, now, "b", r)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	demand := lease.Demand{Tokens: 1000, Checks: 1000}
	a := lend(old, lease.Request{Number: lease.Number{Seq: 1}, Demand: demand})
	if a.Tokens == 0 {
		t.Fatal("nothing was lent")
	}
	setEntry(t, tb, id, 1, "next")
	if !slices.Equal(recalled, []string{"b"}) {
		t.Errorf("recalled from %q", recalled)
	}
	now += bucket.Instant(10 * time.Millisecond)
	again := lend(old, lease.Request{Number: lease.Number{Seq: 2}, Lease: a.Lease, Left: a.Tokens, Demand: demand})
	if again.Tokens != 0 || !again.Recall {
		t.Errorf("%+v, want nothing more, and a recall", again)
	}
	d, _, err := tb.Take(0, id, next, now, 1)
	if want := 100000 - int64(hotPerWindow) - 1 - a.Tokens - 1; err != nil || d.Remaining != want {
		t.Errorf("%+v, %v, want %d left: raising grants nothing", d, err, want)
	}
	tb.Lend(0, id, old, now, "b", lease.Request{Number: lease.Number{Incarnation: 1, Seq: 3}, Lease: a.Lease, Left: a.Tokens, Close: true})
	if d, _, err = tb.Take(0, id, next, now, 0); err != nil || d.Remaining != 100000-int64(hotPerWindow)-1-1 {
		t.Errorf("%+v, %v, want what came back there", d, err)
	}
	if a := lend(next, lease.Request{Number: lease.Number{Seq: 4}, Demand: demand}); a.Tokens == 0 {
		t.Error("nothing is lent of the new limits")
	}
}

func TestEntriesAreForgotten(t *testing.T) {
	tb, _ := newTable(t, 1, 1<<20)
	tb.SetWall(int64(time.Hour) * 1000)
	number := uint64((time.Hour*1000 + time.Second) / time.Microsecond)
	setEntry(t, tb, idOf(1), number, "text")
	setEntry(t, tb, idOf(2), number, "")
	later := bucket.Instant(RemovedFor) + second
	tb.Sweep(0, later)
	if _, ok, _ := tb.EntryOf(0, idOf(2)); !ok {
		t.Error("a removed entry is forgotten too early")
	}
	before := tb.Stats().Bytes
	tb.Sweep(0, later+bucket.Instant(time.Microsecond))
	if _, ok, _ := tb.EntryOf(0, idOf(2)); ok {
		t.Error("a removed entry is not forgotten")
	}
	if e, ok, err := tb.EntryOf(0, idOf(1)); !ok || err != nil || e != (Entry{idOf(1), number, "text"}) {
		t.Errorf("%v, %v, %v", e, ok, err)
	}
	if after := tb.Stats().Bytes; after != before-entryBytes {
		t.Errorf("%d bytes, were %d", after, before)
	}
	tb.Close(0)
	if _, _, err := tb.EntryOf(0, idOf(1)); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if _, err := tb.SetEntry(0, Entry{ID: idOf(1)}, false, later); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestEntriesFindNoRoom(t *testing.T) {
	tb, _ := newTable(t, 1, 64*int64(slotBytes(1)))
	var err error
	for i := uint64(0); err == nil; i++ {
		if i > 1000 {
			t.Fatal("there is room without end")
		}
		_, err = tb.SetEntry(0, Entry{idOf(i), 1, "text"}, false, second)
	}
	if !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	if _, err := tb.SetEntry(0, Entry{idOf(0), 2, "text"}, false, second); err != nil {
		t.Errorf("an entry that is there can't be changed: %v", err)
	}
}

// TestEntriesBesideBuckets: keys that somebody makes up do not keep limits from being set, and what is full again makes room.
func TestEntriesBesideBuckets(t *testing.T) {
	tb, ls := newTable(t, 1, 1<<20)
	g := intern(t, ls, bucket.Limit{Count: 1, Per: time.Second, Burst: 1})
	for k := uint64(0); ; k++ {
		if _, _, err := tb.Take(0, idOf(k), g, second, 1); err != nil {
			break
		}
	}
	set := func(from uint64, now bucket.Instant) (n uint64) {
		for ; n < 100_000; n++ {
			if _, err := tb.SetEntry(0, Entry{idOf(1<<32 + from + n), 1, "text"}, false, now); err != nil {
				break
			}
		}
		return n
	}
	few := set(0, second)
	if few < 1<<20/entryReserve/(entryBytes+4)-1 {
		t.Errorf("%d entries beside buckets that have all", few)
	}
	most := uint64((1<<20 + 1<<20/entryReserve) / (entryBytes + 4))
	if more := set(few, 3*second); few+more < most*95/100 {
		t.Errorf("%d, and %d more when all buckets are full again, want nearly %d", few, more, most)
	}
}

// TestEntriesTravel: whatever happens to two tables, the highest entry is at both in the end, a slot's limits are always by the entry of
// its key, and only what was not returned by Unsaved is new.
func TestEntriesTravel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ls := NewLimits(1000)
		var tables []*Table
		for range 3 {
			tb, err := New(1, 1<<20, ls, Lending{})
			if err != nil {
				t.Fatal(err)
			}
			tb.SaveEntries()
			tables = append(tables, tb)
		}
		texts := []string{"", "few", "more"}
		var groups []*Group
		for i, text := range texts {
			for _, burst := range []int64{3, 3 + int64(i)} {
				g, err := ls.InternFor([]bucket.Limit{tagged(1, 1, burst)}, uint64(i), NameOf(text))
				if err != nil {
					t.Fatal(err)
				}
				groups = append(groups, g)
			}
		}
		highest, saved := map[bucket.ID]Entry{}, map[bucket.ID]Entry{}
		number := uint64(0)
		at := tables[0]
		at.Track(0, true)
		other := tables[1]
		changed := map[bucket.ID]bool{}
		send := func(ids []bucket.ID) {
			blob, taken := at.Export(0, ids, second, nil, 1<<20)
			if taken != len(ids) {
				t.Fatal(taken)
			}
			if err := other.Import(0, blob, second); err != nil {
				t.Fatal(err)
			}
		}
		save := func(tb *Table) {
			for _, e := range tb.Unsaved(0, nil) {
				if e.Number > saved[e.ID].Number {
					saved[e.ID] = e
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				id := idOf(rapid.Uint64Range(0, 3).Draw(t, "key"))
				number++
				e := Entry{id, number, rapid.SampledFrom(texts).Draw(t, "text")}
				highest[id] = e
				if _, err := at.SetEntry(0, e, false, second); err != nil {
					t.Fatal(err)
				}
			},
			"take": func(t *rapid.T) {
				id, g := idOf(rapid.Uint64Range(0, 3).Draw(t, "key")), rapid.SampledFrom(groups).Draw(t, "limits")
				_, _, err := at.Take(0, id, g, second, 1)
				if right := g.Entry() == NameOf(highest[id].Text); right != (err == nil) {
					t.Fatalf("by %d, the entry is %v: %v", g.Entry(), highest[id], err)
				}
			},
			"debit": func(t *rapid.T) {
				id, g := idOf(rapid.Uint64Range(0, 3).Draw(t, "key")), rapid.SampledFrom(groups).Draw(t, "limits")
				if err := at.Debit(0, id, g, second, 1); err != nil {
					t.Fatal(err)
				}
			},
			"copy": func(t *rapid.T) {
				for _, id := range at.Changed(0, nil) {
					changed[id] = true
				}
				var ids []bucket.ID
				for id := range changed {
					ids = append(ids, id)
				}
				clear(changed)
				send(ids)
			},
			"sweep": func(*rapid.T) { at.Sweep(0, 1<<40) },
			"move": func(t *rapid.T) {
				if err := at.Move(0, tables[2]); err != nil {
					t.Fatal(err)
				}
				at, tables[2] = tables[2], at
				tables[2].Clear(0)
				other.Clear(0)
				at.Track(0, true)
				send(at.IDs(0, nil))
			},
			"save": func(*rapid.T) { save(at) },
			"": func(t *rapid.T) {
				for _, tb := range []*Table{at, other} {
					p := &tb.parts[0]
					p.eachSlot(func(w []uint64) {
						id := bucket.ID{Hi: w[0], Lo: w[1]}
						if g := ls.at(unpack(w[2])); g.entry != NameOf(p.entryText(id)) {
							t.Fatalf("limits by %d, the entry is %q", g.entry, p.entryText(id))
						}
					})
				}
			},
		})
		for _, id := range at.Changed(0, nil) {
			changed[id] = true
		}
		var ids []bucket.ID
		for id := range changed {
			ids = append(ids, id)
		}
		send(ids)
		save(at)
		for id, want := range highest {
			for _, tb := range []*Table{at, other} {
				if got, ok, err := tb.EntryOf(0, id); got != want || !ok || err != nil {
					t.Fatalf("%v, %v, %v, want %v", got, ok, err, want)
				}
			}
			if saved[id] != want {
				t.Fatalf("%v is saved, want %v", saved[id], want)
			}
		}
	})
}
