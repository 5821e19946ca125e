package door

import (
	"context"
	"sync/atomic"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// Counts are what was asked at one door. The zero value is ready for use. Its methods are safe for concurrent use.
type Counts struct{ allowed, denied, failed, degraded atomic.Uint64 }

// Stats are Counts at an instant.
type Stats struct {
	// Allowed and Denied are the decisions, Failed the checks without one: wrong requests, callers that went away, faults.
	Allowed, Denied, Failed uint64
	// Degraded are the decisions, of those above, that a failure rule made.
	Degraded uint64
}

// Stats returns the counts.
func (c *Counts) Stats() Stats {
	return Stats{c.allowed.Load(), c.denied.Load(), c.failed.Load(), c.degraded.Load()}
}

func (c *Counts) add(d *policy.Decision, err error) {
	switch {
	case err != nil:
		c.failed.Add(1)
		return
	case d.Allowed:
		c.allowed.Add(1)
	default:
		c.denied.Add(1)
	}
	if d.Degraded {
		c.degraded.Add(1)
	}
}

// Limiter decides what doors ask, as a node does.
type Limiter interface {
	Check(ctx context.Context, req policy.Request) (policy.Decision, error)
	CheckBatch(ctx context.Context, reqs []policy.Request) []policy.Result
	CheckTogether(ctx context.Context, reqs []policy.Request) []policy.Result
}

// Of returns lim, with all that is asked of it counted here. Of requests that are decided together each counts for itself.
func (c *Counts) Of(lim Limiter) Limiter { return counted{lim, c} }

type counted struct {
	lim    Limiter
	counts *Counts
}

func (c counted) Check(ctx context.Context, req policy.Request) (policy.Decision, error) {
	d, err := c.lim.Check(ctx, req)
	c.counts.add(&d, err)
	return d, err
}

func (c counted) CheckBatch(ctx context.Context, reqs []policy.Request) []policy.Result {
	return c.all(c.lim.CheckBatch(ctx, reqs))
}

func (c counted) CheckTogether(ctx context.Context, reqs []policy.Request) []policy.Result {
	return c.all(c.lim.CheckTogether(ctx, reqs))
}

func (c counted) all(results []policy.Result) []policy.Result {
	for i := range results {
		c.counts.add(&results[i].Decision, results[i].Err)
	}
	return results
}
