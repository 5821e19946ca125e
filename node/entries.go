package node

import (
	"errors"
	"fmt"
	"sync"
	"time"

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
	for i := range results {
		if r := &results[i]; r.Status == transport.EntrySet {
			r.Kept, r.Copied = kept, n.governor != nil && n.governor.copied(&entries[i])
		}
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

// copied says whether the successor of a partition has a copy of an entry.
func (g *governor) copied(e *transport.Entry) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	part := g.node.partitions.Partition(e.ID.Bytes())
	ids, owners := g.machine.Successors(g.node.timer.Now())
	if owners == nil || !g.machine.HasCopy(part, ids[owners[part]]) {
		return false
	}
	g.collect(part)
	is := g.estates[part]
	_, waits := is.changed.copy[e.ID]
	return is.tracked && !is.flying && !waits
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

// savings are entries on their way to the disk.
type savings struct {
	mu      sync.Mutex
	waiting []table.Entry // that could not be written
	failing bool
}

// saveEntries writes the entries that have come since it was last called, and says whether all are kept.
func (n *Node) saveEntries() bool {
	if n.cfg.Store == nil {
		return false
	}
	s := &n.savings
	s.mu.Lock()
	defer s.mu.Unlock()
	for part := range n.cfg.Ring.Partitions {
		s.waiting = n.owned.Unsaved(part, s.waiting)
		s.waiting = n.copies.Unsaved(part, s.waiting)
	}
	if len(s.waiting) == 0 {
		return true
	}
	if err := n.cfg.Store.KeepEntries(s.waiting); err != nil {
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
	s.waiting, s.failing = nil, false
	return true
}
