package ring

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// Ring is one placement: members, partitions, and the owner of each. It never changes, so it is safe for concurrent
// use; a Builder makes it, and whoever wants the newest publishes it through an atomic.Pointer.
type Ring struct {
	epoch   uint64
	members []Member // sorted by ID
	owners  []uint16 // partition → index into members
}

// Epoch names the list that this ring was made from: a hash of the sorted (ID, Boot) of its members and of the
// parameters. It is the same on every node that holds the same list. It says nothing about which of two rings is
// newer.
func (r *Ring) Epoch() uint64 { return r.epoch }

// Members returns the placed members sorted by ID. The slice is the ring's own and must not be changed.
func (r *Ring) Members() []Member { return r.members }

// Index returns the place of the member in Members, or -1 if the ring does not hold it.
func (r *Ring) Index(id string) int {
	if i, found := find(r.members, id); found {
		return i
	}
	return -1
}

// Partitions returns the number of partitions, 1 to MaxPartitions.
func (r *Ring) Partitions() int { return len(r.owners) }

// Partition returns the partition of a group's id, 0 to Partitions-1. It depends on no member.
func (r *Ring) Partition(id [16]byte) int { return NewPartitioner(len(r.owners)).Partition(id) }

// Owner returns the member that should own the partition, as an index into Members. A partition outside 0 to
// Partitions-1 is a programming error, like an index outside its slice.
func (r *Ring) Owner(partition int) int { return int(r.owners[partition]) }

// Counts returns how many partitions each member owns, in the order of Members. The slice is the caller's.
func (r *Ring) Counts() []int {
	counts := make([]int, len(r.members))
	for _, owner := range r.owners {
		counts[owner]++
	}
	return counts
}

// epochOf hashes a sorted list. Every part has a fixed length or is prefixed with it, so that no two lists share a
// text.
func epochOf(p Params, members []Member) uint64 {
	text := []byte(p.String() + "\n")
	for _, m := range members {
		text = binary.AppendUvarint(text, uint64(len(m.ID)))
		text = append(text, m.ID...)
		text = binary.BigEndian.AppendUint64(text, m.Boot)
	}
	return xxhash.Sum64(text)
}
