package ownership

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// voting is the machine of a member that is spoken to by a test in the place of all others.
type voting struct {
	*Machine
	t   *testing.T
	now bucket.Instant
}

// newVoting is a, the first of some members, who has heard nobody for an hour and acknowledged nothing.
func newVoting(t *testing.T, ids ...string) *voting {
	v := &voting{t: t, now: bucket.Instant(time.Hour)}
	v.Machine = New(Config{Self: Member{ids[0], 10}, Partitions: 2, Place: placer(2), Forget: 24 * time.Hour}, 0)
	v.memory = true
	var members []Member
	for _, id := range ids {
		members = append(members, Member{id, 10})
	}
	v.setList(bucket.Instant(sec), NewList(members...))
	v.Take()
	return v
}

// says hands a message to the machine and wants of its answers to the sender those that are of the types wanted.
func (v *voting) says(from string, msg Message, wants ...Message) {
	v.t.Helper()
	v.Receive(v.now, from, msg)
	var got []Message
	for _, e := range v.Take().Send {
		if e.To == from && ofType(e.Message, wants) {
			got = append(got, e.Message)
		}
	}
	if len(wants) == 1 && reflect.ValueOf(wants[0]).IsNil() {
		wants = nil
	}
	if !reflect.DeepEqual(got, wants) {
		v.t.Errorf("at %v %s says %s and hears %s, want %s", time.Duration(v.now)-time.Hour, from, said(msg), said(got...), said(wants...))
	}
}

func ofType(msg Message, wants []Message) bool {
	for _, w := range wants {
		if reflect.TypeOf(w) == reflect.TypeOf(msg) {
			return true
		}
	}
	return false
}

func said(msgs ...Message) string {
	var all []string
	for _, m := range msgs {
		all = append(all, strings.TrimPrefix(fmt.Sprintf("%T%+v", m, m), "*ownership."))
	}
	return "[" + strings.Join(all, " ") + "]"
}

// after lets time pass.
func (v *voting) after(d time.Duration) { v.now += bucket.Instant(d) }

// names is a heartbeat of an incarnation 10 that names partition 0 by terms, if there are any.
func (v *voting) names(terms ...uint64) *Heartbeat {
	hb := &Heartbeat{Incarnation: 10, Seq: 7, State: Active, Digest: v.list.digest}
	for _, term := range terms {
		hb.Claims = append(hb.Claims, Named{Partition: 0, Term: term})
	}
	return hb
}

func ack(refused ...Held) *Ack { return &Ack{Incarnation: 10, Seq: 7, Refused: refused} }

// lossOf asks for the loss of an incarnation 10, with an heir for partition 0.
func (v *voting) lossOf(id string, term uint64, heir string) *Ask {
	return &Ask{Member{id, 10}, v.list.digest, []Heir{{0, term, Member{heir, 10}}}}
}

func (v *voting) confirms(id string, term uint64, heir string) *Confirm {
	return &Confirm{Member{id, 10}, v.list.digest, []Heir{{0, term, Member{heir, 10}}}}
}

// exactly is T(1+ε) in a list of few.
var exactly = time.Duration(drift(Fence(3)))

func TestVoterRefuses(t *testing.T) {
	v := newVoting(t, "a", "b", "c")
	held := Held{0, Claim{Epoch{4, 10}, "b"}}
	v.says("b", v.names(4), ack())
	v.says("c", v.names(3), ack(held))
	v.says("b", v.names(4), ack())
	higher := Held{0, Claim{Epoch{4, 10}, "c"}} // of equal terms: c comes after b
	v.says("c", v.names(4), ack(higher))        // not yet
	v.says("b", v.names(4), ack(higher))
	v.after(exactly + 1)
	v.says("c", v.names(4), ack())
	v.says("b", v.names(4), ack(higher))
}

// TestVoterGivesToOne: who claims more than another may still decide for has to wait until that can't, unless it was given to
// it by just that claim.
func TestVoterGivesToOne(t *testing.T) {
	held := func(term uint64, id string) Held { return Held{0, Claim{Epoch{term, 10}, id}} }
	given := func(v *voting, from string, incarnation uint64) *Heartbeat {
		hb := v.names(5)
		hb.Claims[0].From = Member{from, incarnation}
		return hb
	}
	v := newVoting(t, "a", "b", "c", "d")
	v.says("b", v.names(4), ack())
	v.after(10 * ms)
	v.says("b", v.names(4), ack())
	v.says("c", v.names(6), ack(held(6, "c")))
	v.after(exactly / 2)
	v.says("d", v.names(8), ack(held(8, "d"))) // another one does not make it shorter
	v.says("c", v.names(6), ack(held(8, "d")))
	v.after(exactly - exactly/2)
	v.says("d", v.names(8), ack(held(8, "d")))
	v.after(1)
	v.says("d", v.names(8), ack())
	v.says("d", v.names(10), ack()) // not against itself
	v.says("b", v.names(12), ack(held(12, "b")))

	for _, gives := range []struct {
		from        string
		incarnation uint64
		term        uint64
		refused     []Held
	}{
		{"b", 10, 4, nil},
		{"d", 10, 4, []Held{held(5, "c")}}, // it is not d's
		{"b", 9, 4, []Held{held(5, "c")}},
		{"b", 10, 3, []Held{held(5, "c")}}, // there was another claim in between
	} {
		v := newVoting(t, "a", "b", "c", "d")
		v.says("b", v.names(gives.term), ack())
		v.says("c", given(v, gives.from, gives.incarnation), ack(gives.refused...))
	}

	v = newVoting(t, "a", "b", "c", "d")
	v.says("b", v.names(4), ack())
	v.says("c", v.names(4), ack(held(4, "c")))
	v.says("d", given(v, "c", 10), ack(held(5, "d"))) // c could not decide yet, but b can
}

