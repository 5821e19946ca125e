package node

import (
	"context"
	"sync"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/bucket/table"
	"github.com/drossel-dev/drossel/transport"
)

// call is a check on its way to its owner and back. Whoever takes it out of its link, under the link's lock, completes
// it: an answer, a sweep of deadlines, the end of the link, or the caller who gives up. So it is completed once.
type call struct {
	check   transport.Check
	group   *table.Group
	begun   time.Duration // on the node's timer clock
	expires time.Duration // on the node's timer clock
	answer  transport.Answer
	done    chan struct{} // one token when complete; unused if relay is set

	relay       *inbound // whom to answer, for another node's check that is passed on
	relayNumber uint64
	to          string // the stable id of the node it is passed on to

	place int  // index in the queue, or slot once sent
	sent  bool // which of the two
}

var calls = sync.Pool{New: func() any { return &call{done: make(chan struct{}, 1)} }}

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
	*c = call{done: c.done}
	calls.Put(c)
}

// forward asks the owner, and decides by the failure rule if that does not answer in time.
func (h *Handle) forward(ctx context.Context, v *view, q *question, l *link) (policy.Decision, error) {
	c := h.begin(ctx, q, l)
	if c == nil {
		return h.unreachable(v, q), ctx.Err()
	}
	return h.finish(ctx, v, q, l, c)
}

// begin sends a check to its owner. It returns nil if there is no time left to, or the link takes no more.
func (h *Handle) begin(ctx context.Context, q *question, l *link) *call {
	n := h.node
	within := n.cfg.Deadline
	now := n.elapsed()
	if at, ok := ctx.Deadline(); ok {
		within = min(within, time.Until(at)-callerMargin)
		if within <= 0 {
			return nil
		}
	}
	c := calls.Get().(*call)
	c.group, c.begun, c.expires = h.group, now, now+within
	c.check = transport.Check{ID: q.id, Cost: q.cost, Look: q.look}
	if !l.enqueue(c) {
		c.recycle()
		return nil
	}
	return c
}

// finish waits for the answer.
func (h *Handle) finish(ctx context.Context, v *view, q *question, l *link, c *call) (policy.Decision, error) {
	select {
	case <-c.done:
	case <-ctx.Done():
		if !l.abandon(c) {
			<-c.done // it is being completed this moment
		}
		c.recycle()
		return policy.Decision{}, ctx.Err()
	}
	a, begun := c.answer, c.begun
	c.recycle()
	if a.Status != transport.Decided || int(a.Which) >= len(h.limits) {
		h.node.counters.fault(a.Status)
		return h.unreachable(v, q), nil
	}
	h.node.counters.forwardLatency.observe(h.node.elapsed() - begun)
	by := l.member.ID
	if a.By != "" {
		by = a.By
	}
	d := h.decision(table.Answer{Decision: a.Decision, Which: int(a.Which)}, policy.Owner, by)
	h.count(q.part, d.Allowed, decidedElsewhere)
	return d, nil
}

// elapsed is the timer clock: time since the node was made. Unlike the decision clock it is always the machine's.
func (n *Node) elapsed() time.Duration { return time.Since(n.made) }

// CheckBatch decides many requests at once, as Check does each, and returns the results in the same order. Requests for
// the same owner travel together. One bad request does not touch the others, and each is charged for itself. Safe for
// concurrent use.
func (n *Node) CheckBatch(ctx context.Context, reqs []policy.Request) []policy.Result {
	results := make([]policy.Result, len(reqs))
	if err := n.accepts(ctx); err != nil {
		for i := range results {
			results[i].Err = err
		}
		return results
	}
	type waiting struct {
		at   int
		h    *Handle
		q    question
		link *link
		call *call
	}
	var away []waiting
	v := n.view.Load()
	now := n.clock.Now()
	for i := range reqs {
		r := &results[i]
		h, err := n.policyOf(&reqs[i])
		if err != nil {
			r.Err = err
			continue
		}
		q, err := h.question(&reqs[i])
		if err != nil {
			r.Err = err
			h.done()
			continue
		}
		switch owner := v.owner(q.part); {
		case owner == v.self:
			r.Decision = h.own(&q, now)
		case owner == nobody:
			r.Decision = h.unreachable(v, &q)
		default:
			if c := h.begin(ctx, &q, v.links[owner]); c != nil {
				away = append(away, waiting{i, h, q, v.links[owner], c})
				continue
			}
			r.Decision = h.unreachable(v, &q)
		}
		h.done()
	}
	for i := range away {
		w := &away[i]
		r := &results[w.at]
		r.Decision, r.Err = w.h.finish(ctx, v, &w.q, w.link, w.call)
		w.h.done()
	}
	return results
}
