package ownership

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// List is who counts: the members whose majority confirms authority, changes and losses. It is a set that merges: of
// each id the highest incarnation that was added, and the highest that was removed; who was added later than it was
// removed is a member. A List is immutable, and the zero List is empty.
type List struct {
	added   map[string]uint64
	removed map[string]removal
	members []string // sorted
	digest  uint64
}

// removal is the tombstone of an id. Its stamp is higher than those that were there before it.
type removal struct{ incarnation, stamp uint64 }

// maxRemovals bounds the tombstones, the latest ones, or a list would grow with every node that ever was. Who is then
// added again by somebody who was away for so long is silent, and is forgotten like any other who is.
const maxRemovals = 256

// Change adds an incarnation to a list, or removes it and all before it.
type Change struct {
	Member
	Remove bool
}

// NewList returns the list of these members.
func NewList(members ...Member) List {
	added := make(map[string]uint64, len(members))
	for _, m := range members {
		added[m.ID] = max(added[m.ID], m.Incarnation)
	}
	return newList(added, nil)
}

// newList owns the maps that it is given.
func newList(added map[string]uint64, removed map[string]removal) List {
	prune(added, removed)
	l := List{added: added, removed: removed}
	text := make([]byte, 0, 32*(len(added)+len(removed)))
	for _, id := range slices.Sorted(maps.Keys(added)) {
		if l.Has(id) {
			l.members = append(l.members, id)
		}
		text = binary.AppendUvarint(text, uint64(len(id)))
		text = append(text, id...)
		text = binary.BigEndian.AppendUint64(text, added[id])
	}
	for _, id := range slices.Sorted(maps.Keys(removed)) {
		text = binary.AppendUvarint(text, uint64(len(id)))
		text = append(text, id...)
		text = binary.BigEndian.AppendUint64(text, removed[id].incarnation)
		text = binary.BigEndian.AppendUint64(text, removed[id].stamp)
	}
	if len(text) > 0 {
		text = binary.AppendUvarint(text, uint64(len(added))) // where one part ends
		l.digest = xxhash.Sum64(text)
	}
	return l
}

// prune drops the oldest tombstones, and with them who they were for.
func prune(added map[string]uint64, removed map[string]removal) {
	if len(removed) <= maxRemovals {
		return
	}
	ids := slices.SortedFunc(maps.Keys(removed), func(a, b string) int {
		return cmp.Or(cmp.Compare(removed[a].stamp, removed[b].stamp), cmp.Compare(a, b))
	})
	for _, id := range ids[:len(ids)-maxRemovals] {
		if added[id] <= removed[id].incarnation {
			delete(added, id)
		}
		delete(removed, id)
	}
}

// Members returns the ids in order. The slice is the list's own.
func (l List) Members() []string { return l.members }

// Digest is the same for equal lists, and 0 for the empty one.
func (l List) Digest() uint64 { return l.digest }

// Empty says that the list knows of nobody, neither present nor gone.
func (l List) Empty() bool { return len(l.added)+len(l.removed) == 0 }

// Majority is how many of the members are more than half.
func (l List) Majority() int { return len(l.members)/2 + 1 }

// Has says whether the id is a member.
func (l List) Has(id string) bool { return l.added[id] > l.removed[id].incarnation }

// Holds says whether this incarnation may act as a member: its id is one, and it was not removed itself.
func (l List) Holds(m Member) bool { return l.Has(m.ID) && l.removed[m.ID].incarnation < m.Incarnation }

// Newest is the highest incarnation of an id that the list knows of.
func (l List) Newest(id string) uint64 { return max(l.added[id], l.removed[id].incarnation) }

// Contains says that a change would change nothing.
func (l List) Contains(c Change) bool {
	return l.removed[c.ID].incarnation >= c.Incarnation || !c.Remove && l.added[c.ID] >= c.Incarnation
}

// With returns the list after a change.
func (l List) With(c Change) List {
	if !c.Remove {
		return l.merge(List{added: map[string]uint64{c.ID: c.Incarnation}})
	}
	stamp := uint64(0)
	for _, r := range l.removed {
		stamp = max(stamp, r.stamp)
	}
	return l.merge(List{removed: map[string]removal{c.ID: {c.Incarnation, stamp + 1}}})
}

// Union returns what both lists know.
func (l List) Union(other List) List {
	if l.digest == other.digest || other.Empty() {
		return l
	}
	return l.merge(other)
}

func (l List) merge(other List) List {
	added := make(map[string]uint64, len(l.added)+1)
	maps.Copy(added, l.added)
	for id, incarnation := range other.added {
		added[id] = max(added[id], incarnation)
	}
	removed := make(map[string]removal, len(l.removed)+1)
	maps.Copy(removed, l.removed)
	for id, r := range other.removed {
		was := removed[id]
		removed[id] = removal{max(was.incarnation, r.incarnation), max(was.stamp, r.stamp)}
	}
	return newList(added, removed)
}
