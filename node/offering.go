package node

import (
	"context"
	"errors"
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
	offerTimeout  = time.Second
	// What was not taken is offered again, less and less often; and everything once a day: so what was removed elsewhere is forgotten here,
	// long before that it was removed is.
	minOfferAgain = 100 * time.Millisecond
	maxOfferAgain = 10 * time.Second
	offerAllAgain = 24 * time.Hour
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

// offerEntries offers what is on disk: all of it now and once a day, and of partitions when that is asked for, until ctx ends. offered is
// closed when all was taken for the first time.
func (n *Node) offerEntries(ctx context.Context, offered chan<- struct{}) {
	open := n.allParts()
	daily := time.NewTicker(offerAllAgain)
	defer daily.Stop()
	wait := minOfferAgain
	for {
		if len(open) > 0 {
			var err error
			if open, err = n.offerThese(ctx, open); err != nil && ctx.Err() == nil {
				n.log.Error("limits of single keys could not be read from disk", "error", err)
			}
		}
		var again <-chan time.Time
		if len(open) > 0 {
			again = time.After(wait)
			wait = min(2*wait, maxOfferAgain)
		} else if wait = minOfferAgain; offered != nil {
			close(offered)
			offered = nil
		}
		select {
		case <-ctx.Done():
			return
		case <-again:
		case <-n.turns.wait():
			wait = minOfferAgain
		case <-daily.C:
			open = n.allParts()
		case <-n.offers.wake:
		}
		n.offers.take(open)
	}
}

func (n *Node) allParts() map[int]bool {
	parts := make(map[int]bool, n.cfg.Ring.Partitions)
	for part := range n.cfg.Ring.Partitions {
		parts[part] = true
	}
	return parts
}

// offerThese offers the entries of some partitions once, and returns the partitions of those that were not taken. What was replaced, or
// removed long ago, is forgotten.
func (n *Node) offerThese(ctx context.Context, parts map[int]bool) (open map[int]bool, err error) {
	open = make(map[int]bool)
	var after bucket.ID
	for ctx.Err() == nil {
		some, err := n.cfg.Store.Entries(after, offerAtOnce)
		if err != nil {
			return parts, err
		}
		if len(some) == 0 {
			break
		}
		after = some[len(some)-1].ID
		old, err := n.offer(ctx, slices.DeleteFunc(some, func(e table.Entry) bool { return !parts[n.partitionOf(e.ID)] }), open)
		if err == nil && len(old) > 0 {
			err = n.cfg.Store.ForgetEntries(old)
		}
		if err != nil {
			return parts, err
		}
	}
	return open, nil
}

func (n *Node) partitionOf(id bucket.ID) int { return n.partitions.Partition(id.Bytes()) }

// offer offers some entries once. It notes in open the partitions of those that were not taken, and returns those that are of no use any
// more.
func (n *Node) offer(ctx context.Context, some []table.Entry, open map[int]bool) (old []table.Entry, err error) {
	long := uint64(time.Now().Add(-table.RemovedFor).UnixMicro())
	var entries []transport.Entry
	for _, e := range some {
		if e.Text == "" && e.Number < long {
			old = append(old, e)
			continue
		}
		if part := n.partitionOf(e.ID); n.owns(part) && n.hasAuthority(n.clock.Now()) {
			switch number, err := n.owned.SetEntry(part, e, true, n.clock.Now()); {
			case err == nil && number > e.Number:
				old = append(old, e)
				fallthrough
			case err == nil:
				continue
			case errors.Is(err, table.ErrFull):
				return old, err
			}
		}
		entries = append(entries, transport.Entry{ID: e.ID, Number: e.Number, Text: e.Text})
	}
	all := make([]int, len(entries))
	for i := range all {
		all[i] = i
	}
	results := make([]policy.KeyResult, len(entries))
	asking, cancel := context.WithTimeout(ctx, offerTimeout)
	defer cancel()
	for _, i := range n.sendEntries(asking, entries, all, results) {
		open[n.partitionOf(entries[i].ID)] = true
	}
	for i := range results {
		switch r := &results[i]; {
		case r.Err != nil:
			return old, r.Err
		case r.Number > entries[i].Number:
			old = append(old, table.Entry{ID: entries[i].ID, Number: entries[i].Number})
		}
	}
	return old, nil
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

// take adds those that were asked for.
func (o *offers) take(to map[int]bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for part := range o.parts {
		to[part] = true
	}
	o.parts = nil
}
