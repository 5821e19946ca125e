package ownership

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestRoundTrips(t *testing.T) {
	for _, c := range everyType() {
		t.Run(reflect.TypeOf(c.message).Elem().Name(), rapid.MakeCheck(func(t *rapid.T) {
			m := c.drawn.Draw(t, "message")
			got, err := Decode(Append(nil, m))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(m, got, same); diff != "" {
				t.Fatalf("read as something else:\n%s", diff)
			}
		}))
	}
}

// drawn draws messages of a type: whatever its fields are, in the ranges that a message may have.
func drawn[T any, P interface {
	*T
	Message
}]() *rapid.Generator[Message] {
	made := rapid.MakeCustom[T](drawing())
	return rapid.Custom(func(t *rapid.T) Message {
		v := made.Draw(t, "message")
		return P(&v)
	})
}

func drawing() rapid.MakeConfig {
	id := rapid.OneOf(rapid.SampledFrom([]string{"a", "b", "c"}), rapid.StringN(1, -1, maxIDBytes))
	member := rapid.Custom(func(t *rapid.T) Member {
		return Member{id.Draw(t, "id"), rapid.Uint64().Draw(t, "incarnation")}
	})
	few := rapid.OneOf(rapid.SampledFrom([]Member{memberA, memberB}), member)
	maybe := rapid.OneOf(rapid.Just(Member{}), few)
	claim := rapid.Custom(func(t *rapid.T) Claim {
		who := maybe.Draw(t, "owner")
		if who.ID == "" {
			return Claim{}
		}
		return Claim{Epoch{rapid.Uint64().Draw(t, "term"), who.Incarnation}, who.ID}
	})
	ballot := rapid.Custom(func(t *rapid.T) Ballot {
		if rapid.Bool().Draw(t, "none") {
			return Ballot{}
		}
		return Ballot{rapid.Uint64Min(1).Draw(t, "n"), id.Draw(t, "by")}
	})
	seconded := rapid.Custom(func(t *rapid.T) Seconded {
		if at := ballot.Draw(t, "at"); at.N > 0 {
			return Seconded{at, Change{few.Draw(t, "member"), rapid.Bool().Draw(t, "remove")}}
		}
		return Seconded{}
	})
	list := rapid.Custom(func(t *rapid.T) List {
		return newList(rapid.MapOf(id, rapid.Uint64()).Draw(t, "added"),
			rapid.MapOf(id, rapid.Custom(func(t *rapid.T) removal {
				return removal{rapid.Uint64().Draw(t, "incarnation"), rapid.Uint64().Draw(t, "stamp")}
			})).Draw(t, "removed"))
	})
	cfg := rapid.MakeConfig{
		Types: map[reflect.Type]*rapid.Generator[any]{
			reflect.TypeFor[State]():    rapid.SampledFrom([]State{Joining, Active, Leaving}).AsAny(),
			reflect.TypeFor[Member]():   few.AsAny(),
			reflect.TypeFor[Claim]():    claim.AsAny(),
			reflect.TypeFor[List]():     list.AsAny(),
			reflect.TypeFor[Ballot]():   ballot.AsAny(),
			reflect.TypeFor[Seconded](): seconded.AsAny(),
		},
		Fields: map[reflect.Type]map[string]*rapid.Generator[any]{
			reflect.TypeFor[Ask]():     {"Lost": maybe.AsAny()},
			reflect.TypeFor[Confirm](): {"Lost": maybe.AsAny()},
			reflect.TypeFor[Inherit](): {"Lost": maybe.AsAny()},
			reflect.TypeFor[Named]():   {"From": maybe.AsAny()},
		},
	}
	ascending[int](cfg, func(part *int, p int) { *part = p })
	ascending[Named](cfg, func(n *Named, p int) { n.Partition = p })
	ascending[Held](cfg, func(h *Held, p int) { h.Partition = p })
	ascending[Heir](cfg, func(h *Heir, p int) { h.Partition = p })
	ascending[Copy](cfg, func(c *Copy, p int) { c.Partition = p })
	return cfg
}

// ascending has slices of a type drawn with partitions that ascend.
func ascending[T any](cfg rapid.MakeConfig, set func(of *T, partition int)) {
	made := rapid.MakeCustom[T](cfg)
	cfg.Types[reflect.TypeFor[[]T]()] = rapid.Custom(func(t *rapid.T) []T {
		parts := rapid.MapOf(rapid.IntRange(0, partitionBound-1), made).Draw(t, "entries")
		var all []T
		for _, p := range slices.Sorted(maps.Keys(parts)) {
			entry := parts[p]
			set(&entry, p)
			all = append(all, entry)
		}
		return all
	}).AsAny()
}
