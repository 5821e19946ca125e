package ownership

import (
	"reflect"
	"testing"
)

// acts returns what the machine does, of these kinds.
func (v *voting) acts(of ...Act) (acts []Act) {
	for _, a := range v.Take().Acts {
		for _, o := range of {
			if reflect.TypeOf(a) == reflect.TypeOf(o) {
				acts = append(acts, a)
			}
		}
	}
	return acts
}

// newGiving is a machine that decides for partition 0, which should be b's.
func newGiving(t *testing.T) (v *voting, c Claim) {
	v = newVoting(t, "a", "b", "c")
	v.hear("b", "c")
	v.cfg.Place = func([]string) []uint16 { return nil } // placement stays as it is
	v.placed = placement{ids: []string{"b"}, owners: []uint16{0, 0}}
	c = v.holds(4)
	v.acked("c", 10, v.sends())
	return v, c
}

func (v *voting) wants(from string) []Act {
	v.Receive(v.now, from, &Prepare{10, v.list.digest, []int{0}})
	return v.acts((*Stream)(nil))
}

func TestGives(t *testing.T) {
	v, c := newGiving(t)
	b := Member{"b", 10}
	if acts := v.wants("c"); acts != nil {
		t.Errorf("it is given to who should not have it: %v", acts)
	}
	v.Receive(v.now, "b", &Prepare{10, v.list.digest + 1, []int{0}})
	v.Receive(v.now, "b", &Prepare{9, v.list.digest, []int{0}})
	if acts := v.acts((*Stream)(nil)); acts != nil {
		t.Errorf("it is given by another list, or to another incarnation: %v", acts)
	}
	if acts := v.wants("b"); !reflect.DeepEqual(acts, []Act{&Stream{0, c, b}}) {
		t.Fatalf("it is asked for, and does %v", acts)
	}
	v.Streamed(v.now, 0, Claim{Epoch{3, 10}, "a"}, b)
	v.Streamed(v.now, 0, c, Member{"c", 10})
	if !v.Holds(0) {
		t.Error("it is frozen for another stream")
	}
	v.Streamed(v.now, 0, c, b)
	if acts := v.acts((*Freeze)(nil)); !v.Frozen(0) || !reflect.DeepEqual(acts, []Act{&Freeze{0, c, b}}) {
		t.Errorf("it is streamed, and does %v", acts)
	}
	if owner, way := v.Decider(v.now, 0); owner != "b" || way != "b" {
		t.Errorf("what is frozen is decided by %q by way of %q", owner, way)
	}
	if named := v.claims(v.now); len(named) > 0 {
		t.Errorf("what is frozen is named: %v", named)
	}
	v.Receive(v.now, "b", v.names(5))
	if acts := v.acts((*HandedOver)(nil)); v.Frozen(0) || !reflect.DeepEqual(acts, []Act{&HandedOver{0, b}}) {
		t.Errorf("it is claimed, and does %v", acts)
	}
	if copied := v.Copy(0); copied.Claim != c {
		t.Errorf("what was given away is kept as a copy of %v", copied.Claim)
	}
}

// TestGivesAgain: who was given a partition is told until it claims it.
func TestGivesAgain(t *testing.T) {
	v, c := newGiving(t)
	b := Member{"b", 10}
	v.wants("b")
	v.Streamed(v.now, 0, c, b)
	v.Staged(v.now, 0, c, b)
	for i := range 3 {
		v.after(prepareInterval)
		v.hear("b", "c")
		v.Tick(v.now)
		finals := 0
		for _, e := range v.Take().Send {
			if msg, ok := e.Message.(*Final); ok && e.To == "b" && reflect.DeepEqual(msg, &Final{10, []Held{{0, c}}}) {
				finals++
			}
		}
		if finals != 1 {
			t.Errorf("reminder %d: said %d times", i, finals)
		}
	}
}

// TestGivesNoMore: a move ends when its target is gone, or should not have the partition any more; but not once it is frozen.
func TestGivesNoMore(t *testing.T) {
	for name, change := range map[string]func(v *voting){
		"gone": func(v *voting) {
			v.heard["b"] = heard{at: v.now, spoke: v.now, incarnation: 11, state: Active, ever: true}
		},
		"not wanted":   func(v *voting) { v.placed.ids = []string{"a"} },
		"no authority": func(v *voting) { v.now = v.Authority() + 1; v.hear("b", "c") },
	} {
		for _, frozen := range []bool{false, true} {
			v, c := newGiving(t)
			v.wants("b")
			if frozen {
				v.Streamed(v.now, 0, c, Member{"b", 10})
			}
			v.Take()
			change(v)
			v.Tick(v.now)
			v.Streamed(v.now, 0, c, Member{"b", 10})
			if acts := v.acts((*Stop)(nil)); (acts == nil) != frozen || v.Frozen(0) != frozen || v.parts[0].held == nil {
				t.Errorf("%s, frozen %v: does %v, frozen %v", name, frozen, acts, v.Frozen(0))
			}
		}
	}
}

// TestIsGiven: only what has arrived is installed, with a term one above the giver's.
func TestIsGiven(t *testing.T) {
	v := newVoting(t, "a", "b", "c")
	from := Claim{Epoch{4, 10}, "b"}
	final := func(incarnation uint64, c Claim) []Act {
		v.Receive(v.now, "b", &Final{incarnation, []Held{{0, c}}})
		return v.acts((*Install)(nil))
	}
	if acts := final(10, from); acts != nil {
		t.Errorf("nothing has arrived, and it does %v", acts)
	}
	v.joined = false
	v.Arrived(v.now, 0, from, v.self)
	v.joined = true
	for _, acts := range [][]Act{final(10, Claim{Epoch{6, 10}, "b"}), final(9, from)} {
		if acts != nil {
			t.Errorf("it is given something else, or to another, and it does %v", acts)
		}
	}
	own := Claim{Epoch{5, 10}, "a"}
	if acts := final(10, from); !reflect.DeepEqual(acts, []Act{&Install{0, own}}) {
		t.Errorf("it is given what has arrived, and it does %v", acts)
	}
	if h := v.parts[0].held; h == nil || h.claim != own || h.open {
		t.Errorf("it holds %+v", h)
	}
	if named := v.claims(v.now); !reflect.DeepEqual(named, []Named{{Partition: 0, Term: 5, From: Member{"b", 10}}}) {
		t.Errorf("it names %+v", named)
	}
	if acts := final(10, from); acts != nil {
		t.Errorf("it is given the same again, and it does %v", acts)
	}
}

// TestLeaves: who leaves has left when it is off the list, somebody knows that, and what it gave away has a copy elsewhere.
func TestLeaves(t *testing.T) {
	v, c := newGiving(t)
	v.Leave(v.now)
	steps := []struct {
		what string
		do   func()
	}{
		{"holds a partition", func() {}},
		{"is giving it away", func() {
			v.wants("b")
			v.Streamed(v.now, 0, c, Member{"b", 10})
		}},
		{"has the only copy", func() { v.Receive(v.now, "b", v.names(5)) }},
		{"is off the list", func() { v.setList(v.now, v.list.With(Change{v.self, true})) }},
		{"nobody has a copy but itself", func() {
			hb := v.names(5)
			hb.Seq = 8
			v.Receive(v.now, "b", hb)
		}},
	}
	for _, s := range steps {
		s.do()
		if v.Left() {
			t.Errorf("it has left though it %s", s.what)
		}
	}
	hb := v.names(5)
	hb.Seq, hb.Claims[0].Elsewhere = 9, true
	v.Receive(v.now, "b", hb)
	if !v.Left() {
		t.Error("it has not left")
	}
}
