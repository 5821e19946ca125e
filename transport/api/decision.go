package api

import (
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/api/drosselv1"
)

// decision returns the message of a decision.
func decision(d policy.Decision) *drosselv1.Decision {
	out := &drosselv1.Decision{
		Allowed:    d.Allowed,
		Limit:      d.Limit,
		Remaining:  d.Remaining,
		ResetAfter: durationpb.New(d.ResetAfter),
		Never:      d.Never,
		LimitName:  d.LimitName,
		Policy:     d.Policy,
		DecidedBy:  drosselv1.DecidedBy(d.DecidedBy), // the numbers are the same
		Degraded:   d.Degraded,
		Node:       d.Node,
		Window:     durationpb.New(d.Window),
		Overage:    d.Overage,
		Unit:       d.Unit,

		ShadowDenied: d.ShadowDenied,
	}
	if !d.Allowed && !d.Never {
		out.RetryAfter = durationpb.New(d.RetryAfter)
	}
	if d.Wait() > 0 {
		out.Wait = durationpb.New(d.Wait())
	}
	return out
}
