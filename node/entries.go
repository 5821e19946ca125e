package node

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/table"
	"github.com/drossel-dev/drossel/transport"
)

// Entries of the limits store at the node that decides for their keys.

// takeEntries has entries count, as far as this node decides for their keys, and keeps them on disk. Those without a number are orders:
// they get one above that of any before.
func (n *Node) takeEntries(entries []transport.Entry) []transport.EntryResult {
	results := make([]transport.EntryResult, len(entries))
	n.entering.Lock()
	for i := range entries {
		results[i] = n.enter(&entries[i])
	}
	n.entering.Unlock()
	kept := n.saveEntries()
	if n.governor != nil {
		n.governor.copied(entries, results)
	}
	for i := range results {
		results[i].Kept = kept && results[i].Status == transport.EntrySet
	}
	return results
}

// enter puts one entry in. The caller holds entering.
func (n *Node) enter(e *transport.Entry) (r transport.EntryResult) {
	part := n.partitions.Partition(e.ID.Bytes())
	now := n.clock.Now()
	if v := n.view.Load(); n.governor == nil && v.owner(part) != v.self || !n.hasAuthority(now) {
		return transport.EntryResult{Status: transport.EntryNotOwner}
	}
	entry := table.Entry{ID: e.ID, Number: e.Number, Text: e.Text}
	if entry.Number == 0 {
		was, _, err := n.owned.EntryOf(part, e.ID)
		if err != nil {
			return transport.EntryResult{Status: transport.EntryNotOwner}
		}
		entry.Number = max(was.Number+1, uint64(time.Now().UnixMicro()))
	}
	number, err := n.owned.SetEntry(part, entry, false, now)
	switch {
	case errors.Is(err, table.ErrClosed):
		return transport.EntryResult{Status: transport.EntryNotOwner}
	case err != nil:
		return transport.EntryResult{Status: transport.EntryFull}
	}
	return transport.EntryResult{Number: number}
}

// copied notes which entries the successors of their partitions have copies of.
func (g *governor) copied(entries []transport.Entry, results []transport.EntryResult) {
	g.mu.Lock()
	defer g.mu.Unlock()
	ids, owners := g.machine.Successors(g.node.timer.Now())
	for i := range entries {
		part := g.node.partitions.Partition(entries[i].ID.Bytes())
		if results[i].Status != transport.EntrySet || owners == nil {
			continue
		}
		to := ids[owners[part]]
		if !g.machine.HasCopy(part, to) || g.node.isOlder(to) {
			continue
		}
		g.collect(part)
		is := g.estates[part]
		_, waits := is.changed.copy[entries[i].ID]
		results[i].Copied = is.tracked && !is.flying && !waits
	}
}

// takeCall answers a call that carries entries.
func (n *Node) takeCall(body []byte) ([]byte, error) {
	entries, err := transport.DecodeEntries(body)
	if err != nil {
		return nil, err
	}
	return transport.AppendEntryResults(nil, n.takeEntries(entries)), nil
}

// giveEntries answers a call that names keys with their entries. The error is that of a key for which this node does not decide.
func (n *Node) giveEntries(keys []transport.Entry) ([]transport.Entry, error) {
	now := n.clock.Now()
	v := n.view.Load()
	for i := range keys {
		k := &keys[i]
		part := n.partitions.Partition(k.ID.Bytes())
		if n.governor == nil && v.owner(part) != v.self || !n.hasAuthority(now) {
			return nil, errNotOwner
		}
		e, _, err := n.owned.EntryOf(part, k.ID)
		if err != nil {
			return nil, errNotOwner
		}
		k.Number, k.Text = e.Number, e.Text
	}
	return keys, nil
}

func (n *Node) giveCall(body []byte) ([]byte, error) {
	keys, err := transport.DecodeEntries(body)
	if err == nil {
		keys, err = n.giveEntries(keys)
	}
	return transport.AppendEntries(nil, keys), err
}

var errNotOwner = fmt.Errorf("this node does not decide for the key: %w", table.ErrClosed)

// savings are entries on their way to the disk. Who holds the place writes, and those who wait for it find their own written as a rule.
type savings struct {
	place   chan struct{}             // of one
	waiting map[bucket.ID]table.Entry // that are not written
	failing bool
}

// saveEntries writes the entries that have come since it was last called, and says whether all are kept.
func (n *Node) saveEntries() bool {
	if n.cfg.Store == nil {
		return false
	}
	s := &n.savings
	s.place <- struct{}{}
	defer func() { <-s.place }()
	var some []table.Entry
	for part := range n.cfg.Ring.Partitions {
		some = n.owned.Unsaved(part, some)
		some = n.copies.Unsaved(part, some)
	}
	for _, e := range some {
		if e.Number > s.waiting[e.ID].Number {
			s.waiting[e.ID] = e
		}
	}
	if len(s.waiting) == 0 {
		return true
	}
	if err := n.cfg.Store.KeepEntries(slices.Collect(maps.Values(s.waiting))); err != nil {
		if !s.failing {
			n.log.Error("limits of single keys could not be kept: they apply, and are lost if this node and those with copies are down at once",
				"entries", len(s.waiting), "error", err)
		}
		s.failing = true
		return false
	}
	if s.failing {
		n.log.Info("limits of single keys are kept again", "entries", len(s.waiting))
	}
	s.waiting, s.failing = make(map[bucket.ID]table.Entry), false
	return true
}
