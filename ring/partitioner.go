package ring

import (
	"math"
	"math/bits"

	"github.com/cespare/xxhash/v2"
)

// Partitioner says in which partition an id is: xxhash64(id) mod the number of partitions. It needs no ring, and is made
// once, because it is asked for every check. A value of NewPartitioner; safe for concurrent use.
type Partitioner struct{ partitions, inverse uint64 }

// NewPartitioner returns the partitioner of so many partitions, 1 to MaxPartitions.
func NewPartitioner(partitions int) Partitioner {
	return Partitioner{uint64(partitions), math.MaxUint64 / uint64(partitions)}
}

// Partition returns the partition of an id. It allocates nothing.
func (p Partitioner) Partition(id [16]byte) int {
	h := xxhash.Sum64(id[:])
	// The remainder by a multiplication in place of a division: the quotient that the inverse gives is right or one too
	// small.
	q, _ := bits.Mul64(h, p.inverse)
	r := h - q*p.partitions
	if r >= p.partitions {
		r -= p.partitions
	}
	return int(r)
}
