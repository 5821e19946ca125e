package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// A partition of which nobody has a copy in memory, as when all nodes have ended, begins with what was on their disks: its new owner asks
// all others for what they have written of it, and decides for it when a majority of the members that it knows of has answered, or when
// JoinTimeout is over. Until then its checks are decided by their rules for failures.

// restoration is a partition that waits for what was on disk.
type restoration struct {
	founding bool          // there was no owner to lose
	open     bool          // the machine has opened it,
	term     uint64        // in this term
	done     chan struct{} // closed when it is restored
}

// restore has a partition wait for what was on disk. The governor is locked.
func (g *governor) restore(part int, founding bool) {
	if g.node.cfg.Groups == nil {
		return
	}
	g.estates[part].restoring = &restoration{founding: founding, done: make(chan struct{})}
	select {
	case g.restores <- struct{}{}:
	default:
	}
}

// restoreGroups restores partitions that wait for it, until ctx ends.
func (g *governor) restoreGroups(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-g.restores:
		}
		g.mu.Lock()
		waiting := make(map[int]*restoration)
		for part, e := range g.estates {
			if e.restoring != nil {
				waiting[part] = e.restoring
			}
		}
		g.mu.Unlock()
		if len(waiting) > 0 {
			g.restoreThese(ctx, waiting)
		}
	}
}

// restoreThese restores some partitions.
func (g *governor) restoreThese(ctx context.Context, waiting map[int]*restoration) {
	n := g.node
	parts := slices.Sorted(maps.Keys(waiting))
	found := n.gather(ctx, parts)
	groups, failed := 0, error(nil)
	for _, part := range parts {
		batches := found.batches[part]
		slices.SortStableFunc(batches, func(a, b Batch) int { return a.Wall.Compare(b.Wall) })
		for i := range batches {
			ago := max(0, time.Since(batches[i].Wall))
			if err := n.owned.Import(part, batches[i].Blob, n.clock.Now()-bucket.Instant(ago)); err != nil {
				failed = errors.Join(failed, fmt.Errorf("partition %d: %w", part, err))
			}
		}
		if len(batches) > 0 {
			groups += len(n.owned.IDs(part, nil))
		}
		g.step(func(bucket.Instant) { g.restored(part, waiting[part]) })
	}
	n.counters.restored.Add(uint64(groups))
	log := n.log.With("partitions", len(parts), "groups", groups, "disks", found.from)
	switch {
	case failed != nil:
		log.Error("some of what was on disk could not be restored", "error", failed)
	case len(found.missing) > 0:
		log.Warn("durable limits go on with what was on SOME disks: what only those of members that are missing have is not counted",
			"missing", found.missing)
	case groups > 0:
		log.Info("durable limits go on with what was on disk")
	}
}

// restored lets a partition be decided for, if it was not taken away meanwhile. The governor is locked.
func (g *governor) restored(part int, r *restoration) {
	close(r.done)
	e := g.estates[part]
	if e.restoring != r {
		return
	}
	e.restoring = nil
	if !r.founding {
		g.node.owned.TakenOver(part, g.node.clock.Now())
	}
	if r.open {
		g.openPartition(part, r.term)
	}
}

// awaitRestored waits until a partition has all that it begins with; false if ctx ends before.
func (g *governor) awaitRestored(ctx context.Context, part int) bool {
	g.mu.Lock()
	r := g.estates[part].restoring
	g.mu.Unlock()
	if r == nil {
		return ctx.Err() == nil
	}
	select {
	case <-r.done:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// waitsForDisks says that partitions wait for what was on disk; "" if none does. The governor is locked.
func (g *governor) waitsForDisks() string {
	waiting := 0
	for _, e := range g.estates {
		if e.restoring != nil {
			waiting++
		}
	}
	if waiting == 0 {
		return ""
	}
	return fmt.Sprintf("asks the others what is on their disks, before it decides for %d partitions: start the members that are missing, or wait for "+
		"--join-timeout", waiting)
}

// openPartition lets this node decide for a partition. The governor is locked.
func (g *governor) openPartition(part int, term uint64) {
	g.estates[part].open = true
	g.node.owned.Open(part, term)
	g.parking.free(part)
}

// restoreAlone restores all partitions of a node whose members never change, from its own disk.
func (n *Node) restoreAlone() {
	if n.cfg.Groups == nil {
		return
	}
	v := n.view.Load()
	err := n.cfg.Groups.Batches(func(b Batch) error {
		if b.Partition >= n.cfg.Ring.Partitions || v.owner(b.Partition) != v.self {
			return nil
		}
		return n.owned.Import(b.Partition, b.Blob, n.clock.Now()-bucket.Instant(max(0, time.Since(b.Wall))))
	})
	if err != nil {
		n.log.Error("what was taken of durable limits can't be restored from disk", "error", err)
	}
}
