package node

import (
	"context"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/table"
)

const (
	// saveGroupsEvery is how often groups that have changed are written to disk.
	saveGroupsEvery = 500 * time.Millisecond
	// saveAgainAfter is how long a node waits after it could not write: then it writes everything.
	saveAgainAfter = 10 * time.Second
	// batchBytes is about how large a batch is, and savedAtOnce how much is written at a time.
	batchBytes, savedAtOnce = 256 << 10, 4 << 20
)

// saver writes durable groups to disk. Who holds the place writes.
type saver struct {
	place   chan struct{} // of one
	failing bool
	again   time.Time // not before that
	roster  []string
	tracked []bool // partitions whose groups, without a governor, are written once
}

// keepGroups writes what has changed of durable groups, until ctx ends.
func (n *Node) keepGroups(ctx context.Context) {
	ticks := time.NewTicker(saveGroupsEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			n.saveGroups()
		}
	}
}

// saveGroups writes what has changed since it was last called.
func (n *Node) saveGroups() {
	if n.cfg.Groups == nil {
		return
	}
	s := &n.saver
	s.place <- struct{}{}
	defer func() { <-s.place }()
	if time.Now().Before(s.again) {
		return
	}
	err := n.saveRoster()
	if err == nil && n.limits.Durable() {
		err = n.saveChanged()
	}
	switch {
	case err != nil:
		s.again = time.Now().Add(saveAgainAfter)
		n.counters.unsaved.Add(1)
		n.log.Error("DURABLE LIMITS ARE NOT ON DISK: what was taken of them is lost if all nodes that have it end; checks go on", "error", err,
			"next_try", saveAgainAfter)
		s.failing = true
	case s.failing:
		n.log.Info("durable limits are on disk again")
		s.failing = false
	}
}

// saveChanged writes the groups that have changed, and all of them anew if it is time for that.
func (n *Node) saveChanged() error {
	anew, err := n.writeGroups(n.changedGroups())
	if err != nil {
		n.unsavedAll() // nobody knows any more what was not written
	} else if anew {
		err = n.cfg.Groups.KeepAllBatches(n.allGroups())
	}
	return err
}

// writeGroups writes batches, some at a time.
func (n *Node) writeGroups(all iter.Seq[Batch]) (anew bool, err error) {
	var some []Batch
	size := 0
	keep := func() {
		if len(some) > 0 && err == nil {
			var full bool
			full, err = n.cfg.Groups.KeepBatches(some)
			anew = anew || full
			n.saved.add(some)
		}
		some, size = some[:0], 0
	}
	for b := range all {
		n.counters.savedBytes.Add(uint64(len(b.Blob)))
		if some, size = append(some, b), size+len(b.Blob); size >= savedAtOnce {
			if keep(); err != nil {
				break
			}
		}
	}
	keep()
	return anew, err
}

// saveRoster writes who the members are, if they are others than last time.
func (n *Node) saveRoster() error {
	g := n.governor
	if g == nil {
		return nil
	}
	g.mu.Lock()
	var members []string
	if g.machine.Member() {
		members = slices.Clone(g.machine.List().Members())
	}
	g.mu.Unlock()
	if len(members) == 0 || slices.Equal(members, n.saver.roster) {
		return nil
	}
	err := n.cfg.Groups.KeepRoster(members)
	if err == nil {
		n.saver.roster = members
	}
	return err
}

// changedGroups makes batches of the durable groups that have changed, of partitions that are held and of copies.
func (n *Node) changedGroups() iter.Seq[Batch] {
	return func(yield func(Batch) bool) {
		for part := range n.cfg.Ring.Partitions {
			if !n.batches(n.owned, part, n.unsavedHeld(part), yield) || !n.batches(n.copies, part, n.unsavedCopies(part), yield) {
				return
			}
		}
	}
}

// allGroups makes batches of all durable groups.
func (n *Node) allGroups() iter.Seq[Batch] {
	return func(yield func(Batch) bool) {
		for part := range n.cfg.Ring.Partitions {
			if n.holdsWhole(part) && !n.batches(n.owned, part, n.owned.IDs(part, nil), yield) ||
				n.keepsCopy(part) && !n.batches(n.copies, part, n.copies.IDs(part, nil), yield) {
				return
			}
		}
	}
}

// batches makes batches of the durable ones of some groups, and says whether to go on.
func (n *Node) batches(t *table.Table, part int, ids []bucket.ID, yield func(Batch) bool) bool {
	for len(ids) > 0 {
		wall := time.Now()
		blob, taken, groups := t.ExportDurable(part, ids, n.clock.Now(), nil, batchBytes)
		ids = ids[taken:]
		if groups > 0 && !yield(Batch{part, wall, blob}) {
			return false
		}
	}
	return true
}

// holdsWhole says whether this node holds a partition, and has all that it begins with.
func (n *Node) holdsWhole(part int) bool {
	g := n.governor
	if g == nil {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.holdsWhole(part)
}

func (g *governor) holdsWhole(part int) bool {
	return g.estates[part].restoring == nil && (g.machine.Holds(part) || g.machine.Frozen(part))
}

// keepsCopy says whether this node keeps a copy of a partition that another holds.
func (n *Node) keepsCopy(part int) bool {
	g := n.governor
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.machine.Copy(part).Claim.Owner != "" && !g.machine.Holds(part) && !g.machine.Frozen(part)
}

// unsavedHeld returns the groups of a partition that this node holds which have changed since they were written.
func (n *Node) unsavedHeld(part int) []bucket.ID {
	g := n.governor
	if g == nil {
		if n.owned.Track(part, true) && n.saver.tracked[part] {
			return n.owned.Changed(part, nil)
		}
		n.saver.tracked[part] = true
		return n.owned.IDs(part, nil)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.holdsWhole(part) {
		return nil
	}
	e := g.estates[part]
	if e.changed.disk == nil {
		g.track(part)
		g.collect(part)
		e.changed.disk = make(map[bucket.ID]struct{})
		return n.owned.IDs(part, nil)
	}
	g.collect(part)
	ids := slices.Collect(maps.Keys(e.changed.disk))
	clear(e.changed.disk)
	return ids
}

// unsavedCopies returns the groups of which this node keeps copies that have changed since they were written.
func (n *Node) unsavedCopies(part int) []bucket.ID {
	switch {
	case !n.keepsCopy(part):
		return nil
	case n.copies.Track(part, true):
		return n.copies.Changed(part, nil)
	}
	return n.copies.IDs(part, nil)
}

// unsavedAll has everything written the next time.
func (n *Node) unsavedAll() {
	clear(n.saver.tracked)
	for part := range n.cfg.Ring.Partitions {
		n.copies.Track(part, false)
	}
	if g := n.governor; g != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		for _, e := range g.estates {
			e.changed.disk = nil
		}
	}
}
