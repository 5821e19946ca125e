package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/api/drosselv1"
)

// maxCall is how large a call is at most, in bytes: a server reads 4 MiB.
const maxCall = 3 << 20

// window is how many calls an endpoint has under way: while it answers one, the next is on its way.
const window = 2

// sendLocked sends what waits to endpoints that can be asked.
func (c *Client) sendLocked() {
	now := time.Now()
	if len(c.queue) >= c.cfg.MaxWaiting || len(c.queue) > 0 && c.queue[0].isOver(now) { // nor does anybody wait for others as old
		c.queue = slices.DeleteFunc(c.queue, func(a *asking) bool { return a.isOver(now) })
	}
	for _, anyhow := range []bool{false, true} { // those that rest, if no other can be asked
		for range c.endpoints {
			if len(c.queue) == 0 {
				return
			}
			e := c.endpoints[c.turn%len(c.endpoints)]
			c.turn++
			for len(c.queue) > 0 && e.takes(now, anyhow) {
				batch := c.takeLocked(e)
				if len(batch) == 0 {
					break
				}
				e.underWay++
				c.work.Go(func() { c.send(e, batch) }) // ends with the answer, or the deadline
				if e.underWay == 1 {
					break // the others first
				}
			}
		}
		if slices.ContainsFunc(c.endpoints, func(e *endpoint) bool { return e.ready && e.rest == 0 }) {
			return
		}
	}
}

// isOver says whether nobody waits for a check any more.
func (a *asking) isOver(now time.Time) bool { return a.left.Load() || !now.Before(a.until) }

// takeLocked takes out of the queue what an endpoint may be asked: as much as goes into one call, and nothing that it has refused.
func (c *Client) takeLocked(e *endpoint) (batch []*asking) {
	size := 0
	c.queue = slices.DeleteFunc(c.queue, func(a *asking) bool {
		if a.left.Load() { // it must not be charged
			return true
		}
		take := len(batch) < MaxBatch && size+a.size <= maxCall && !slices.Contains(a.refused, e)
		if take {
			batch, size = append(batch, a), size+a.size
		}
		return take
	})
	return batch
}

// send asks an endpoint, and answers.
func (c *Client) send(e *endpoint, batch []*asking) {
	in := &drosselv1.CheckBatchRequest{Checks: make([]*drosselv1.CheckRequest, len(batch))}
	var until time.Time
	for i, a := range batch {
		in.Checks[i] = a.msg
		if a.until.After(until) {
			until = a.until
		}
	}
	ctx, cancel := context.WithDeadline(c.life, until)
	defer cancel()
	c.counts.batches.Add(1)
	out, err := e.checks.CheckBatch(ctx, in)
	if err == nil && len(out.GetResults()) != len(batch) {
		err = fmt.Errorf("it answered %d of %d checks", len(out.GetResults()), len(batch))
	}
	again := false
	for i, a := range batch {
		var d policy.Decision
		failed := errUndecided
		if err == nil {
			d, failed = read(out.GetResults()[i])
		}
		switch {
		case c.life.Err() != nil:
			a.answer(d, errClosed)
		case errors.Is(failed, policy.ErrUnavailable) && c.refused(e, a): // it was not decided, so another may be asked
			again = true
		case errors.Is(failed, policy.ErrUnavailable):
			a.answer(d, errUndecided)
		default:
			a.answer(d, failed)
		}
	}
	c.mu.Lock()
	e.underWay--
	rests := e.rests(time.Now(), err, again)
	rest, closes := e.rest, e.leaves && e.underWay == 0
	c.sendLocked()
	c.mu.Unlock()
	if rests {
		c.cfg.Logger.Warn("a node is not asked for a while, but if no other can be", "endpoint", e.addr, "err", cause(err), "rest", rest)
	}
	if closes {
		e.conn.Close()
	}
}

// refused puts a check back that an endpoint has refused to decide; false if nobody else is left to be asked.
func (c *Client) refused(e *endpoint, a *asking) bool {
	a.refused = append(a.refused, e)
	c.mu.Lock()
	defer c.mu.Unlock()
	others := slices.ContainsFunc(c.endpoints, func(o *endpoint) bool { return !slices.Contains(a.refused, o) })
	if c.closed || !others || a.isOver(time.Now()) {
		return false
	}
	c.queue = append(c.queue, a)
	return true
}

func cause(err error) error {
	if err == nil {
		return policy.ErrUnavailable
	}
	return err
}

// isLate says whether a call failed because there was no answer.
func isLate(err error) bool {
	c := status.Code(err)
	return c == codes.DeadlineExceeded || c == codes.Canceled
}
