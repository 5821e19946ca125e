package api

import "sync/atomic"

// ClientStats are what a Client has done so far.
type ClientStats struct {
	// Checks are all, Batches the calls that they went in.
	Checks, Batches uint64
	// ByFallback are the checks that no node has decided, and Errors those without a decision: wrong ones, and those whose caller left.
	ByFallback, Errors uint64
	// Endpoints are the nodes that are known, and Ready those of them that can be asked now.
	Endpoints, Ready int
}

type clientCounts struct{ checks, batches, byRule, errors atomic.Uint64 }

// Stats returns the counts so far.
func (c *Client) Stats() ClientStats {
	n := &c.counts
	s := ClientStats{Checks: n.checks.Load(), Batches: n.batches.Load(), ByFallback: n.byRule.Load(), Errors: n.errors.Load()}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.endpoints {
		s.Endpoints++
		if e.ready {
			s.Ready++
		}
	}
	return s
}
