package node

import (
	"context"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/node/ownership"
)

// carryOut does with the groups of a partition what the machine wants. The governor is locked: what takes long is done in
// a goroutine, which ends with the node or when something else becomes of the partition.
func (g *governor) carryOut(now bucket.Instant, a ownership.Act) {
	n, s := g.node, &g.shelves
	switch a := a.(type) {
	case *ownership.Open:
		if r := g.estates[a.Partition].restoring; r != nil {
			r.open, r.term = true, a.Claim.Term
			return
		}
		g.openPartition(a.Partition, a.Claim.Term)
	case *ownership.Pause:
		if r := g.estates[a.Partition].restoring; r != nil {
			r.open = false
		}
		g.estates[a.Partition].open = false
		n.owned.Close(a.Partition)
	case *ownership.Mint:
		g.reset(a.Partition)
		switch a.From {
		case ownership.Kept:
			s.move(a.Partition, kept, held)
		case ownership.Nothing:
			s.clear(a.Partition, held)
			g.restore(a.Partition, a.Founding)
		}
		s.clear(a.Partition, kept)
		if !a.Founding {
			if g.estates[a.Partition].restoring == nil {
				n.owned.TakenOver(a.Partition, n.clock.Now())
			}
			if a.From == ownership.Nothing {
				n.askOffer(a.Partition)
			}
			n.log.Debug("partition taken over", "partition", a.Partition, "from", a.Lost, "by", a.From, "term", a.Claim.Term)
		}
	case *ownership.Install:
		g.reset(a.Partition)
		s.move(a.Partition, staged, held)
		s.clear(a.Partition, kept)
	case *ownership.Stream:
		g.end(a.Partition)
		g.estates[a.Partition].begun = now
		g.task(a.Partition, func(ctx context.Context) { g.stream(ctx, a) })
	case *ownership.Stop:
		g.end(a.Partition)
		g.estates[a.Partition].changed.stream = nil
	case *ownership.Freeze:
		g.estates[a.Partition].open = false
		n.owned.Close(a.Partition) // and stream, which has said that it was due, sends the rest
	case *ownership.HandedOver:
		g.took.observe(time.Duration(now - g.estates[a.Partition].begun))
		g.reset(a.Partition)
		s.move(a.Partition, held, kept)
		g.parking.free(a.Partition)
	case *ownership.Shut:
		n.owned.Close(a.Partition)
		n.askOffer(a.Partition)
		g.reset(a.Partition)
		s.move(a.Partition, held, kept)
		g.parking.free(a.Partition)
	case *ownership.Fetch:
		g.reset(a.Partition)
		g.task(a.Partition, func(ctx context.Context) { g.fetch(ctx, a) })
	case *ownership.Discard:
		s.clear(a.Partition, kept)
	case *ownership.Renewed:
		n.log.Warn("this node goes on as a new incarnation, and owns nothing until it is given", "was", a.Was, "is", a.Is,
			"why", a.Why)
	}
}

// task runs something for a partition in a goroutine of its own, until it is done or ended.
func (g *governor) task(part int, do func(ctx context.Context)) {
	ctx, cancel := context.WithCancel(g.node.life)
	g.estates[part].cancel = cancel
	g.node.goroutines.Go(func() {
		defer cancel()
		do(ctx)
	})
}

// end ends what is being done for a partition.
func (g *governor) end(part int) {
	if e := g.estates[part]; e.cancel != nil {
		e.cancel()
		e.cancel = nil
	}
}

// reset ends what is being done, and forgets what was known about the partition's copies.
func (g *governor) reset(part int) {
	g.end(part)
	g.estates[part] = new(estate)
}
