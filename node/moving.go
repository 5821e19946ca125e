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

const (
	// moveRetry is how long is waited before groups that did not arrive are sent again.
	moveRetry   = 20 * time.Millisecond
	moveTimeout = 2 * time.Second
	// fewLeft is how many changed groups may be left when a partition is frozen, and moveRounds after how many rounds it is
	// however many are.
	fewLeft    = 64
	moveRounds = 4
)

// stream brings a partition to its next owner: everything, then what has changed meanwhile, and when that is little the
// partition is frozen and the rest follows. It ends with ctx, or when all is there.
func (g *governor) stream(ctx context.Context, a *ownership.Stream) {
	if !g.awaitRestored(ctx, a.Partition) {
		return
	}
	head := ownership.Put{Snapshot: ownership.Snapshot{Partition: a.Partition, Claim: a.Claim}, Stage: true, For: a.To}
	for ctx.Err() == nil {
		if g.streamOnce(ctx, a, head) {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(moveRetry):
		}
	}
}

// streamOnce tries it once. What was frozen already stays so, and is sent as a whole again.
func (g *governor) streamOnce(ctx context.Context, a *ownership.Stream, head ownership.Put) (done bool) {
	part := a.Partition
	ids, frozen := g.beginStream(ctx, part)
	for round := 0; !frozen; round++ {
		if !g.sendStaged(ctx, a, ids, head, round == 0, false) {
			return false
		}
		if ids = g.changedMeanwhile(ctx, part); len(ids) <= fewLeft || round == moveRounds {
			if frozen = g.freeze(ctx, a); !frozen {
				return ctx.Err() != nil
			}
			ids = append(ids, g.changedMeanwhile(ctx, part)...)
			if !g.sendStaged(ctx, a, ids, head, false, true) {
				return false
			}
			g.stepIf(ctx, func(now bucket.Instant) { g.machine.Staged(now, part, a.Claim, a.To) })
			return true
		}
	}
	if !g.sendStaged(ctx, a, ids, head, true, true) {
		return false
	}
	g.stepIf(ctx, func(now bucket.Instant) { g.machine.Staged(now, part, a.Claim, a.To) })
	return true
}

// stepIf is step, unless what it is for has ended.
func (g *governor) stepIf(ctx context.Context, do func(now bucket.Instant)) {
	g.step(func(now bucket.Instant) {
		if ctx.Err() == nil {
			do(now)
		}
	})
}

// beginStream returns all groups of a partition, and says whether it is frozen already.
func (g *governor) beginStream(ctx context.Context, part int) (ids []bucket.ID, frozen bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if ctx.Err() != nil {
		return nil, false
	}
	if g.machine.Holds(part) {
		g.track(part)
		g.collect(part)
		g.estates[part].changed.stream = make(map[bucket.ID]struct{})
	} else {
		frozen = true
	}
	return g.node.owned.IDs(part, nil), frozen
}

// changedMeanwhile returns the groups that have changed since they were last sent to the next owner.
func (g *governor) changedMeanwhile(ctx context.Context, part int) []bucket.ID {
	g.mu.Lock()
	defer g.mu.Unlock()
	if ctx.Err() != nil {
		return nil
	}
	g.collect(part)
	changed := g.estates[part].changed.stream
	ids := slices.Collect(maps.Keys(changed))
	clear(changed)
	return ids
}

// freeze ends deciding here, if the machine still agrees.
func (g *governor) freeze(ctx context.Context, a *ownership.Stream) (frozen bool) {
	g.stepIf(ctx, func(now bucket.Instant) {
		g.machine.Streamed(now, a.Partition, a.Claim, a.To)
		frozen = !g.machine.Holds(a.Partition)
	})
	return frozen && ctx.Err() == nil
}

// sendStaged sends groups to be staged.
func (g *governor) sendStaged(ctx context.Context, a *ownership.Stream, ids []bucket.ID, head ownership.Put, first, last bool) bool {
	ctx, cancel := context.WithTimeout(ctx, moveTimeout)
	defer cancel()
	for more := true; more; {
		g.mu.Lock()
		if ctx.Err() != nil {
			g.mu.Unlock()
			return false
		}
		some := ids[:min(len(ids), exportGroups)]
		ids = ids[len(some):]
		puts := g.export(held, some, head, g.node.isOlder(a.To.ID))
		g.mu.Unlock()
		more = len(ids) > 0
		for i := range puts {
			puts[i].First = first && i == 0
			puts[i].Last = last && !more && i == len(puts)-1
		}
		first = false
		results, err := g.node.putGroups(ctx, a.To.ID, puts)
		if err != nil || slices.Contains(results, ownership.PutRefused) {
			return false
		}
	}
	return true
}

// exportGroups is how many groups are copied with the governor locked.
const exportGroups = 4096

// fetch brings the copy that another node keeps here.
func (g *governor) fetch(ctx context.Context, a *ownership.Fetch) {
	ctx, cancel := context.WithTimeout(ctx, copyTimeout)
	defer cancel()
	var puts []ownership.Put
	l := (*g.node.ways.Load())[a.From]
	err := errNotConnected
	if l != nil {
		var body []byte
		if body, err = l.bulk.call(ctx, transport.GetGroups, ownership.AppendGet(nil, a.Copy)); err == nil {
			puts, err = ownership.DecodePuts(body)
		}
	}
	ok := err == nil && len(puts) > 0
	g.step(func(now bucket.Instant) {
		if ctx.Err() != nil && g.estates[a.Partition].cancel == nil {
			return
		}
		if ok {
			g.shelves.clear(a.Partition, kept)
			for _, p := range puts {
				err = g.shelves.put(a.Partition, kept, p.Blob, g.node.clock.Now())
				g.shelves[kept].settled[a.Partition] = p.Settled
			}
		}
		g.machine.Fetched(now, a.Partition, a.From, a.Copy, ok)
	})
}
