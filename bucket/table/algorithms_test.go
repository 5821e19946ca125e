package table

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

// drawAny draws a limit of any algorithm, small and fast.
func drawAny(t *rapid.T) bucket.Limit {
	l := bucket.Limit{
		Algorithm: bucket.Algorithm(rapid.IntRange(0, int(bucket.CalendarWindow)).Draw(t, "algorithm")),
		Per:       time.Duration(rapid.Int64Range(1, 2e9).Draw(t, "per")),
		Burst:     rapid.Int64Range(0, 20).Draw(t, "burst"),
	}
	l.Count = l.Burst
	switch l.Algorithm {
	case bucket.Pacer:
		l.MaxWait = time.Duration(rapid.Int64Range(0, 2e9).Draw(t, "wait"))
	case bucket.SlidingWindow:
		if rapid.IntRange(0, 3).Draw(t, "counters") == 0 {
			l.Burst += bucket.MaxLogged
			l.Count = l.Burst
		}
	case bucket.CalendarWindow:
		l.Per, l.Calendar, l.Zone = 0, bucket.Minute, rapid.SampledFrom([]string{"", "Europe/Berlin"}).Draw(t, "zone")
	}
	return l
}

// TestEveryAlgorithm plays random calls to groups of any limits, in a table that moves to another one now and then, whole or as
// bytes, and compares every answer with that of a bucket.Group of its own for each key.
func TestEveryAlgorithm(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tb, ls := newTable(t, 1, 1<<20)
		other, err := New(1, 1<<20, ls, Lending{})
		if err != nil {
			rt.Fatal(err)
		}
		other.Close(0)
		wall := rapid.Int64Range(-1e18, 1e18).Draw(rt, "wall")
		tb.SetWall(wall)
		other.SetWall(wall)
		var groups []*Group
		states := rapid.IntRange(1, 3).Draw(rt, "states")
		for range rapid.IntRange(1, 3).Draw(rt, "groups") {
			var limits []bucket.Limit
			for range states {
				limits = append(limits, drawAny(rt))
			}
			groups = append(groups, intern(t, ls, limits...))
		}
		now := bucket.Instant(1e18)
		model := map[bucket.ID]*bucket.Group{}
		for range rapid.IntRange(1, 100).Draw(rt, "steps") {
			now += bucket.Instant(rapid.Int64Range(0, 5e8).Draw(rt, "step"))
			id := idOf(rapid.Uint64Range(0, 3).Draw(rt, "key"))
			g := rapid.SampledFrom(groups).Draw(rt, "group")
			cost := rapid.Int64Range(0, 8).Draw(rt, "cost")
			m := model[id]
			switch rapid.IntRange(0, 9).Draw(rt, "call") {
			case 0:
				tb.Sweep(0, now)
				forgetNew(model, now)
			case 1: // as bytes
				forgetNew(model, now)
				ids := tb.IDs(0, nil)
				blob, taken := tb.Export(0, ids, now, nil, 1<<20)
				if err := other.Import(0, blob, now); err != nil || taken != len(ids) {
					rt.Fatal(taken, err)
				}
				tb.Close(0)
				tb.Clear(0)
				tb, other = other, tb
				tb.Open(0, 2)
			case 2: // whole
				tb.Close(0)
				if err := tb.Move(0, other); err != nil {
					rt.Fatal(err)
				}
				tb, other = other, tb
				tb.Open(0, 2)
			case 3:
				if m != nil && cost > 0 { // else it makes a slot, and takes nothing from it
					if err := tb.Debit(0, id, g, now, cost); err != nil {
						rt.Fatal(err)
					}
					m.Adopt(g.limits, now)
					m.Debit(now, cost, nil)
				}
			case 4, 5:
				got, which, err := tb.Look(0, id, g, now, cost)
				if err != nil {
					rt.Fatal(err)
				}
				c := startedModel(g, now, wall)
				if m != nil {
					c = m.Clone()
					c.Adopt(g.limits, now)
				}
				if want, by := c.Look(now, cost); got != want || which != by {
					rt.Fatalf("looks like %+v by %d, want %+v by %d", got, which, want, by)
				}
			default:
				got, which, err := tb.Take(0, id, g, now, cost)
				if err != nil {
					rt.Fatal(err)
				}
				if m == nil {
					fresh := startedModel(g, now, wall)
					m = &fresh
				}
				m.Adopt(g.limits, now)
				if want, by := m.Take(now, cost); got != want || which != by {
					rt.Fatalf("%+v by %d, want %+v by %d", got, which, want, by)
				}
				if got.Allowed && cost > 0 {
					model[id] = m
				}
			}
			logged(rt, tb)
			logged(rt, other)
		}
		now += bucket.Instant(time.Hour)
		tb.Sweep(0, now)
		forgetNew(model, now)
		if st := tb.Stats(); st.Groups != len(model) || st.Groups == 0 && tb.parts[0].log != nil {
			rt.Fatalf("%d groups are left, want %d", st.Groups, len(model))
		}
	})
}

