package node

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/drossel-dev/drossel/transport"
)

const (
	// restoreAskEvery is how often others are asked that have not answered, and restoreTimeout how long each may take.
	restoreAskEvery, restoreTimeout = 100 * time.Millisecond, 2 * time.Second
	// restorePatience is how long others are waited for once a majority has answered.
	restorePatience = time.Second
	// restoreAtOnce is for how many partitions others are asked in a call.
	restoreAtOnce = 64
	// savedFor is how long what was read from disk stays in memory after it was last asked for.
	savedFor = time.Minute
)

// gathered is what was found on disks.
type gathered struct {
	batches map[int][]Batch
	from    []string // whose they are
	missing []string // members that have not answered
}

// gather asks all other nodes, and this one's own disk, for what is on disk of some partitions.
func (n *Node) gather(ctx context.Context, parts []int) (all gathered) {
	all.batches = make(map[int][]Batch)
	add := func(from string, some []Batch) {
		all.from = append(all.from, from)
		for _, b := range some {
			all.batches[b.Partition] = append(all.batches[b.Partition], b)
		}
	}
	roster, err := n.cfg.Groups.Roster()
	if err != nil {
		n.log.Error("who the members were can't be read from disk", "error", err)
	}
	own, err := n.savedOf(parts)
	if err != nil {
		n.log.Error("what was taken of durable limits can't be read from disk", "error", err)
	}
	add(n.name, own)
	begun := n.elapsed()
	asking, failed := make(map[string]bool), make(map[string]bool) // those that have failed are asked again at a tick
	answers := make(chan answered)
	answeredBy := map[string]bool{n.name: true}
	ticks := time.NewTicker(restoreAskEvery)
	defer ticks.Stop()
	var calls sync.WaitGroup
	defer calls.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for {
		open := 0
		for name := range *n.ways.Load() {
			if name == n.name || answeredBy[name] {
				continue
			}
			if !n.governor.isSilent(name) {
				open++
			}
			if !asking[name] {
				asking[name] = true
				calls.Go(func() {
					some, err := n.askSaved(ctx, name, parts)
					select {
					case answers <- answered{name, some, err}:
					case <-ctx.Done():
					}
				})
			}
		}
		all.missing = slices.DeleteFunc(slices.Clone(roster), func(name string) bool { return answeredBy[name] })
		enough := len(roster)-len(all.missing) >= len(roster)/2+1 || len(roster) == 0
		waited := n.elapsed() - begun
		if enough && (open == 0 || waited >= restorePatience) || waited >= n.cfg.JoinTimeout || ctx.Err() != nil {
			slices.Sort(all.from)
			return all
		}
		select {
		case <-ctx.Done():
		case a := <-answers:
			if a.err == nil {
				answeredBy[a.from] = true
				add(a.from, a.batches)
			}
			failed[a.from] = a.err != nil
		case <-ticks.C:
			for name := range failed {
				asking[name] = asking[name] && !failed[name]
			}
			clear(failed)
		}
	}
}

// isSilent says that a member was not heard for so long that it need not be waited for, if others will do.
func (g *governor) isSilent(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.machine.List().Has(name) && !g.machine.Hears(g.node.timer.Now(), name)
}

// answered is what another node has said.
type answered struct {
	from    string
	batches []Batch
	err     error
}

// askSaved asks another node for what is on its disk.
func (n *Node) askSaved(ctx context.Context, name string, parts []int) (all []Batch, err error) {
	ctx, cancel := context.WithTimeout(ctx, restoreTimeout)
	defer cancel()
	for some := range slices.Chunk(parts, restoreAtOnce) {
		l := (*n.ways.Load())[name]
		if l == nil {
			return nil, errNotConnected
		}
		body, err := l.bulk.call(ctx, transport.GetSaved, transport.AppendParts(nil, some))
		if err != nil {
			if errors.Is(err, errNotConnected) || ctx.Err() != nil {
				return nil, err
			}
			n.log.Warn("another node can't say what is on its disk", "other", name, "error", err)
			return all, nil // it may be of an older version
		}
		now := time.Now()
		saved, err := transport.DecodeSaved(body)
		if err != nil {
			return nil, err
		}
		for _, s := range saved {
			if s.Partition < n.cfg.Ring.Partitions {
				all = append(all, Batch{s.Partition, now.Add(-s.Ago), s.Blob})
			}
		}
	}
	return all, nil
}

// giveSaved answers a call that asks what is on this node's disk.
func (n *Node) giveSaved(body []byte) ([]byte, error) {
	parts, err := transport.DecodeParts(body)
	if err != nil || n.cfg.Groups == nil {
		return nil, err
	}
	some, err := n.savedOf(parts)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	out := make([]transport.Saved, len(some))
	for i, b := range some {
		out[i] = transport.Saved{Partition: b.Partition, Ago: max(0, now.Sub(b.Wall)), Blob: b.Blob}
	}
	return transport.AppendSaved(nil, out), nil
}

// saved is what was read from disk, while it is asked for.
type saved struct {
	mu      sync.Mutex
	by      map[int][]Batch // nil if it is not in memory
	forgets *time.Timer
}

// savedOf returns what is on disk of some partitions.
func (n *Node) savedOf(parts []int) (all []Batch, err error) {
	s := &n.saved
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		by := make(map[int][]Batch)
		err := n.cfg.Groups.Batches(func(b Batch) error {
			by[b.Partition] = append(by[b.Partition], b)
			return nil
		})
		if err != nil {
			return nil, err
		}
		s.by = by
		s.forgets = time.AfterFunc(savedFor, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.by = nil
		})
	}
	s.forgets.Reset(savedFor)
	for _, part := range parts {
		all = append(all, s.by[part]...)
	}
	return all, nil
}

// add adds what was written since, if there is something in memory.
func (s *saved) add(some []Batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		return
	}
	for _, b := range some {
		s.by[b.Partition] = append(s.by[b.Partition], b)
	}
}
