package ownership

import (
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

func (v *voting) canvass(n uint64, c Change) *Canvass  { return &Canvass{n, c, false, v.list.digest} }
func (v *voting) proposes(n uint64, c Change) *Propose { return &Propose{n, c, v.list.digest} }

func adds(id string) Change { return Change{Member: Member{id, 10}} }

// promise is a voter's answer to a canvass; said is what it has seconded, at a ballot of somebody.
func (v *voting) promise(n uint64, to string, said ...Seconded) *Promise {
	p := &Promise{To: Ballot{n, to}, Digest: v.list.digest}
	if said != nil {
		p.Said = said[0]
	}
	return p
}

// TestSeconder: of one list one change is seconded, or by a higher ballot another; and until it is in place nothing else is
// said under this list.
func TestSeconder(t *testing.T) {
	v := newVoting(t, "a", "b", "c", "d")
	v.says("c", v.canvass(2, adds("x")), v.promise(2, "c"))
	v.says("b", v.canvass(2, adds("y")), v.promise(2, "c")) // b comes before c
	v.says("b", v.proposes(2, adds("y")), (*Second)(nil))
	v.says("c", v.names(4), ack())
	v.says("c", v.proposes(2, adds("x")), &Second{2, v.list.digest})
	v.says("c", v.proposes(2, adds("x")), &Second{2, v.list.digest})
	said := Seconded{Ballot{2, "c"}, adds("x")}
	v.says("d", v.names(4), (*Ack)(nil))
	next := v.names(4)
	next.Digest = v.list.With(adds("x")).digest
	v.says("c", next, ack())
	v.after(soonInterval)
	v.Tick(v.now)
	if hbs := sent[*Heartbeat](v); len(hbs) != 1 || hbs[0].Digest != next.Digest {
		t.Errorf("it sends %+v, want a heartbeat by the next list", hbs)
	}
	v.after(exactly + 1)
	v.says("b", v.lossOf("c", 4, "b"), (*Confirm)(nil))
	v.says("b", v.canvass(1, adds("y")), v.promise(2, "c", said))
	v.says("b", v.canvass(3, Change{Member{"a", 10}, true}), v.promise(3, "b", said)) // b will have to propose x
	v.says("c", v.proposes(2, adds("x")), (*Second)(nil))
	v.says("b", v.proposes(3, adds("x")), &Second{3, v.list.digest})
	other := v.canvass(9, adds("y"))
	other.Digest++
	v.says("d", other, (*Promise)(nil))
	late := v.proposes(9, adds("y"))
	late.Digest++
	v.says("d", late, (*Second)(nil))
	v.Receive(v.now, "b", &ListIs{v.list.With(adds("x"))})
	v.Take()
	hb := v.names(4)
	hb.Claims[0].Live = true
	v.says("d", hb, ack())
	v.says("d", v.canvass(1, adds("y")), v.promise(1, "d"))
}

// TestAuthorityOfBoth: as long as it is not sure which list counts, a member needs a majority of both.
func TestAuthorityOfBoth(t *testing.T) {
	for _, c := range []struct {
		members []string
		change  Change
		acks    []string // all but the last are not enough
	}{
		{[]string{"a", "b"}, adds("x"), []string{"x", "b"}},
		{[]string{"a", "b", "c", "d", "e"}, adds("x"), []string{"b", "c", "d"}},
		{[]string{"a", "b", "c", "d"}, Change{Member{"d", 10}, true}, []string{"d", "b"}},
		{[]string{"a", "b", "c", "d"}, Change{Member{"d", 10}, true}, []string{"b", "c"}},
	} {
		v := newVoting(t, c.members...)
		v.says("b", v.proposes(1, c.change), &Second{1, v.list.digest})
		v.holds(4)
		seq := v.sends()
		sent := v.now
		for i, id := range c.acks {
			open, _ := v.acked(id, 10, seq)
			if last := i == len(c.acks)-1; open != last || (v.Authority() == sent+bucket.Instant(Fence(5))) != last {
				t.Errorf("%v %+v: %s acknowledges, open: %v, authority for %v", c.members, c.change, id, open, time.Duration(v.Authority()-sent))
			}
		}
	}
}

// sent returns the messages of one type that the machine says to b.
func sent[M Message](v *voting) (all []M) {
	for _, e := range v.Take().Send {
		if m, ok := e.Message.(M); ok && e.To == "b" {
			all = append(all, m)
		}
	}
	return all
}

// TestProposer proposes what a majority lets it, and what one of them has seconded before.
func TestProposer(t *testing.T) {
	before := Seconded{Ballot{1, "c"}, adds("y")}
	for _, found := range []bool{false, true} {
		v := newVoting(t, "a", "b", "c", "d", "e")
		v.Receive(v.now, "x", &Join{10})
		if asked := sent[*Canvass](v); len(asked) != 1 || asked[0].Change != adds("x") || asked[0].N != 10 {
			t.Fatalf("asks %+v", asked)
		}
		v.Receive(v.now, "b", v.promise(10, "a"))
		v.Receive(v.now, "b", v.promise(10, "a"))
		v.Receive(v.now, "z", v.promise(10, "a"))
		if asked := sent[*Propose](v); asked != nil {
			t.Fatalf("proposes %+v without a majority", asked)
		}
		want := adds("x")
		if found {
			want = before.Change
			v.Receive(v.now, "d", v.promise(10, "a", before))
		} else {
			v.Receive(v.now, "d", v.promise(10, "a"))
		}
		if asked := sent[*Propose](v); len(asked) != 1 || asked[0].Change != want || asked[0].N != 10 {
			t.Fatalf("proposes %+v, want %v", asked, want)
		}
		was := v.list
		other := was.digest + 1
		for _, msg := range []*Second{{10, was.digest}, {10, was.digest}, {11, was.digest}, {10, other}} {
			v.Receive(v.now, "c", msg)
		}
		v.Receive(v.now, "z", &Second{10, was.digest})
		if v.list.digest != was.digest {
			t.Fatal("it is in place without a majority")
		}
		v.Receive(v.now, "e", &Second{10, was.digest})
		if v.list.digest != was.With(want).digest {
			t.Errorf("the list is %v", v.list.members)
		}
		if told := sent[*ListIs](v); len(told) == 0 {
			t.Error("nobody is told")
		}
	}
}

// TestProposerGivesWay: a higher ballot goes first.
func TestProposerGivesWay(t *testing.T) {
	v := newVoting(t, "a", "b", "c")
	v.Receive(v.now, "x", &Join{10})
	v.Take()
	v.says("c", v.canvass(10, adds("y")), v.promise(10, "c"))
	v.Receive(v.now, "b", v.promise(10, "a"))
	if asked := sent[*Propose](v); asked != nil {
		t.Errorf("proposes %+v though it has promised another", asked)
	}
	v.after(v.patience())
	v.Receive(v.now, "x", &Join{10})
	if asked := sent[*Canvass](v); len(asked) != 1 || asked[0].N != 11 {
		t.Fatalf("asks %+v, want a higher ballot", asked)
	}
	v.Receive(v.now, "b", v.promise(15, "c"))
	v.after(v.patience())
	v.Receive(v.now, "x", &Join{10})
	if asked := sent[*Canvass](v); len(asked) != 1 || asked[0].N != 16 {
		t.Fatalf("asks %+v, want a ballot above what it has heard of", asked)
	}
}

// TestBallotsOfIncarnations: what an incarnation proposes never has a ballot of one before it.
func TestBallotsOfIncarnations(t *testing.T) {
	for _, incarnation := range []uint64{10, 1 << 50} {
		v := newVoting(t, "a", "b", "c")
		v.self.Incarnation = incarnation
		v.Receive(v.now, "x", &Join{10})
		if asked := sent[*Canvass](v); len(asked) != 1 || asked[0].N != incarnation {
			t.Errorf("asks %+v", asked)
		}
	}
}

// TestSeconderGoesOn: what was seconded is brought to its end, whatever became of its proposer.
func TestSeconderGoesOn(t *testing.T) {
	v := newVoting(t, "a", "b", "c")
	v.says("c", v.proposes(14, adds("x")), &Second{14, v.list.digest})
	v.after(v.patience())
	v.Tick(v.now)
	if asked := sent[*Canvass](v); asked != nil {
		t.Errorf("asks %+v at once", asked)
	}
	v.after(1)
	v.Tick(v.now)
	if asked := sent[*Canvass](v); len(asked) != 1 || asked[0].Change != adds("x") || asked[0].N != 15 || !asked[0].Begun {
		t.Errorf("asks %+v", asked)
	}
	v = newVoting(t, "a", "b", "c")
	v.hear("c")
	begun := v.canvass(1, Change{Member{"c", 10}, true})
	v.says("b", begun, (*Promise)(nil))
	begun.Begun = true
	v.says("b", begun, v.promise(1, "b")) // though c is heard: it may be in place
}

// TestProposerHearsAgain: who was silent is heard before anything was proposed.
func TestProposerHearsAgain(t *testing.T) {
	for _, again := range []bool{false, true} {
		v := newVoting(t, "a", "b", "c")
		v.cfg.Forget = time.Minute
		v.hear("b")
		v.Tick(v.now)
		v.Take()
		if again {
			v.hear("c")
		}
		v.Receive(v.now, "b", v.promise(10, "a"))
		if asked := sent[*Propose](v); (asked == nil) != again {
			t.Errorf("heard again: %v, proposes %+v", again, asked)
		}
	}
}

// TestOneChangeAtATime: two join at one instant by way of two members, and the network is cut before all know it. Only one
// side can go on.
func TestOneChangeAtATime(t *testing.T) {
	for _, c := range []struct {
		nodes int
		side  []string
		ways  [2]string // by whom n100 and n101 join
	}{
		{2, []string{name(0), name(100)}, [2]string{name(0), name(1)}},
		{4, []string{name(0), name(1), name(100)}, [2]string{name(0), name(2)}},
		{5, []string{name(0), name(1), name(2)}, [2]string{name(3), name(4)}},
	} {
		for seed := range uint64(40) {
			w := newWorld(worldConfig{
				seed: seed, partitions: 4, capacity: 50, rate: 50, least: ms / 5, most: 2 * ms, unreachable: "deny", forget: 60 * sec,
			})
			w.boot(c.nodes)
			w.run(sec)
			for i := range c.ways {
				w.start(name(100 + i))
				w.blind[name(100+i)] = true
			}
			w.run(w.now + 20*ms)
			for i, way := range c.ways {
				s := w.hosts[way]
				s.m.Receive(s.time(), name(100+i), &Join{w.hosts[name(100+i)].m.self.Incarnation})
				s.flush()
			}
			clear(w.blind)
			w.run(w.now + time.Duration(seed)*ms/4)
			w.splitFor(only(c.side...), 1500*ms)
			w.run(w.now + 2*sec)
			if !w.runUntil(10*sec, func() bool { return w.unsettled() == "" }) {
				t.Errorf("%d nodes, seed %d: %s", c.nodes, seed, w.unsettled())
			}
			if w.wrong != "" {
				t.Errorf("%d nodes, seed %d: %s", c.nodes, seed, w.wrong)
			}
		}
	}
}

// TestMemory: who has come back is told what it may have seconded, if that is of the list that there is now.
func TestMemory(t *testing.T) {
	list := NewList(Member{"a", 9}, Member{"b", 10}, Member{"c", 10})
	said := Seconded{Ballot{4, "b"}, adds("x")}
	m := New(Config{Self: Member{"a", 10}, Partitions: 2, Place: placer(2)}, 0)
	m.Receive(1, "b", &Memory{List: list, Promised: Ballot{6, "c"}, Seconded: said})
	m.Receive(1, "c", &Memory{List: list, Promised: Ballot{3, "c"}, Seconded: Seconded{Ballot{2, "c"}, adds("y")}})
	if m.accord.promised != (Ballot{6, "c"}) || m.accord.seconded != said {
		t.Errorf("it remembers %+v and %+v", m.accord.promised, m.accord.seconded)
	}
	m.accord = accord{}
	m.memory = false
	m.Receive(1, "b", &Memory{List: NewList(Member{"b", 10}), Promised: Ballot{6, "c"}, Seconded: said})
	if m.undecided() {
		t.Error("it remembers what was said of another list")
	}
}
