package ring_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/drossel-dev/drossel/ring"
)

func TestLookups(t *testing.T) {
	r := place(t, builder(t, ring.Params{}), members([]string{"c", "a", "b"}))
	for i, m := range r.Members() {
		if want := string(rune('a' + i)); m.ID != want || r.Index(want) != i || m.Peer != "10.0.0.1:7947" {
			t.Errorf("member %d is %+v at index %d, want %q", i, m, r.Index(want), want)
		}
	}
	for _, absent := range []string{"", "d", "aa"} {
		if got := r.Index(absent); got != -1 {
			t.Errorf("Index(%q) = %d, want -1", absent, got)
		}
	}
	hit := make(map[int]bool)
	for i := range 20_000 {
		hit[r.Partition([16]byte{byte(i), byte(i >> 8)})] = true
	}
	for partition := range r.Partitions() {
		if !hit[partition] {
			t.Errorf("no id of 20,000 falls on partition %d", partition)
		}
	}
	if len(hit) != r.Partitions() {
		t.Errorf("ids fall on %d partitions, want %d", len(hit), r.Partitions())
	}
}

func TestLookupsDoNotAllocate(t *testing.T) {
	r := place(t, builder(t, ring.Params{}), members([]string{"a", "b", "c"}))
	sum, id := 0, [16]byte{1}
	if n := testing.AllocsPerRun(100, func() { id[0]++; sum += r.Owner(r.Partition(id)) }); n != 0 {
		t.Errorf("a lookup allocates %v times, want 0", n)
	}
}

func TestEpochNamesIdsBootsAndParameters(t *testing.T) {
	epoch := func(p ring.Params, list ...ring.Member) uint64 { return place(t, builder(t, p), list).Epoch() }
	one, two := ring.Member{ID: "a", Boot: 1, State: ring.Active}, ring.Member{ID: "b", Boot: 1, State: ring.Active}
	want := epoch(ring.Params{}, one, two)

	same := one
	same.State, same.Peer = ring.Joining, "10.9.9.9:1"
	if got := epoch(ring.Params{}, two, same); got != want {
		t.Errorf("state and address changed the epoch")
	}
	rebooted, renamed := one, one
	rebooted.Boot, renamed.ID = 2, "aa"
	for name, got := range map[string]uint64{
		"a reboot":         epoch(ring.Params{}, rebooted, two),
		"another id":       epoch(ring.Params{}, renamed, two),
		"one member fewer": epoch(ring.Params{}, one),
		"other parameters": epoch(ring.Params{Partitions: 1009}, one, two),
	} {
		if got == want {
			t.Errorf("%s left the epoch as it was", name)
		}
	}
}

func TestLeavingMembersAreNotPlaced(t *testing.T) {
	list := members([]string{"a", "b", "c"})
	list[1].State = ring.Leaving
	list[2].State = ring.Joining
	r := place(t, builder(t, ring.Params{}), list)
	if r.Index("b") != -1 || r.Index("a") != 0 || r.Index("c") != 1 || len(r.Members()) != 2 {
		t.Errorf("placed %v, want a and c", r.Members())
	}
}

func TestListsThatCannotBePlaced(t *testing.T) {
	many := make([]string, 14)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	leaving := []ring.Member{{ID: "a", State: ring.Leaving}}
	for _, test := range []struct {
		list []ring.Member
		want error
		text string
	}{
		{nil, ring.ErrNoMembers, "none stays"},
		{leaving, ring.ErrNoMembers, "none stays"},
		{members([]string{"a", "b", "a"}), ring.ErrMembers, `id "a" appears twice`},
		{append(members([]string{"a"}), leaving...), ring.ErrMembers, `id "a" appears twice`},
		{members([]string{"a", ""}), ring.ErrMembers, "empty id"},
		{members(many), ring.ErrMembers, "14 members, but only 13 partitions"},
	} {
		b := builder(t, ring.Params{Partitions: 13})
		r, err := b.Place(test.list)
		if r != nil || !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%v: got %v, %v, want an error that says %q", test.list, r, err, test.text)
		}
		place(t, b, members(many[:13])) // the builder is none the worse
	}
}

func TestSuccessors(t *testing.T) {
	p, names := ring.Params{}, []string{"pod-1", "pod-2", "pod-11", "pod-12", "pod-21"}
	b := builder(t, p)
	if _, err := b.Successors(); !errors.Is(err, ring.ErrNoMembers) {
		t.Errorf("before the first Place: got %v, want ErrNoMembers", err)
	}
	place(t, b, members(names[:1]))
	if next, err := b.Successors(); next != nil || err != nil {
		t.Errorf("a single member has successors %v, %v, want none", next, err)
	}
	r := place(t, b, members(names))
	next, err := b.Successors()
	if err != nil {
		t.Fatal(err)
	}
	before := owners(r)
	for lost, m := range r.Members() {
		rest := slices.DeleteFunc(members(names), func(other ring.Member) bool { return other.ID == m.ID })
		after := owners(place(t, builder(t, p), rest))
		for partition := range before {
			if heir := r.Members()[next[partition]].ID; r.Owner(partition) == lost && heir != after[partition] {
				t.Fatalf("partition %d of %q goes to %q, its successor is %q", partition, m.ID, after[partition], heir)
			}
		}
	}
	if after := owners(place(t, b, members(names))); !slices.Equal(before, after) {
		t.Errorf("looking for successors moved partitions")
	}
}

func TestStateNames(t *testing.T) {
	for state, want := range map[ring.State]string{
		0: "unknown", ring.Joining: "joining", ring.Active: "active", ring.Leaving: "leaving", 4: "unknown",
	} {
		if got := state.String(); got != want {
			t.Errorf("state %d is %q, want %q", uint8(state), got, want)
		}
	}
}