// forgetNew forgets what a table does not keep.
func forgetNew(model map[bucket.ID]*bucket.Group, now bucket.Instant) {
	for id, m := range model {
		if m.IsNew(now) {
			delete(model, id)
		}
	}
}

func startedModel(g *Group, now bucket.Instant, wall int64) bucket.Group {
	m := bucket.Group{Limits: g.limits, States: make([]bucket.State, len(g.limits)), Wall: wall, Log: new(bucket.Log)}
	m.Start(now)
	return m
}

// logged checks that all entries of a partition's log are some slot's, and counted.
func logged(t *rapid.T, tb *Table) {
	p := &tb.parts[0]
	bytes, entries := int64(0), 0
	p.each(func(s *slab) { bytes += int64(len(s.words)) * wordBytes })
	size, used, counted := 0, 0, 0
	if p.log != nil {
		size, used, counted = p.log.Size(), p.log.Used(), p.log.counted
	}
	if got := tb.bytes.Load(); got != bytes+int64(counted)*bucket.LogEntryBytes || size < counted {
		t.Fatalf("%d bytes are counted, with %d of %d entries of the log: want %d and those", got, counted, size, bytes)
	}
	p.eachSlot(func(w []uint64) {
		g := tb.limits.at(unpack(w[2]))
		var room [MaxStates]bucket.State
		s := tb.take(p, w, g, &room)
		if g.logs > 0 {
			c := s.Clone()
			entries += c.Log.Used()
		}
	})
	if entries != used {
		t.Fatalf("%d entries of the log are of slots, of %d", entries, used)
	}
}

// TestLogsAreBounded: what sliding windows remember is in the memory bound. What is not remembered is not admitted, and what has
// ended makes room.
func TestLogsAreBounded(t *testing.T) {
	const bound = 1 << 16
	tb, ls := newTable(t, 1, bound)
	g := intern(t, ls, bucket.Limit{Algorithm: bucket.SlidingWindow, Count: 1000, Per: time.Minute, Burst: 1000})
	now, admitted := bucket.Instant(0), 0
	for tb.Stats().Refused == 0 {
		now += 1000
		d, _, err := tb.Take(0, idOf(uint64(admitted%8)), g, now, 1)
		if err != nil && !errors.Is(err, ErrFull) || err == nil && !d.Allowed {
			t.Fatal(d, err)
		}
		if err == nil {
			admitted++
		}
	}
	if bytes := tb.Stats().Bytes; bytes > bound || admitted < bound/bucket.LogEntryBytes/2 {
		t.Errorf("%d admitted in %d bytes", admitted, bytes)
	}
	if _, _, err := tb.Take(0, idOf(1), g, now, 1); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	now += bucket.Instant(time.Minute)
	for range admitted {
		now += 1000
		if d, _, err := tb.Take(0, idOf(1), g, now, 0); err != nil || !d.Allowed || d.Remaining != 1000 {
			t.Fatal(d, err)
		}
	}
	if d, _, err := tb.Take(0, idOf(1), g, now, 1); err != nil || d.Remaining != 999 {
		t.Error(d, err)
	}
	tb.Sweep(0, now+bucket.Instant(time.Minute))
	tb.Sweep(0, now+bucket.Instant(time.Minute))
	if st := tb.Stats(); st.Groups != 0 || st.Bytes > MinBytesPerPartition {
		t.Errorf("at last %+v", st)
	}
}

// TestWhatIsNeverHot: tokens of a pacer or a sliding window are not lent, whoever asks.
func TestWhatIsNeverHot(t *testing.T) {
	for _, a := range []bucket.Algorithm{bucket.Pacer, bucket.SlidingWindow, bucket.FirstHitWindow} {
		tb, ls := newTable(t, 1, 1<<20)
		g := intern(t, ls, tenPerHour, bucket.Limit{Algorithm: a, Count: 1 << 20, Per: time.Hour, Burst: 1 << 20})
		for range 10 * hotPerWindow {
			if _, err := tb.TakeFor(0, idOf(1), g, second, Asker{Name: "b", Leases: true}, 1); err != nil {
				t.Fatal(err)
			}
		}
		r := lease.Request{Number: lease.Number{Incarnation: 1, Seq: 1}, Demand: lease.Demand{Tokens: 1000, Checks: 1000}}
		if a, ok, err := tb.Lend(0, idOf(1), g, second, "b", r); a.Tokens != 0 || !ok || err != nil {
			t.Error(a, ok, err)
		}
		if hot := tb.Stats().Leases.Hot; hot != 0 {
			t.Errorf("%v: %d hot", a, hot)
		}
	}
}
