package envoy

import (
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// metadata is what filters behind this one, and the access log, can read of the decision. It has nothing in it that a client wrote:
//
//	domain: edge
//	limits:
//	- {descriptor: 0, policy: edge.path, limit: edge.path, allowed: true, decided_by: lease}
//	- {descriptor: 2, policy: trial, limit: trial, allowed: true, decided_by: shadow, shadow_denied: true}
//	shadow_denied: true
//
// limits has the descriptors that some policy was for. descriptor is the place of one in the request, from 0; degraded: true is there if a
// failure rule decided.
func metadata(domain string, a asked, ds []policy.Decision) *structpb.Struct {
	var limits []*structpb.Value
	shadowDenied := false
	for i := range ds {
		d := &ds[i]
		shadowDenied = shadowDenied || d.ShadowDenied
		if d.Policy == "" {
			continue
		}
		one := map[string]*structpb.Value{
			"descriptor": structpb.NewNumberValue(float64(a.places[i])),
			"policy":     structpb.NewStringValue(d.Policy),
			"allowed":    structpb.NewBoolValue(d.Allowed),
			"decided_by": structpb.NewStringValue(d.DecidedBy.String()),
		}
		if d.LimitName != "" {
			one["limit"] = structpb.NewStringValue(d.LimitName)
		}
		if d.ShadowDenied {
			one["shadow_denied"] = structpb.NewBoolValue(true)
		}
		if d.Degraded {
			one["degraded"] = structpb.NewBoolValue(true)
		}
		limits = append(limits, structpb.NewStructValue(&structpb.Struct{Fields: one}))
	}
	all := map[string]*structpb.Value{"domain": structpb.NewStringValue(domain)}
	if len(limits) > 0 {
		all["limits"] = structpb.NewListValue(&structpb.ListValue{Values: limits})
	}
	if shadowDenied {
		all["shadow_denied"] = structpb.NewBoolValue(true)
	}
	return &structpb.Struct{Fields: all}
}
