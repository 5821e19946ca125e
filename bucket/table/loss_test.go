package table

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

// TestTakenOverEmpty loses an owner with an old copy of it, or with none of a key: what starts empty admits no more than
// ever, though leases are out of which the copy knows nothing, and whatever becomes hot, is swept, or moves on.
func TestTakenOverEmpty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := newCluster(rt, t, drawLimits(rt, bucket.LossEmpty), drawLimits(rt, bucket.LossEmpty))
		c.steps(30)
		c.copyOf(c.at.IDs(clusterPart, nil), 1<<19)
		c.steps(30) // of which the copy knows nothing
		c.at.Close(clusterPart)
		c.at, c.other = c.other, c.at
		c.wait(100 * time.Millisecond)
		c.at.TakenOver(clusterPart, c.now)
		c.epoch++
		c.at.Open(clusterPart, c.epoch)
		for range rapid.IntRange(0, 30).Draw(rt, "steps") {
			switch rapid.IntRange(0, 9).Draw(rt, "also") {
			case 0:
				c.drain()
			case 1:
				c.spendAll()
			case 2:
				c.transfer(1)
			}
			c.step()
		}
		c.drain()
		c.spendAll()
		for key := range c.groups {
			if n := c.worst(key); n > 0 {
				rt.Fatalf("key %d of %v: %d more admitted than allowed", key, c.groups[key].Limits(), n)
			}
		}
	})
}

// takenOver is a table with one group of limits, used down to so many tokens, whose owner is lost at once.
func takenOver(t *testing.T, left int64, limits ...bucket.Limit) *lending {
	t.Helper()
	l := newLending(t, limits...)
	d, _, err := l.tb.Look(1, l.id, l.g, second, 0)
	if err != nil {
		t.Fatal(err)
	}
	l.tb.Take(1, l.id, l.g, second, d.Remaining-left)
	l.lose(second)
	return l
}

func (l *lending) lose(now bucket.Instant) {
	l.tb.Close(1)
	l.tb.TakenOver(1, now)
	l.tb.Open(1, 2)
}

// has checks the level of each limit of a group.
func (l *lending) has(id bucket.ID, now bucket.Instant, levels ...int64) {
	l.t.Helper()
	for i, want := range levels {
		if got := l.level(id, now, i); got != want {
			l.t.Errorf("at %v limit %d has %d, want %d", time.Duration(now), i, got, want)
		}
	}
}

func (l *lending) level(id bucket.ID, now bucket.Instant, i int) int64 {
	l.t.Helper()
	p := &l.tb.parts[1]
	if err := l.tb.enter(p, now); err != nil {
		l.t.Fatal(err)
	}
	var room [MaxStates]bucket.State
	s, _, _ := l.tb.peek(p, id, l.g, now, &room)
	s.States[i].Refill(&l.g.limits[i], now)
	return s.States[i].Tokens
}

// ruled is a limit with a rule.
func ruled(l bucket.Limit, rule bucket.OwnerLoss) bucket.Limit {
	l.OwnerLoss = rule
	return l
}

// TestTakenOverByRule: each limit goes by its own rule, in groups that the copy knows and in ones that it does not.
func TestTakenOverByRule(t *testing.T) {
	l := takenOver(t, 30, // of the smaller ones
		ruled(bucket.Limit{Count: 1, Per: time.Hour, Burst: 100}, bucket.LossReplica),
		ruled(bucket.Limit{Count: 10, Per: time.Second, Burst: 100}, bucket.LossEmpty),
		ruled(bucket.Limit{Count: 1, Per: time.Hour, Burst: 200}, bucket.LossFull))
	l.has(l.id, second, 30, 0, 200)
	l.has(l.id, 2*second, 30, 10, 200)
	l.has(idOf(9), second, 100, 0, 200)
	l.has(idOf(9), 2*second, 100, 10, 200)
	if d, which, _ := l.tb.Take(1, idOf(9), l.g, 2*second, 11); d.Allowed || which != 1 {
		t.Errorf("%+v by limit %d: more than has come since", d, which)
	}
	if d, _, _ := l.tb.Take(1, idOf(9), l.g, 2*second, 10); !d.Allowed {
		t.Errorf("%+v: what has come since", d)
	}
	l.has(idOf(9), 2*second, 90, 0, 190)
	l.has(idOf(8), 20*second, 100, 100, 200)
}

// TestReserveAfterLoss: for two seconds a quarter is kept free for leases that may be out, and time in which they were
// in the way does not count afterwards, even if nobody looked meanwhile.
func TestReserveAfterLoss(t *testing.T) {
	const lost, ms = second, bucket.Instant(time.Millisecond)
	const ends = lost + bucket.Instant(lease.Burn)
	for name, begin := range map[string]func(l *lending) bucket.ID{
		"known":      func(l *lending) bucket.ID { return l.id },
		"never seen": func(*lending) bucket.ID { return idOf(9) },
		"since in use": func(l *lending) bucket.ID {
			if d, _, err := l.tb.Take(1, idOf(9), l.g, lost+ms, 4); err != nil || !d.Allowed {
				t.Fatal(d, err)
			}
			return idOf(9)
		},
		"since hot": func(l *lending) bucket.ID { l.heat("b"); return l.id },
	} {
		for _, watched := range []bool{true, false} {
			l := takenOver(t, 1000, ruled(perSecond(4000, 4000), bucket.LossEmpty))
			id := begin(l)
			if watched {
				if d, _, err := l.tb.Take(1, id, l.g, lost+1500*ms, 3001); err != nil || d.Allowed || d.Remaining != 3000 {
					t.Errorf("%s: %+v %v, want the three quarters of a burst", name, d, err)
				}
				if d, _, _ := l.tb.Look(1, id, l.g, ends-1, 3001); d.Allowed {
					t.Errorf("%s: %+v while a quarter may be out", name, d)
				}
				l.has(id, ends-1, 3000)
			}
			if d, _, err := l.tb.Take(1, id, l.g, ends+100*ms, 3401); err != nil || d.Allowed || d.Remaining != 3400 {
				t.Errorf("%s, watched %v: %+v %v, want the three quarters and what has come since", name, watched, d, err)
			}
			l.has(id, ends+250*ms, 4000)
			if !l.tb.parts[1].ready {
				t.Errorf("%s: takes go the slow way for ever", name)
			}
		}
	}
}

