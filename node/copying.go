package node

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/node/ownership"
	"github.com/drossel-dev/drossel/transport"
)

// changes are the groups of a held partition that have changed since they were last sent, or written, for each who is sent them and for the disk.
type changes struct {
	copy   map[bucket.ID]struct{} // to the successor
	stream map[bucket.ID]struct{} // to the next owner; nil while there is none
	disk   map[bucket.ID]struct{} // nil until all have been written once
}

// collect asks the table which groups of a partition have changed. The governor is locked.
func (g *governor) collect(part int) {
	e := g.estates[part]
	if !e.tracked {
		return
	}
	for _, id := range g.node.owned.Changed(part, nil) {
		e.changed.copy[id] = struct{}{}
		if e.changed.stream != nil {
			e.changed.stream[id] = struct{}{}
		}
		if e.changed.disk != nil {
			e.changed.disk[id] = struct{}{}
		}
	}
}

// track begins to note changes.
func (g *governor) track(part int) {
	if e := g.estates[part]; !e.tracked {
		e.tracked = true
		e.changed.copy = make(map[bucket.ID]struct{})
		g.node.owned.Track(part, true)
	}
}

// untrack ends it, because nobody is sent them, unless they are written to disk.
func (g *governor) untrack(part int) {
	switch e := g.estates[part]; {
	case !e.tracked || e.changed.stream != nil:
	case e.changed.disk != nil:
		clear(e.changed.copy)
	default:
		e.tracked, e.changed = false, changes{}
		g.node.owned.Track(part, false)
	}
}

// copyInterval is how often owners send what has changed to those who would take over from them: what is lost with an
// owner is what it debited in that time.
const copyInterval = 100 * time.Millisecond

// copyGroups is about how many groups are sent at once: they are copied with the governor locked.
const copyGroups = 4096

// copyChanges sends snapshots of what this node holds until ctx ends. In each round a partition is sent once, if it has changed;
// there is one sender for each node that is sent something, and if a round is not enough for it the others do not wait.
func (g *governor) copyChanges(ctx context.Context) {
	ticks := time.NewTicker(copyInterval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		for _, to := range g.beginRound() {
			g.node.goroutines.Go(func() { g.copyTo(ctx, to) })
		}
	}
}

// beginRound begins a round, and returns who needs a sender.
func (g *governor) beginRound() (idle []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.round++
	ids, owners := g.machine.Successors(g.node.timer.Now())
	if owners == nil {
		for part, e := range g.estates {
			e.unsent = 0
			g.untrack(part)
		}
		return nil
	}
	for _, id := range ids {
		if !g.senders[id] {
			g.senders[id] = true
			idle = append(idle, id)
		}
	}
	return idle
}

// copyTo sends one batch after the other to a node, until nothing is due any more.
func (g *governor) copyTo(ctx context.Context, to string) {
	for ctx.Err() == nil {
		batch := g.snapshots(to)
		if len(batch) == 0 {
			return
		}
		g.sendSnapshots(ctx, to, batch)
	}
}

// snapshot is one that is to be sent: its groups as blobs, and whose they are.
type snapshot struct {
	ownership.Snapshot
	estate *estate
	ids    []bucket.ID
	puts   []ownership.Put
}

// snapshots makes those that are due to a node in this round, or some of them. What has a copy there comes first: it is less,
// and more is lost with the node if it waits. If there are none the sender ends.
func (g *governor) snapshots(to string) (batch []*snapshot) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.node.timer.Now()
	ids, owners := g.machine.Successors(now)
	groups := 0
	for _, copied := range []bool{true, false} {
		for part, e := range g.estates {
			if owners == nil || ids[owners[part]] != to || e.round == g.round || e.flying || !g.machine.Holds(part) ||
				g.machine.HasCopy(part, to) != copied {
				continue
			}
			if groups >= copyGroups {
				return batch
			}
			e.round = g.round
			g.collect(part)
			s, ok := g.machine.Snapshot(now, part, to, len(e.changed.copy) > 0)
			if !ok {
				continue
			}
			if e.unsent == 0 {
				e.unsent = now
			}
			made := g.snapshot(s)
			groups += len(made.ids)
			batch = append(batch, made)
		}
	}
	if len(batch) == 0 {
		delete(g.senders, to)
	}
	return batch
}

