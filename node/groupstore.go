package node

import (
	"iter"
	"time"
)

// GroupStore keeps, for when all nodes end at once, groups of which some limit is durable (bucket.Limit.IsDurable): what this node holds,
// and what it has copies of. A node calls one method at a time, but for Batches. node/store has one in a directory.
type GroupStore interface {
	// Batches calls do with all batches that are kept, those that were written later later, until it returns an error.
	Batches(do func(Batch) error) error
	// KeepBatches keeps more. When it returns they have to outlive the machine. anew says that so much was written since that it is time
	// for KeepAllBatches.
	KeepBatches(some []Batch) (anew bool, err error)
	// KeepAllBatches keeps these, which have all there is, in place of all others. If it fails those are still there.
	KeepAllBatches(all iter.Seq[Batch]) error
	// Roster returns the members of the cluster as they were kept last; none if they never were.
	Roster() ([]string, error)
	// KeepRoster keeps the members of the cluster, this node among them.
	KeepRoster(members []string) error
}

// Batch is some groups of a partition, as they were at a time.
type Batch struct {
	// Partition is theirs.
	Partition int
	// Wall is that time, by the wall clock of the node that has written it.
	Wall time.Time
	// Blob has the groups, for table.Import. A group that is in two batches is that of the later one.
	Blob []byte
}
