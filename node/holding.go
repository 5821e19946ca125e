package node

import (
	"errors"
	"slices"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
	"github.com/drossel-dev/drossel/bucket/table"
	"github.com/drossel-dev/drossel/transport"
)

// pledge is what a question asks to be taken aside instead of taken, because other questions of the same check have to be
// answered as well; and where that was done.
type pledge struct {
	id    lease.HoldID
	life  time.Duration
	costs []int64 // of all limits

	at    heldAt
	ends  bucket.Instant // before that it may be committed
	purse *purse         // heldInPurse
	aside lease.Hold
	owner *link          // heldElsewhere
	taken bucket.Instant // heldInStore: when, there
	shard shard          // where
	op    strictOp       // the take that Redis has not answered, if the question is asked instead of it
	by    where          // who has decided
}

// heldAt says where something is held.
type heldAt uint8

const (
	heldNowhere   heldAt = iota // it was denied, or allowed by a rule
	heldHere                    // in a bucket that this node owns
	heldInPurse                 // of what its owner has lent this node
	heldElsewhere               // at its owner
	heldInShare                 // in this node's own share
	heldInStore                 // taken in Redis
)

// hold has the costs of a question taken aside in a table of this node.
func (n *Node) hold(t *table.Table, at heldAt, g *table.Group, q *question, now bucket.Instant, costs []int64) (a bucket.Decision, which int, err error) {
	h := q.hold
	held, err := t.Hold(q.part, q.id, g, now, table.Asker{}, h.id, h.life, costs)
	if err == nil && held.Decision.Allowed {
		h.at, h.ends = at, now+bucket.Instant(held.Life)
	}
	return held.Decision, held.Which, err
}

// holdIn is Borrower.Check for a question whose costs are to be taken aside. The purse is locked.
func (q *question) holdIn(p *purse, now bucket.Instant, trip time.Duration) lease.Verdict {
	h := q.hold
	aside, v := p.HoldCheck(now, q.cost, h.costs, trip)
	if v == lease.Spent {
		h.at, h.purse, h.aside, h.ends = heldInPurse, p, aside, now+bucket.Instant(h.life)
	}
	return v
}

// heldBy notes that an owner has answered a hold.
func (h *pledge) heldBy(l *link, a *transport.Answer, sent bucket.Instant) {
	if !a.Decision.Allowed {
		return
	}
	h.at, h.owner, h.ends = heldElsewhere, l, sent+bucket.Instant(a.Life)
	switch n := l.node; a.By {
	case "":
	case n.name: // it was passed back here
		h.at = heldHere
	default: // it was passed on
		h.owner = (*n.ways.Load())[a.By]
	}
}

// stands says whether what is held may be committed at now.
func (h *pledge) stands(now bucket.Instant) bool { return h.at == heldNowhere || now < h.ends }

// end spends what is held, or puts it back; false if it was lost meanwhile, so that the check must not be admitted.
func (n *Node) end(pl *plan, q *question, now bucket.Instant, commit bool) bool {
	switch {
	case q.instead && commit && q.hold.at != heldNowhere:
		n.oweStore(pl, q.hold.op, q.hold.costs)
	case q.instead:
		n.ops.end(q.hold.op.shard.id, q.hold.op.number)
	}
	switch h := q.hold; h.at {
	case heldInStore:
		if !commit {
			pl.giveBack(q)
		}
	case heldHere:
		n.owned.EndHold(q.part, q.id, now, h.id, commit)
	case heldElsewhere:
		if h.owner != nil {
			h.owner.end(transport.HoldEnd{ID: q.id, Hold: h.id, Commit: commit})
		}
	case heldInShare:
		n.local.EndHold(q.part, q.id, now, h.id, commit)
		if commit {
			n.owe(q.part, q.id, pl.group, slices.Max(h.costs), h.costs...)
		}
	case heldInPurse:
		s := n.purses.shard(q.part)
		s.mu.Lock()
		defer s.mu.Unlock()
		if commit {
			return h.purse.Commit(now, h.aside)
		}
		h.purse.PutBack(now, h.aside)
	}
	return true
}

// end has the owner told how a hold has ended. If it can't be, what is held is spent there in its time.
func (l *link) end(e transport.HoldEnd) {
	l.mu.Lock()
	if l.state >= down || len(l.ends) >= maxWaiting {
		l.mu.Unlock()
		return
	}
	l.ends = append(l.ends, e)
	first := len(l.ends) == 1
	l.mu.Unlock()
	if first {
		time.AfterFunc(endsDelay, l.signal)
	}
}

// endsDelay is how long the end of a hold waits for others, and for a check that goes the same way.
const endsDelay = time.Millisecond

// sendEnds sends what there is to say of holds; false if there is nothing.
func (l *link) sendEnds(s transport.Stream, f *transport.HoldsFrame, b []byte) ([]byte, bool, error) {
	l.mu.Lock()
	n := min(len(l.ends), transport.MaxHoldEnds)
	f.Ends = append(f.Ends[:0], l.ends[:n]...)
	l.ends = slices.Delete(l.ends, 0, n)
	l.mu.Unlock()
	if n == 0 {
		return b, false, nil
	}
	b = transport.AppendHolds(b[:0], f)
	return b, true, s.Send(b)
}

// hold answers a check of several keys of another node. It is false if this node may not decide.
func (in *inbound) hold(c *transport.Check, part int, g *table.Group, now bucket.Instant) (a transport.Answer, ok bool) {
	costs := c.Costs
	if len(costs) == 0 {
		costs = slices.Repeat([]int64{c.Cost}, len(g.Limits()))
	}
	who := table.Asker{Name: in.from, Leases: c.Leases, Demand: c.Demand}
	held, err := in.node.owned.Hold(part, c.ID, g, now, who, c.Hold, c.Life, costs)
	a = transport.Answer{Number: c.Number, Which: uint8(held.Which), Decision: held.Decision}
	switch {
	case errors.Is(err, table.ErrClosed):
		return a, false
	case err != nil:
		in.fault(&a, err)
	case held.Decision.Allowed:
		a.Life = held.Life
	}
	a.Offer = c.Leases && held.Offer
	return a, true
}

// endHolds takes in how holds of another node have ended.
func (in *inbound) endHolds(f *transport.HoldsFrame) {
	n := in.node
	now := n.clock.Now()
	for i := range f.Ends {
		e := &f.Ends[i]
		n.owned.EndHold(n.partitions.Partition(e.ID.Bytes()), e.ID, now, e.Hold, e.Commit)
	}
}
