package node

import (
	"context"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/bucket/table"
	"github.com/drossel-dev/drossel/transport"
)

// call is a check on its way to its owner and back. Whoever takes it out of its link, under the link's lock, completes
// it: an answer, a sweep of deadlines, the end of the link, or the caller who gives up. So it is completed once.
type call struct {
	node    *Node
	check   transport.Check
	group   *table.Group
	begun   time.Duration // on the node's timer clock
	asked   bucket.Instant
	expires time.Duration // on the node's timer clock
	answer  transport.Answer
	done    chan struct{} // one token when complete; unused if relay is set

	relay       *inbound // whom to answer, for another node's check that is passed on
	relayNumber uint64
	to          string // the stable id of the node it is passed on to

	place int  // index in the queue, or slot once sent
	sent  bool // which of the two
}

// newCall returns a call to be filled in, used before or not. Calls belong to their node: they are never handed to
// another one's.
func (n *Node) newCall() *call {
	if c, ok := n.calls.Get().(*call); ok {
		return c
	}
	return &call{node: n, done: make(chan struct{}, 1)}
}

// complete hands the answer to whoever waits.
func (c *call) complete() {
	if c.relay != nil {
		c.relay.relayed(c)
		return
	}
	c.done <- struct{}{}
}

func (c *call) fail(s transport.Status) {
	c.answer = transport.Answer{Status: s}
	c.complete()
}

// recycle makes a completed call ready for another check. Nobody else holds it any more.
func (c *call) recycle() {
	*c = call{node: c.node, done: c.done}
	c.node.calls.Put(c)
}

// begin sends a check to its owner. It returns nil if the link takes no more.
func (pl *plan) begin(q *question, l *link, until time.Duration) *call {
	n := pl.node
	now := n.elapsed()
	if until <= now {
		return nil
	}
	if pl.group.Entry() != 0 && l.speaksBefore(transport.EntriesVersion) || q.refund && l.speaksBefore(transport.RefundsVersion) {
		return nil
	}
	c := n.newCall()
	c.group, c.begun, c.expires = pl.group, now, until
	c.check = transport.Check{ID: q.id, Cost: q.cost, Costs: q.each, Look: q.look, Refund: q.refund, Leases: q.leases, Demand: q.demand}
	if q.hold != nil {
		c.check.Hold, c.check.Life = q.hold.id, q.hold.life
	}
	c.asked = n.clock.Now()
	if !l.enqueue(c) {
		c.recycle()
		return nil
	}
	return c
}

// finish waits for the answer. done says that it decides, or tells the question that the key has other limits; if not, somebody else may
// decide. The error is that of ctx.
func (pl *plan) finish(ctx context.Context, q *question, req *policy.Request, l *link, c *call, d *policy.Decision) (done bool, err error) {
	select {
	case <-c.done:
	case <-ctx.Done():
		abandoned := l.abandon(c)
		if !abandoned {
			<-c.done // it is being completed this moment
		}
		if abandoned || !q.shadow { // whose answer is welcome, late as it is
			c.recycle()
			q.forget(l)
			return false, ctx.Err()
		}
	}
	a, begun, asked := c.answer, c.begun, c.asked
	c.recycle()
	if a.Status == transport.OtherLimits {
		q.toldOf(pl.node, a.Entry)
		return true, nil
	}
	if a.Status != transport.Decided || int(a.Which) >= len(pl.limits) {
		pl.node.counters.fault(a.Status)
		if a.Status == transport.Unreachable {
			q.forget(l)
		}
		if a.Status == transport.Full { // it would be the next time
			pl.unreachable(pl.node.view.Load(), q, d)
		}
		return a.Status == transport.Full, nil
	}
	took := pl.node.elapsed() - begun
	pl.node.counters.forwardLatency.observe(took)
	by := l.member.ID
	if a.By != "" {
		by = a.By
	} else {
		l.trip.observe(took)
		pl.answered(l, q, req, &a)
	}
	if q.hold != nil {
		q.hold.heldBy(l, &a, asked)
	}
	pl.tell(d, q.refunded(a.Decision), int(a.Which), policy.Owner, by)
	pl.count(q, d.Allowed, decidedElsewhere)
	return true, nil
}

// elapsed is the timer clock: time since the node was made. Unlike the decision clock it is always the machine's.
func (n *Node) elapsed() time.Duration { return time.Since(n.born) }
