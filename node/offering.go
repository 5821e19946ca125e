package node

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/bucket/table"
	"github.com/drossel-dev/drossel/transport"
)

// What a node has on disk of the limits store it offers to those who decide for the keys when it starts, and of a partition when it had to
// begin with that and nobody had anything, or when others have taken that over: what was set last may be here only. The highest number
// counts, so what has been changed meanwhile stays.

// offers are the partitions whose entries are to be offered.
type offers struct {
	mu    sync.Mutex
	parts map[int]bool
	wake  chan struct{}
}

const (
	saveInterval = 250 * time.Millisecond
	// offerAtOnce is how many entries are read from disk at a time.
	offerAtOnce = 4096
	// offerPatience is how long a node that starts waits until all that it has is where it belongs.
	offerPatience = 3 * time.Second
	offerRetry    = time.Second
)

// keepEntries writes what has come from others to disk, until ctx ends.
func (n *Node) keepEntries(ctx context.Context) {
	if n.cfg.Store == nil {
		return
	}
	ticks := time.NewTicker(saveInterval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			n.saveEntries()
		}
	}
}

// offerEntries offers all that is on disk, whenever that is asked for, until ctx ends. offered is closed after the first time.
func (n *Node) offerEntries(ctx context.Context, offered chan<- struct{}) {
	once := func(these func(part int) bool) {
		if err := n.offerThese(ctx, these); err != nil && ctx.Err() == nil {
			n.log.Error("limits of single keys could not be read from disk", "error", err)
		}
	}
	once(func(int) bool { return true })
	close(offered)
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.offers.wake:
			parts := n.offers.take()
			once(func(part int) bool { return parts[part] })
		}
	}
}

// offerThese offers the entries of some partitions, each until it was taken.
func (n *Node) offerThese(ctx context.Context, these func(part int) bool) error {
	var after bucket.ID
	for ctx.Err() == nil {
		some, err := n.cfg.Store.Entries(after, offerAtOnce)
		if err != nil || len(some) == 0 {
			return err
		}
		after = some[len(some)-1].ID
		n.offer(ctx, slices.DeleteFunc(some, func(e table.Entry) bool { return !these(n.partitions.Partition(e.ID.Bytes())) }))
	}
	return nil
}

// offer offers some entries, until all are taken.
func (n *Node) offer(ctx context.Context, some []table.Entry) {
	entries := make([]transport.Entry, 0, len(some))
	for _, e := range some {
		if part := n.partitions.Partition(e.ID.Bytes()); n.owns(part) && n.hasAuthority(n.clock.Now()) {
			if _, err := n.owned.SetEntry(part, e, true, n.clock.Now()); err == nil {
				continue
			}
		}
		entries = append(entries, transport.Entry{ID: e.ID, Number: e.Number, Text: e.Text})
	}
	open := make([]int, len(entries))
	for i := range open {
		open[i] = i
	}
	results := make([]policy.KeyResult, len(entries))
	n.retry(ctx, func() bool {
		asking, cancel := context.WithTimeout(ctx, offerRetry)
		defer cancel()
		open = n.sendEntries(asking, entries, open, results)
		return len(open) == 0
	})
	for i := range results {
		if results[i].Err != nil {
			n.log.Error("limits of a key that were on disk find no room", "error", results[i].Err)
			return
		}
	}
}

// askOffer has what is on disk of a partition offered.
func (n *Node) askOffer(part int) {
	if n.cfg.Store == nil {
		return
	}
	o := &n.offers
	o.mu.Lock()
	if o.parts == nil {
		o.parts = make(map[int]bool)
	}
	o.parts[part] = true
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

func (o *offers) take() map[int]bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	parts := o.parts
	o.parts = nil
	return parts
}