func (g *governor) snapshot(s ownership.Snapshot) *snapshot {
	part := s.Partition
	out := &snapshot{Snapshot: s, estate: g.estates[part]}
	if s.Base == 0 {
		g.track(part)
		out.ids = g.node.owned.IDs(part, nil)
	} else {
		out.ids = slices.Collect(maps.Keys(out.estate.changed.copy))
	}
	clear(out.estate.changed.copy)
	out.estate.flying = true
	out.puts = g.export(held, out.ids, ownership.Put{Snapshot: s}, g.node.isOlder(s.To))
	return out
}

// export makes puts of groups, at least one, under the governor's lock: so what was settled in them goes with them. older says that they
// are for a node that does not know of the limits store.
func (g *governor) export(from place, ids []bucket.ID, head ownership.Put, older bool) (puts []ownership.Put) {
	shelf := &g.shelves[from]
	export := shelf.table.Export
	if older {
		export = shelf.table.ExportWithoutEntries
	}
	now := g.node.clock.Now()
	for {
		p := head
		p.First = len(puts) == 0
		var taken int
		p.Blob, taken = export(head.Partition, ids, now, nil, ownership.MaxPutBlob)
		ids = ids[taken:]
		if p.Last = len(ids) == 0; p.Last {
			p.Settled = slices.Clone(shelf.settled[head.Partition])
		}
		if puts = append(puts, p); p.Last {
			return puts
		}
	}
}

// copyTimeout is how long a snapshot may take before it counts as lost.
const copyTimeout = 400 * time.Millisecond

// sendSnapshots sends a batch to one node, and takes in what it says.
func (g *governor) sendSnapshots(ctx context.Context, to string, batch []*snapshot) {
	ctx, cancel := context.WithTimeout(ctx, copyTimeout)
	defer cancel()
	var puts []ownership.Put
	for _, s := range batch {
		puts = append(puts, s.puts...)
	}
	results, err := g.node.putGroups(ctx, to, puts)
	g.step(func(now bucket.Instant) {
		for _, s := range batch {
			result := ownership.PutFailed
			if err == nil {
				result = results[len(s.puts)-1] // that of the last put is that of all
				results = results[len(s.puts):]
			}
			s.landed(g, now, result)
		}
	})
}

// landed takes in what has become of a snapshot.
func (s *snapshot) landed(g *governor, now bucket.Instant, result ownership.PutResult) {
	e := s.estate
	e.flying = false
	switch result {
	case ownership.PutTaken:
		e.unsent = 0
		g.machine.Snapshotted(now, s.Snapshot)
		return
	case ownership.PutRefused:
		g.machine.Missed(s.Snapshot)
	}
	if e.changed.copy != nil {
		for _, id := range s.ids {
			e.changed.copy[id] = struct{}{}
		}
	}
}

// isOlder says that a node is known to speak only frames from before the limits store.
func (n *Node) isOlder(id string) bool {
	l := (*n.ways.Load())[id]
	return l != nil && l.speaksBefore(transport.EntriesVersion)
}

// putGroups sends puts to another node, and returns what it says to each.
func (n *Node) putGroups(ctx context.Context, to string, puts []ownership.Put) (results []ownership.PutResult, err error) {
	l := (*n.ways.Load())[to]
	if l == nil {
		return nil, errNotConnected
	}
	for len(puts) > 0 {
		body, taken := ownership.AppendPuts(nil, puts, transport.MaxCallBody)
		reply, err := l.bulk.call(ctx, transport.PutGroups, body)
		if err != nil {
			return nil, err
		}
		n.counters.putBytes.Add(uint64(len(body)))
		some, err := ownership.DecodeResults(reply, taken)
		if err != nil {
			return nil, err
		}
		results, puts = append(results, some...), puts[taken:]
	}
	return results, nil
}