// TestVoterWaitsWithANewList: while the list is new what nobody has authority for yet is not acknowledged, but what somebody has
// all along is, and what that one hands over.
func TestVoterWaitsWithANewList(t *testing.T) {
	live := func(v *voting, term uint64) *Heartbeat {
		hb := v.names(term)
		hb.Claims[0].Live = true
		return hb
	}
	own := func(term uint64, id string) Held { return Held{0, Claim{Epoch{term, 10}, id}} }
	v := newVoting(t, "a", "b", "c")
	v.says("b", live(v, 4), ack())
	v.Receive(v.now, "c", &ListIs{v.list.With(Change{Member: Member{"d", 10}})})
	v.Take()
	given := v.names(5)
	given.Claims[0].From = Member{"b", 10}
	v.says("b", live(v, 4), ack())
	v.says("b", v.names(4), ack(own(4, "b"))) // has lost it
	v.says("d", given, ack())
	v.says("d", given, ack())
	v.after(exactly - 1)
	v.says("d", given, ack())
	v.says("c", v.names(9), ack(own(9, "c")))
	v.after(exactly + 1)
	v.says("c", v.names(9), ack())
}

// TestFoundsAtOnce: the first node has nobody to wait for.
func TestFoundsAtOnce(t *testing.T) {
	m := New(Config{Self: Member{"a", 10}, Partitions: 2, Place: placer(2), Alone: true}, 0)
	m.Tick(1)
	m.Tick(2)
	if now := bucket.Instant(2); !m.hasAuthority(now) || !m.parts[0].held.open {
		t.Errorf("it has authority: %v, and holds %+v", m.hasAuthority(now), m.parts[0].held)
	}
}

// TestVoterIsTheHolder: what this member gave itself does not count once it has given up.
func TestVoterIsTheHolder(t *testing.T) {
	v := newVoting(t, "a", "b", "c")
	v.holds(4)
	v.sends()
	v.says("b", v.names(6), ack())
	if v.parts[0].held != nil {
		t.Error("it holds what another has a higher claim to")
	}
}

func TestVoterWantsOneList(t *testing.T) {
	v := newVoting(t, "a", "b", "c")
	more := v.list.With(Change{Member: Member{"d", 10}})
	hb := v.names(4)
	hb.Digest, hb.Claims[0].Live = more.digest, true
	v.says("b", hb, (*Ack)(nil))
	v.says("b", hb, &ListIs{v.list})
	v.says("b", &ListIs{more}, ack())
	v.says("x", v.names(4), (*Ack)(nil)) // is no member
}

func TestVoterConfirms(t *testing.T) {
	v := newVoting(t, "a", "b", "c")
	v.says("b", v.names(4), ack())
	v.after(exactly)
	v.says("c", v.lossOf("b", 4, "c"), (*Confirm)(nil))
	v.after(1)
	wrong := v.lossOf("b", 4, "c")
	wrong.Digest++
	v.says("c", wrong, (*Confirm)(nil))
	v.says("c", v.lossOf("b", 3, "c"), v.confirms("b", 4, "c")) // it knows a higher term
	v.says("b", v.names(4), (*Ack)(nil))
	v.says("b", v.names(4), &LostYou{10})
	next := v.names()
	next.Incarnation = 11
	v.says("b", next, &Ack{Incarnation: 11, Seq: 7})
}

func TestVoterConfirmsNothingAfterAChange(t *testing.T) {
	v := newVoting(t, "a", "b", "c")
	v.says("c", &ListIs{v.list.With(Change{Member: Member{"d", 10}})}, (*Ack)(nil))
	v.after(exactly)
	v.says("c", v.lossOf("b", 0, "c"), (*Confirm)(nil))
	v.after(1)
	v.says("c", v.lossOf("b", 0, "c"), v.confirms("b", 0, "c"))
}

func TestVoterConfirmsNothingAfterItsStart(t *testing.T) {
	v := newVoting(t, "a", "b", "c")
	v.born = v.now
	v.after(exactly)
	v.says("c", v.lossOf("b", 0, "c"), (*Confirm)(nil))
	v.after(1)
	v.says("c", v.lossOf("b", 0, "c"), v.confirms("b", 0, "c"))
}

