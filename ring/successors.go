package ring

import "fmt"

// Successors returns the failover successor of every partition of the ring that Place returned last: its owner in the
// ring without its present owner, as an index into that ring's Members. It is nil for a single member, which has
// none.
//
// It takes each member out of the circle in turn, because the next owner of a partition depends on all loads, and costs
// two placements a member. The slice is the caller's. The error wraps ErrNoMembers before the first Place, and
// ErrPlacement as in Place.
func (b *Builder) Successors() ([]int, error) {
	switch len(b.placed) {
	case 0:
		return nil, fmt.Errorf("%w: call Place first", ErrNoMembers)
	case 1:
		return nil, nil
	}
	successors := make([]int, b.params.Partitions)
	err := b.guard(len(b.placed), func() {
		b.turn(b.placed) // builds the circle again if a failure has thrown it away
		owners := b.owners(b.placed)
		for i, m := range b.placed {
			b.circle.Remove(point(m.ID).String())
			for partition, next := range b.owners(b.placed) {
				if int(owners[partition]) == i {
					successors[partition] = int(next)
				}
			}
			b.circle.Add(point(m.ID))
		}
	})
	if err != nil {
		return nil, err
	}
	return successors, nil
}
