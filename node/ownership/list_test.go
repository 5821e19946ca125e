package ownership

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawList draws a list that some changes lead to, of few ids and incarnations so that they meet.
func drawList() *rapid.Generator[List] {
	change := rapid.Custom(func(t *rapid.T) Change {
		return Change{
			Member{rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "id"), rapid.Uint64Range(1, 4).Draw(t, "incarnation")},
			rapid.Bool().Draw(t, "remove"),
		}
	})
	return rapid.Custom(func(t *rapid.T) (l List) {
		for _, c := range rapid.SliceOfN(change, 0, 8).Draw(t, "changes") {
			l = l.With(c)
		}
		return l
	})
}

func TestListMerges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawList().Draw(t, "a"), drawList().Draw(t, "b"), drawList().Draw(t, "c")
		same := func(rule string, x, y List) {
			t.Helper()
			if x.digest != y.digest || !slices.Equal(x.members, y.members) {
				t.Fatalf("%s: %+v and %+v", rule, x, y)
			}
		}
		same("commutative", a.Union(b), b.Union(a))
		same("associative", a.Union(b).Union(c), a.Union(b.Union(c)))
		same("idempotent", a.Union(a), a)
		same("absorbing", a.Union(b).Union(a), a.Union(b))
		same("nothing", a.Union(List{}), a)
	})
}

func TestListDigests(t *testing.T) {
	one := NewList(Member{"a", 1}, Member{"b", 1})
	if one.Digest() == 0 || one.Digest() != NewList(Member{"b", 1}, Member{"a", 1}).Digest() {
		t.Error("equal lists have other digests, or none")
	}
	seen := map[uint64]string{0: "the empty list"}
	for name, l := range map[string]List{
		"two":                     one,
		"one":                     NewList(Member{"a", 1}),
		"newer":                   NewList(Member{"a", 2}, Member{"b", 1}),
		"removed":                 one.With(Change{Member{"b", 1}, true}),
		"removed twice":           one.With(Change{Member{"b", 1}, true}).With(Change{Member{"b", 2}, true}),
		"removed, never added":    List{}.With(Change{Member{"a", 1}, true}),
		"ids that read like one":  NewList(Member{"ab", 1}),
		"two that read like ids":  NewList(Member{"a", 1}, Member{"b", 1}, Member{"ab", 1}),
		"removed in another turn": one.With(Change{Member{"a", 1}, true}).With(Change{Member{"b", 1}, true}),
		"removed in turn":         one.With(Change{Member{"b", 1}, true}).With(Change{Member{"a", 1}, true}),
	} {
		if other, ok := seen[l.Digest()]; ok {
			t.Errorf("%q has the digest of %q", name, other)
		}
		seen[l.Digest()] = name
	}
}

func TestListChanges(t *testing.T) {
	add := func(id string, incarnation uint64) Change { return Change{Member{id, incarnation}, false} }
	remove := func(id string, incarnation uint64) Change { return Change{Member{id, incarnation}, true} }
	tests := []struct {
		name     string
		changes  []Change
		members  []string
		holds    []Member
		not      []Member
		newest   uint64 // of a
		contains []Change
		lacks    []Change
	}{
		{
			"nobody", nil, nil, nil, []Member{{"a", 1}}, 0, nil, []Change{add("a", 1), remove("a", 1)},
		},
		{
			"added", []Change{add("a", 5)}, []string{"a"}, []Member{{"a", 5}, {"a", 6}, {"a", 4}}, []Member{{"b", 5}}, 5,
			[]Change{add("a", 5), add("a", 4)}, []Change{add("a", 6), remove("a", 4), remove("a", 5)},
		},
		{
			"removed", []Change{add("a", 5), remove("a", 5)}, nil, nil, []Member{{"a", 4}, {"a", 5}, {"a", 6}}, 5,
			[]Change{add("a", 5), add("a", 4), remove("a", 5), remove("a", 4)}, []Change{add("a", 6), remove("a", 6)},
		},
		{
			"an older one removed", []Change{add("a", 5), remove("a", 4)}, []string{"a"}, []Member{{"a", 5}}, []Member{{"a", 4}}, 5,
			[]Change{remove("a", 3), add("a", 4)}, []Change{add("a", 6)},
		},
		{
			"back as a later one", []Change{add("a", 5), remove("a", 5), add("a", 6)}, []string{"a"}, []Member{{"a", 6}},
			[]Member{{"a", 5}}, 6, []Change{remove("a", 5), add("a", 6)}, []Change{remove("a", 6)},
		},
		{
			"removed before it was added", []Change{remove("a", 5), add("a", 5)}, nil, nil, []Member{{"a", 5}}, 5, nil, nil,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var l List
			for _, c := range test.changes {
				l = l.With(c)
			}
			if !slices.Equal(l.Members(), test.members) || l.Newest("a") != test.newest || l.Empty() != (test.changes == nil) {
				t.Errorf("members %v, newest a %d, empty %v", l.Members(), l.Newest("a"), l.Empty())
			}
			for _, m := range test.holds {
				if !l.Holds(m) || !l.Has(m.ID) {
					t.Errorf("does not hold %v", m)
				}
			}
			for _, m := range test.not {
				if l.Holds(m) {
					t.Errorf("holds %v", m)
				}
			}
			for _, c := range test.contains {
				if !l.Contains(c) || l.With(c).Has(c.ID) != l.Has(c.ID) {
					t.Errorf("does not contain %v", c)
				}
			}
			for _, c := range test.lacks {
				if l.Contains(c) || l.With(c).digest == l.digest {
					t.Errorf("contains %v", c)
				}
			}
		})
	}
}

func TestListMajority(t *testing.T) {
	for n, want := range []int{1, 1, 2, 2, 3, 3, 4} {
		var members []Member
		for i := range n {
			members = append(members, Member{name(i), 1})
		}
		if got := NewList(members...).Majority(); got != want {
			t.Errorf("of %d: %d, want %d", n, got, want)
		}
	}
}

// TestListPrunes: of many removals the latest are kept, and lists that have lost others agree once each has had those of
// the other, though who was pruned may be a member again.
func TestListPrunes(t *testing.T) {
	var l List
	for i := range maxRemovals + 50 {
		l = l.With(Change{Member: Member{name(i), 1}}).With(Change{Member{name(i), 1}, true})
	}
	if len(l.removed) != maxRemovals || len(l.added) != maxRemovals || len(l.members) != 0 {
		t.Fatalf("%d removals, %d additions, members %v", len(l.removed), len(l.added), l.members)
	}
	if l.Newest(name(49)) != 0 || l.Newest(name(50)) != 1 {
		t.Error("it is not the oldest who are forgotten")
	}
	if l = l.With(Change{Member{name(3), 2}, false}); !l.Has(name(3)) {
		t.Error("who was forgotten can't be added")
	}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 0))
		lists := make([]List, 5)
		for i := range lists {
			for range 200 {
				m := Member{fmt.Sprint("m", r.IntN(600)), uint64(1 + r.IntN(3))}
				lists[i] = lists[i].With(Change{m, r.IntN(3) > 0})
			}
		}
		for range 2 * len(lists) { // each hears the next
			for i := range lists {
				lists[i] = lists[i].Union(lists[(i+1)%len(lists)])
			}
		}
		for _, l := range lists {
			if l.digest != lists[0].digest || len(l.removed) > maxRemovals {
				t.Fatalf("seed %d: lists of %d and %d, with %d removals", seed, len(l.added), len(lists[0].added), len(l.removed))
			}
		}
	}
}
