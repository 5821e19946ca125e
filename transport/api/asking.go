package api

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/api/drosselv1"
)

// asking is a check that waits for its answer. Whoever takes it out of the queue answers it.
type asking struct {
	msg     *drosselv1.CheckRequest // shares nothing with the caller, who may have left
	size    int                     // in bytes, of it in a call
	until   time.Time
	refused []*endpoint // that would not decide it
	left    atomic.Bool // whoever asked waits no more
	done    chan struct{}
	d       policy.Decision
	err     error
}

func (a *asking) answer(d policy.Decision, err error) {
	a.d, a.err = d, err
	close(a.done)
}

// ask has a request asked.
func (c *Client) ask(ctx context.Context, req *policy.Request) (*asking, error) {
	c.counts.checks.Add(1)
	msg, err := message(req)
	size := 0
	if err == nil {
		size, err = sizeOf(msg)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		c.counts.errors.Add(1)
		return nil, err
	}
	a := &asking{msg: msg, size: size, until: time.Now().Add(c.cfg.Deadline), done: make(chan struct{})}
	if at, ok := ctx.Deadline(); ok && at.Before(a.until) {
		a.until = at
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		c.counts.errors.Add(1)
		return nil, errClosed
	case len(c.queue) >= c.cfg.MaxWaiting:
		c.sendLocked() // some wait no more, and nodes may be asked again
	}
	if len(c.queue) >= c.cfg.MaxWaiting {
		a.answer(policy.Decision{}, errUndecided)
		return a, nil
	}
	c.queue = append(c.queue, a)
	c.sendLocked()
	return a, nil
}

// errUndecided is the error of a check that no node has decided.
var errUndecided = errors.New("no node has decided")

// finish waits for the answer, until the Fallback has to do.
func (c *Client) finish(ctx context.Context, a *asking) (policy.Decision, error) {
	late := time.NewTimer(time.Until(a.until))
	defer late.Stop()
	err := errUndecided
	select {
	case <-a.done:
		err = a.err
	case <-ctx.Done():
		err = ctx.Err()
	case <-late.C:
		if ctx.Err() != nil { // which ends at the same time
			err = ctx.Err()
		}
	}
	a.left.Store(true)
	select {
	case <-a.done: // it was answered in time, with others that were not
		err = a.err
	default:
	}
	switch {
	case err == nil:
		return a.d, nil
	case !errors.Is(err, errUndecided):
		c.counts.errors.Add(1)
		return policy.Decision{}, err
	}
	c.counts.byRule.Add(1)
	switch c.cfg.Fallback {
	case FallbackAllow:
		return policy.Decision{Allowed: true, Degraded: true, DecidedBy: policy.Timeout, Policy: a.msg.GetPolicy()}, nil
	case FallbackDeny:
		return policy.Decision{Degraded: true, DecidedBy: policy.Timeout, Policy: a.msg.GetPolicy(), RetryAfter: time.Second}, nil
	}
	return policy.Decision{}, fmt.Errorf("%w: no node has decided within %v", policy.ErrUnavailable, c.cfg.Deadline)
}