// A hot group whose owner was lost has what its copy knows to be out, and the reserve, until they burn.
func TestTakenOverHot(t *testing.T) {
	for _, rule := range []bucket.OwnerLoss{bucket.LossReplica, bucket.LossEmpty, bucket.LossFull} {
		l := newLending(t, ruled(bucket.Limit{Count: 1, Per: time.Hour, Burst: 1000}, rule))
		now := l.heat("b")
		out := l.borrow("b", 1, now).Tokens
		level := l.level(l.id, now, 0)
		l.lose(now)
		reserve := int64(0)
		switch rule {
		case bucket.LossEmpty:
			level, reserve = 0, 250
		case bucket.LossFull:
			level = 1000 - out
		}
		l.has(l.id, now, level)
		if got := l.tb.Stats().Leases.Out; got != out+reserve {
			t.Errorf("%v: %d is out, want the %d lent and a reserve of %d", rule, got, out, reserve)
		}
		now += bucket.Instant(lease.Burn)
		l.has(l.id, now, level)
		if s := l.tb.Stats().Leases; s.Out != 0 || s.Burned != out+reserve {
			t.Errorf("%v: %+v in the end", rule, s)
		}
	}
}

// Time counts from when the owner was lost, though the copy was not looked at since it was made.
func TestTakenOverCountsFromThen(t *testing.T) {
	for _, hot := range []bool{false, true} {
		l := newLending(t, ruled(perSecond(100, 1000), bucket.LossEmpty))
		now := second
		l.tb.Take(1, l.id, l.g, now, 1)
		if hot {
			now = l.heat("b")
			l.borrow("b", 1, now)
		}
		l.tb.Track(1, true)
		now += second
		l.lose(now)
		l.changed("taken over", l.id)
		l.has(l.id, now, 0)
		l.has(l.id, now+second, 100)
	}
}

// A debt outlives the owner, but by LossFull.
func TestTakenOverInDebt(t *testing.T) {
	l := newLending(t, ruled(perSecond(0, 100), bucket.LossReplica), ruled(perSecond(0, 100), bucket.LossEmpty),
		ruled(perSecond(0, 100), bucket.LossFull))
	if err := l.tb.Debit(1, l.id, l.g, second, 120); err != nil {
		t.Fatal(err)
	}
	l.lose(second)
	l.has(l.id, second, -20, -20, 100)
}

// A group is not forgotten before a new one would be as full, and then it is.
func TestSweepAfterLoss(t *testing.T) {
	l := takenOver(t, 0, ruled(perSecond(10, 100), bucket.LossEmpty))
	l.tb.TakenOver(1, 6*second) // once more, so that what was known is
	l.tb.Take(1, idOf(9), l.g, 6*second+second/2, 5)
	w := l.tb.parts[1].one.find(idOf(9))
	store(w, 0, bucket.Full(&l.g.limits[0], 7*second)) // as if what was lent had come back
	if removed := l.tb.Sweep(1, 15*second); removed != 0 {
		t.Errorf("%d forgotten that would have 90 of 100 if seen again", removed)
	}
	if removed := l.tb.Sweep(1, 16*second); removed != 2 {
		t.Errorf("%d forgotten of the two that are as good as new", removed)
	}
}

// That the owner was lost goes with the partition wherever it goes, until it is cleared.
func TestLossIsRemembered(t *testing.T) {
	never := ruled(bucket.Limit{Burst: 100}, bucket.LossEmpty)
	l := takenOver(t, 50, never)
	l.has(idOf(9), 50*second, 0)

	other := newLending(t, never)
	other.tb.Close(1)
	blob, _ := l.tb.Export(1, nil, 5*second, nil, 1<<10) // not a single group
	if err := other.tb.Import(1, blob, 105*second); err != nil {
		t.Fatal(err)
	}
	other.tb.Open(1, 3)
	other.has(idOf(9), 500*second, 0)
	if at := other.tb.parts[1].loss.at; at != 101*second {
		t.Errorf("lost at %v, want 4 s before it was told of", time.Duration(at))
	}
	earlier, _ := l.tb.Export(1, nil, 50*second, nil, 1<<10)
	if err := other.tb.Import(1, earlier, 120*second); err != nil || other.tb.parts[1].loss.at != 101*second {
		t.Errorf("an earlier loss counts instead: %+v %v", other.tb.parts[1].loss, err)
	}
	other.tb.Clear(1)
	other.has(idOf(9), 500*second, 100)

	to, err := New(4, 1<<20, l.tb.limits, Lending{})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.tb.Move(1, to); err != nil {
		t.Fatal(err)
	}
	l.has(idOf(9), 50*second, 100)
	l.tb = to
	l.has(idOf(9), 50*second, 0)
}