func TestVoterSaysWhoIsHeard(t *testing.T) {
	v := newVoting(t, "a", "b", "c")
	v.says("b", v.names(4), ack())
	v.after(exactly / 2)
	v.says("c", v.lossOf("b", 4, "c"), &StillHeard{Member{"b", 10}})
}

func TestVoterIsQuiet(t *testing.T) {
	v := newVoting(t, "a", "b", "c")
	v.born, v.returned = v.now, true
	v.after(exactly)
	v.says("b", v.names(4), (*Ack)(nil))
	v.says("b", v.canvass(1, Change{Member: Member{"d", 10}}), (*Promise)(nil))
	v.says("b", v.proposes(1, Change{Member: Member{"d", 10}}), (*Second)(nil))
	v.after(1)
	v.says("b", v.names(4), ack())
	v.memory = false
	v.says("b", v.names(4), (*Ack)(nil))
	v.says("b", v.canvass(1, Change{Member: Member{"d", 10}}), (*Promise)(nil))
	v.says("b", v.proposes(1, Change{Member: Member{"d", 10}}), (*Second)(nil))
	v.says("b", v.lossOf("c", 4, "b"), (*Confirm)(nil))
}

// TestVoterDropsTheSilent: nobody is dropped whom this member hears, nor this member itself, unless they ask for that.
func TestVoterDropsTheSilent(t *testing.T) {
	v := newVoting(t, "a", "b", "c", "d")
	n := uint64(0)
	drops := func(from, id string, agrees bool) {
		t.Helper()
		n++
		want := &Promise{Ballot{n, from}, Seconded{}, v.list.digest}
		if !agrees {
			want = nil
		}
		v.says(from, v.canvass(n, Change{Member{id, 10}, true}), want)
	}
	drops("b", "c", true)
	v.hear("c")
	drops("b", "c", false)
	v.after(v.fence() - 1)
	drops("b", "c", false)
	v.after(1)
	drops("b", "c", true)
	drops("b", "a", false)
	v.hear("c")
	drops("c", "c", true) // it leaves
	v.says("b", v.canvass(n+1, Change{Member: Member{"c", 11}}), &Promise{Ballot{n + 1, "b"}, Seconded{}, v.list.digest})
}

// TestVoterWasThere: who learns only later that it was a member before is quiet all the same.
func TestVoterWasThere(t *testing.T) {
	for _, before := range []bool{false, true} {
		m := New(Config{Self: Member{"a", 10}, Partitions: 2, Place: placer(2)}, 0)
		now := bucket.Instant(ms)
		m.Receive(now, "b", &Memory{List: NewList(Member{"b", 10}, Member{"c", 10})})
		m.findOut(now)
		list := NewList(Member{"a", 10}, Member{"b", 10}, Member{"c", 10})
		if before {
			list = NewList(Member{"a", 9}, Member{"b", 10}, Member{"c", 10})
		}
		m.Receive(now, "c", &ListIs{list})
		if !m.joined || m.votes(now) == before || !m.votes(bucket.Instant(exactly)+1) {
			t.Errorf("was a member before: %v, joined: %v, votes: %v and %v", before, m.joined, m.votes(now), m.votes(bucket.Instant(exactly)+1))
		}
	}
}

func TestVoterKeepsItsHeir(t *testing.T) {
	v := newVoting(t, "a", "b", "c", "d")
	v.says("c", v.lossOf("b", 4, "c"), v.confirms("b", 4, "c"))
	v.says("d", v.lossOf("b", 4, "d"), v.confirms("b", 4, "c"))
	v.says("d", v.names(6), ack(Held{Partition: 0}))
	v.after(claimTime)
	v.says("d", v.lossOf("b", 4, "d"), v.confirms("b", 4, "c"))
	v.after(1)
	v.says("d", v.lossOf("b", 4, "d"), v.confirms("b", 4, "d"))
	v.says("c", v.names(6), ack(Held{Partition: 0}))
	v.says("d", v.names(6), ack())
	v.says("c", v.lossOf("b", 4, "c"), &Confirm{Lost: Member{"b", 10}, Digest: v.list.digest}) // it is d's by now
	v.says("c", v.lossOf("b", 4, "c"), &Owners{[]Held{{0, Claim{Epoch{6, 10}, "d"}}}})
	v.after(exactly + 1)
	v.says("c", v.lossOf("d", 6, "c"), v.confirms("d", 6, "c")) // who has claimed is lost as well
}

func TestVoterTellsWhatItKnows(t *testing.T) {
	v := newVoting(t, "a", "b", "c")
	v.says("b", v.names(4), ack())
	v.after(exactly + 1)
	v.says("c", v.lossOf("b", 4, "c"), v.confirms("b", 4, "c"))
	nobody := &Ask{Digest: v.list.digest, Heirs: []Heir{{0, 0, Member{"c", 10}}}}
	v.says("c", nobody, &Owners{[]Held{{0, Claim{Epoch{4, 10}, "b"}}}}) // b is lost, and it was b's
}
