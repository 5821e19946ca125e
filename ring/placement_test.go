package ring_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/drossel-dev/drossel/ring"
)

// ids draws lists of names that a placement by concatenated names would confuse, and names nobody expects.
func ids(min, max int) *rapid.Generator[[]string] {
	hostile := rapid.OneOf(
		rapid.Custom(func(t *rapid.T) string { return fmt.Sprintf("pod-%d", rapid.IntRange(0, 300).Draw(t, "pod")) }),
		rapid.StringMatching(`[0-9]{1,4}`),
		rapid.StringMatching(`[0-9:#]{1,6}`),
		rapid.StringN(1, 12, -1),
		rapid.SampledFrom([]string{"\x00", "\xff\xfe", "#", "1#", "Drossel, grün", "鶇", " "}),
		rapid.Just(strings.Repeat("long", 5000)),
	)
	return rapid.SliceOfNDistinct(hostile, min, max, rapid.ID[string])
}

func params() *rapid.Generator[ring.Params] {
	return rapid.Custom(func(t *rapid.T) ring.Params {
		return ring.Params{
			Partitions:  rapid.SampledFrom([]int{12, 13, 97, 271, 1021}).Draw(t, "partitions"),
			Replication: rapid.SampledFrom([]int{1, 2, 20, 100}).Draw(t, "replication"),
			Load:        rapid.SampledFrom([]float64{1, 1.02, 1.25, 2}).Draw(t, "load"),
		}
	})
}

func members(names []string) []ring.Member {
	list := make([]ring.Member, len(names))
	for i, name := range names {
		list[i] = ring.Member{ID: name, Boot: 1, Peer: "10.0.0.1:7947", State: ring.Active}
	}
	return list
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func builder(t fataler, p ring.Params) *ring.Builder {
	t.Helper()
	b, err := ring.NewBuilder(p)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return b
}

func place(t fataler, b *ring.Builder, list []ring.Member) *ring.Ring {
	t.Helper()
	r, err := b.Place(list)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return r
}

// owners is the whole placement by name, the form in which rings of different lists can be compared.
func owners(r *ring.Ring) []string {
	names := make([]string, r.Partitions())
	for partition := range names {
		names[partition] = r.Members()[r.Owner(partition)].ID
	}
	return names
}

func TestEveryPartitionHasAnOwnerWithinTheLoad(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, names := params().Draw(t, "params"), ids(1, 12).Draw(t, "ids")
		r := place(t, builder(t, p), members(names))
		total, most := 0, int(math.Ceil(float64(p.Partitions)/float64(len(names))*p.Load))
		for i, count := range r.Counts() {
			total += count
			if count > most {
				t.Fatalf("%q owns %d of %d partitions, want at most %d", r.Members()[i].ID, count, p.Partitions, most)
			}
		}
		if total != p.Partitions || r.Partitions() != p.Partitions {
			t.Fatalf("%d of %d partitions have an owner, want %d", total, r.Partitions(), p.Partitions)
		}
	})
}

func TestOrderOfTheListDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, list := params().Draw(t, "params"), members(ids(1, 12).Draw(t, "ids"))
		want := place(t, builder(t, p), list)
		shuffled := rapid.Permutation(list).Draw(t, "shuffled")
		given := slices.Clone(shuffled)
		got := place(t, builder(t, p), shuffled)
		if diff := cmp.Diff(owners(want), owners(got)); diff != "" || got.Epoch() != want.Epoch() {
			t.Fatalf("epoch %x, in another order %x; owners differ:\n%s", want.Epoch(), got.Epoch(), diff)
		}
		if !slices.Equal(shuffled, given) {
			t.Fatalf("Place changed its argument to %v", shuffled)
		}
	})
}

// A builder that went through any lists ends where a new one starts. Steps of one change are turned in place, steps of
// many start afresh.
func TestHistoryDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, all := params().Draw(t, "params"), members(ids(8, 12).Draw(t, "ids"))
		p.Partitions = min(p.Partitions, 271)
		b, in := builder(t, p), make(map[int]bool)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(all)-1), 1, 4).Draw(t, "toggled") {
				in[i] = !in[i]
			}
			var list []ring.Member
			for i, m := range all {
				if in[i] {
					list = append(list, m)
				}
			}
			if list == nil {
				continue
			}
			fresh := builder(t, p)
			got, want := place(t, b, list), place(t, fresh, list)
			if diff := cmp.Diff(owners(want), owners(got)); diff != "" || got.Epoch() != want.Epoch() {
				t.Fatalf("after a history the epoch is %x, want %x; owners differ:\n%s", got.Epoch(), want.Epoch(), diff)
			}
			if rapid.IntRange(0, 3).Draw(t, "look") > 0 {
				continue
			}
			wantNext, err := fresh.Successors()
			if err != nil {
				t.Fatalf("%v", err)
			}
			if gotNext, err := b.Successors(); err != nil || !slices.Equal(gotNext, wantNext) {
				t.Fatalf("after a history the successors are %v (%v), want %v", gotNext, err, wantNext)
			}
		}
	})
}

// Every node of every version must come to these owners: a change here splits a cluster during an upgrade.
func TestGoldenPlacement(t *testing.T) {
	r := place(t, builder(t, ring.Params{Partitions: 23}), members([]string{"pod-11", "pod-1", "pod-2"}))
	var got strings.Builder
	for partition := range r.Partitions() {
		fmt.Fprint(&got, r.Owner(partition))
	}
	id := [16]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	fmt.Fprintf(&got, " epoch=%x partition=%d", r.Epoch(), r.Partition(id))
	if want := "10221000020002202220221 epoch=db9bdd342a736f partition=16"; got.String() != want {
		t.Errorf("got  %s\nwant %s", got.String(), want)
	}
}

// Neither the circle nor its arithmetic runs out of room, whatever the number of members, down to the tightest load.
func TestThereIsAlwaysRoom(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, p := range []ring.Params{
		{Partitions: 97, Load: 1}, {Partitions: 64, Load: 1, Replication: 1}, {Partitions: 151, Load: 1.02, Replication: 20},
	} {
		b := builder(t, p)
		var list []ring.Member
		for n := 1; n <= p.Partitions; n++ {
			list = append(list, ring.Member{ID: fmt.Sprintf("%x", random.Uint64()), State: ring.Joining})
			place(t, b, list)
		}
	}
}
