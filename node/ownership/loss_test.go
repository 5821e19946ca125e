package ownership

import (
	"reflect"
	"testing"

	"github.com/drossel-dev/drossel/bucket"
)

// hear has members been heard now.
func (v *voting) hear(ids ...string) {
	for _, id := range ids {
		v.heard[id] = heard{at: v.now, spoke: v.now, incarnation: 10, state: Active, ever: true}
	}
}

// asks lets the machine find that b is silent, which holds partition 0 by a term, and ask the others. It returns who is to be
// the heir, another than itself.
func (v *voting) asks(term uint64) (heir string) {
	v.t.Helper()
	v.parts[0].known = Claim{Epoch{term, 10}, "b"}
	v.hear("c", "d", "e")
	v.Tick(v.now)
	for _, e := range v.Take().Send {
		if ask, ok := e.Message.(*Ask); ok && ask.Lost.ID == "b" {
			heir = ask.Heirs[0].Member.ID
		}
	}
	if heir == "" || heir == "a" {
		v.t.Fatalf("it asks for %q to be the heir", heir)
	}
	return heir
}

// told hands a confirmation to the machine, and returns what it tells the heir.
func (v *voting) told(from string, c *Confirm) *Inherit {
	v.Receive(v.now, from, c)
	for _, e := range v.Take().Send {
		if msg, ok := e.Message.(*Inherit); ok && e.To == c.Heirs[0].Member.ID {
			return msg
		}
	}
	return nil
}

// newAsking is a machine of five of which one that it does not hear holds a partition that another than itself inherits.
func newAsking(t *testing.T) (v *voting, heir string) {
	v = newVoting(t, "a", "b", "c", "d", "e")
	return v, v.asks(4)
}

func TestAskerCounts(t *testing.T) {
	v, heir := newAsking(t)
	wrong := v.confirms("b", 4, heir)
	wrong.Digest++
	for _, early := range []struct {
		from string
		msg  *Confirm
		why  string
	}{
		{"c", v.confirms("b", 4, heir), "the first but itself"},
		{"c", v.confirms("b", 4, heir), "the same again"},
		{"d", wrong, "one who has another list"},
		{"x", v.confirms("b", 4, heir), "no member"},
		{"d", v.confirms("b", 4, "a"), "one who has named another"},
		{"d", v.confirms("e", 4, heir), "one who confirms another loss"},
	} {
		if msg := v.told(early.from, early.msg); msg != nil {
			t.Errorf("%s: %+v", early.why, msg)
		}
	}
	want := &Inherit{Member{"b", 10}, []Heir{{0, 6, Member{heir, 10}}}}
	if msg := v.told("e", v.confirms("b", 6, heir)); !reflect.DeepEqual(msg, want) {
		t.Errorf("a majority, of whom one knows a higher term: %+v, want %+v", msg, want)
	}
}

// TestAskerForgets: who has confirmed may name another heir after a second.
func TestAskerForgets(t *testing.T) {
	v, heir := newAsking(t)
	v.told("c", v.confirms("b", 4, heir))
	v.after(claimTime + 1)
	v.asks(4)
	if msg := v.told("d", v.confirms("b", 4, heir)); msg != nil {
		t.Errorf("itself and another, and one a second ago: %+v", msg)
	}
	if v.told("e", v.confirms("b", 4, heir)) == nil {
		t.Error("a majority within a second does not count")
	}
}

// TestAskerBeginsAgain: what was confirmed by another list is void.
func TestAskerBeginsAgain(t *testing.T) {
	v, heir := newAsking(t)
	old := v.confirms("b", 4, heir)
	v.told("c", old)
	v.setList(v.now, v.list.With(Change{Member: Member{"f", 10}}).With(Change{Member{"f", 10}, true}))
	v.now = v.changed + 1
	v.asks(4)
	v.told("c", old)
	if msg := v.told("d", v.confirms("b", 4, heir)); msg != nil {
		t.Errorf("itself and another, and one by another list: %+v", msg)
	}
	if v.told("e", v.confirms("b", 4, heir)) == nil {
		t.Error("a majority by the new list does not count")
	}
}

// TestAsksForWhatIsFrozen: who gave a partition to one that fell silent asks for it back, as its heir.
func TestAsksForWhatIsFrozen(t *testing.T) {
	v := newVoting(t, "a", "b", "c")
	v.holds(4)
	h := v.parts[0].held
	h.frozen, h.to = true, Member{"b", 10}
	v.hear("c")
	v.after(askInterval)
	v.Tick(v.now)
	want := v.lossOf("b", 5, "a")
	var got []Message
	for _, e := range v.Take().Send {
		if ask, ok := e.Message.(*Ask); ok && e.To == "c" && ask.Lost.ID == "b" {
			got = append(got, ask)
		}
	}
	if len(got) != 1 || !reflect.DeepEqual(got[0], want) {
		t.Errorf("it asks %s, want %s", said(got...), said(want))
	}
	v.Receive(v.now, "c", v.confirms("b", 5, "a"))
	if v.parts[0].taking == nil {
		t.Error("it does not take over what it gave")
	}
}

// TestAsksForWhatNobodyHolds: a partition that nobody is known to hold is asked for as that of nobody, but not by one who has
// just joined.
func TestAsksForWhatNobodyHolds(t *testing.T) {
	v := newVoting(t, "a", "b", "c")
	v.hear("b", "c")
	asks := func() (got []Message) {
		v.Tick(v.now)
		for _, e := range v.Take().Send {
			if ask, ok := e.Message.(*Ask); ok && e.To == "c" && ask.Lost == (Member{}) {
				got = append(got, ask)
			}
		}
		return got
	}
	v.since = v.now - bucket.Instant(claimTime)
	if got := asks(); got != nil {
		t.Errorf("it has just joined, and asks %s", said(got...))
	}
	v.after(1)
	got := asks()
	if len(got) != 1 || len(got[0].(*Ask).Heirs) != 2 {
		t.Errorf("it asks %s, want for both partitions", said(got...))
	}
}
