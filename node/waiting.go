package node

import (
	"context"
	"sync"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/node/ownership"
)

// turns wakes those who wait until the view is another one, or a peer is connected.
type turns struct {
	mu   sync.Mutex
	next chan struct{} // nil if nobody waits
}

// wait returns a channel that is closed at the next turn.
func (t *turns) wait() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next == nil {
		t.next = make(chan struct{})
	}
	return t.next
}

func (t *turns) turn() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next != nil {
		close(t.next)
		t.next = nil
	}
}

// until returns when a check has to be decided, on the timer clock; false if there is no time for another node.
func (n *Node) until(ctx context.Context) (at time.Duration, ok bool) {
	within := n.cfg.Deadline
	if at, ok := ctx.Deadline(); ok {
		within = min(within, time.Until(at)-callerMargin)
	}
	return n.elapsed() + within, within > 0
}

// elsewhere decides a check that this node can't decide at once: by whoever can, now or as soon as there is somebody,
// and if that is too late by the rules. The error is that of ctx.
func (pl *plan) elsewhere(ctx context.Context, q *question, req *policy.Request, d *policy.Decision) error {
	until, ok := pl.node.until(ctx)
	if !ok {
		pl.unreachable(pl.node.view.Load(), q, d)
		return nil
	}
	return pl.seek(ctx, q, req, until, d)
}

// seek asks who decides until somebody has, or it is until.
func (pl *plan) seek(ctx context.Context, q *question, req *policy.Request, until time.Duration, d *policy.Decision) error {
	n := pl.node
	for {
		var done bool
		var err error
		turn := n.turns.wait()
		v := n.view.Load()
		switch owner := v.owner(q.part); {
		case owner == nobody:
		case owner == v.self:
			done = pl.own(q, n.clock.Now(), d)
		case v.links[owner] != nil:
			if c := pl.begin(q, v.links[owner], until); c != nil {
				done, err = pl.finish(ctx, q, req, v.links[owner], c, d)
			}
		}
		if q.told {
			if pl, err = pl.turn(req, q, d); pl != nil && err == nil {
				continue
			}
			done = true
		}
		if done || err != nil {
			return err
		}
		if !n.worthWaiting(v, q.part, until) {
			pl.unreachable(v, q, d)
			return nil
		}
		if err := n.await(ctx, turn, until); err != nil {
			return err
		}
	}
}

// await waits for the next turn, for a moment at most, or until.
func (n *Node) await(ctx context.Context, turn <-chan struct{}, until time.Duration) error {
	moment := time.NewTimer(min(until-n.elapsed(), lookAgainAfter))
	defer moment.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-turn:
	case <-moment.C:
	}
	return nil
}

const (
	// lookAgainAfter is how long a check waits for a turn before its owner is asked again: that may have changed its mind
	// without this node's hearing of it.
	lookAgainAfter = 50 * time.Millisecond
	// takeoverPatience is how much time a check must have left to wait for an unplanned take-over, which needs several
	// tenths of a second.
	takeoverPatience = 100 * time.Millisecond
)

// worthWaiting says whether somebody may decide a partition soon that nobody does now.
func (n *Node) worthWaiting(v *view, part int, until time.Duration) bool {
	left := until - n.elapsed()
	switch g := n.governor; {
	case g == nil || left <= 0 || stage(n.stage.Load()) == ended:
		return false
	case v.owner(part) == v.self || v.route != nil && v.route[part].given:
		return !g.outcast.Load() // it is coming here, or going
	case g.outcast.Load():
		return false
	}
	return left >= min(takeoverPatience, ownership.Fence(len(v.members)))
}
