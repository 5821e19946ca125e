package envoy

import (
	"sync/atomic"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// Stats are what a Service has answered so far, in calls.
type Stats struct {
	// Requests are all calls.
	Requests uint64
	// OverLimit are those that were denied.
	OverLimit uint64
	// UnknownDomain are those of which no descriptor met a policy, and so were admitted: the domain is unknown, or no rule of it is for
	// any of them.
	UnknownDomain uint64
	// Errors are those that were answered by an error.
	Errors uint64
}

type counts struct{ requests, overLimit, unknownDomain, errors atomic.Uint64 }

// Stats returns the counts so far.
func (s *Service) Stats() Stats {
	c := &s.counts
	return Stats{c.requests.Load(), c.overLimit.Load(), c.unknownDomain.Load(), c.errors.Load()}
}

// add counts a call that was decided.
func (c *counts) add(denied bool, ds []policy.Decision) {
	if denied {
		c.overLimit.Add(1)
	}
	met := len(ds) == 0
	for i := range ds {
		met = met || ds[i].DecidedBy != policy.NoPolicy
	}
	if !met {
		c.unknownDomain.Add(1)
	}
}
