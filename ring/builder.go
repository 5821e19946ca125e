package ring

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/buraksezer/consistent"
	"github.com/cespare/xxhash/v2"
)

var (
	// ErrNoMembers is wrapped when there is nobody to place partitions on.
	ErrNoMembers = errors.New("no members to place partitions on")
	// ErrMembers is wrapped when the list of members cannot be placed: an empty or repeated ID, or too many members.
	ErrMembers = errors.New("members cannot be placed")
	// ErrPlacement is wrapped when placement itself failed. The ring in use stays good; placing again starts afresh.
	ErrPlacement = errors.New("placement failed")
)

// Builder makes Rings. It keeps the circle of the last list and changes only what differs, because building a large one
// from nothing sorts all of it once per member; the result is the same whatever lists came before.
//
// A Builder is not safe for concurrent use. The Rings it made are.
type Builder struct {
	params Params
	hasher consistent.Hasher
	circle *consistent.Consistent // nil: build from nothing
	placed []Member               // the last list placed, sorted by ID; what circle holds if it is not nil
}

// NewBuilder returns a builder for the parameters, or ErrParams.
func NewBuilder(p Params) (*Builder, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	return &Builder{params: p.withDefaults(), hasher: hasher{}}, nil
}

// Place returns the ring of the members; those that are Leaving are left out. The order of the list does not matter,
// and it is only read. The error wraps ErrNoMembers if nobody is left, ErrMembers if the list is wrong, ErrPlacement
// if it could not be placed.
func (b *Builder) Place(members []Member) (*Ring, error) {
	placed, err := b.sorted(members)
	if err != nil {
		return nil, err
	}
	ring := &Ring{epoch: epochOf(b.params, placed), members: placed}
	err = b.guard(len(placed), func() {
		b.turn(placed)
		ring.owners = b.owners(placed)
	})
	if err != nil {
		return nil, err
	}
	b.placed = placed
	return ring, nil
}

// sorted returns a copy of the members to place, by ID.
func (b *Builder) sorted(members []Member) ([]Member, error) {
	list := slices.SortedFunc(slices.Values(members), byID)
	for i, m := range list {
		if m.ID == "" {
			return nil, fmt.Errorf("%w: the member at %q has an empty id; give every node an id of its own",
				ErrMembers, m.Peer)
		}
		if i > 0 && m.ID == list[i-1].ID {
			return nil, fmt.Errorf("%w: id %q appears twice, at %q and %q; keep the newer boot of it",
				ErrMembers, m.ID, list[i-1].Peer, m.Peer)
		}
	}
	list = slices.DeleteFunc(list, func(m Member) bool { return m.State == Leaving })
	switch {
	case len(list) == 0:
		return nil, fmt.Errorf("%w: of %d given, none stays; a node that runs alone places itself",
			ErrNoMembers, len(members))
	case len(list) > b.params.Partitions:
		return nil, fmt.Errorf("%w: %d members, but only %d partitions; a cluster that large needs more partitions",
			ErrMembers, len(list), b.params.Partitions)
	}
	return list, nil
}

// turn changes the circle from the list it holds to the one given.
func (b *Builder) turn(to []Member) {
	var gone, come []string
	for _, m := range b.placed {
		if _, stays := find(to, m.ID); !stays {
			gone = append(gone, m.ID)
		}
	}
	for _, m := range to {
		if _, was := find(b.placed, m.ID); !was {
			come = append(come, m.ID)
		}
	}
	// Each change distributes all partitions anew, a fresh circle does so once: with many changes it is the cheaper
	// one.
	if b.circle == nil || 4*(len(gone)+len(come)) > len(to) {
		b.circle = b.fresh(to)
		return
	}
	for _, id := range gone {
		b.circle.Remove(point(id).String())
	}
	for _, id := range come {
		b.circle.Add(point(id))
	}
}

func (b *Builder) fresh(members []Member) *consistent.Consistent {
	points := make([]consistent.Member, len(members))
	for i, m := range members {
		points[i] = point(m.ID)
	}
	return consistent.New(points, consistent.Config{
		Hasher:            b.hasher,
		PartitionCount:    b.params.Partitions,
		ReplicationFactor: b.params.Replication,
		Load:              b.params.Load,
	})
}

// owners reads the circle: the owner of every partition, as an index into members.
func (b *Builder) owners(members []Member) []uint16 {
	index := make(map[string]uint16, len(members))
	for i, m := range members {
		index[m.ID] = uint16(i)
	}
	owners := make([]uint16, b.params.Partitions)
	for partition := range owners {
		owners[partition] = index[string(b.circle.GetPartitionOwner(partition).(point))]
	}
	return owners
}

// guard turns a panic of the placement library into an error. It panics when it finds no room, and then holds a member
// that it has not placed; so the circle is thrown away and the next call builds its own.
func (b *Builder) guard(members int, change func()) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			b.circle = nil
			err = fmt.Errorf("%w for %d members with %s: %v; keep the ring in use and place again; if that fails, "+
				"raise the load or the number of partitions on every node", ErrPlacement, members, b.params, cause)
		}
	}()
	change()
	return nil
}

func byID(a, b Member) int { return strings.Compare(a.ID, b.ID) }

// find returns the place of the id in a list sorted by ID.
func find(sorted []Member, id string) (int, bool) {
	return slices.BinarySearchFunc(sorted, Member{ID: id}, byID)
}

// point is a member's id as the placement library knows it.
type point string

// String ends in a non-digit: the library numbers a member's points, and a name that ends in digits must not be able to
// run into that number.
func (p point) String() string { return string(p) + "#" }

type hasher struct{}

func (hasher) Sum64(b []byte) uint64 { return xxhash.Sum64(b) }
