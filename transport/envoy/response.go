package envoy

import (
	"math"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/headers"
)

// statuses returns one status for each descriptor, and the code of the whole. One that was not asked about is OK.
func statuses(descriptors int, a asked, ds []policy.Decision) (all []*rls.RateLimitResponse_DescriptorStatus, overall rls.RateLimitResponse_Code) {
	all = make([]*rls.RateLimitResponse_DescriptorStatus, descriptors)
	overall = rls.RateLimitResponse_OK
	for i := range ds {
		s := statusOf(&ds[i])
		if a.reqs[i].Refund { // what gives back is never refused
			s.Code = rls.RateLimitResponse_OK
		}
		if s.Code == rls.RateLimitResponse_OVER_LIMIT {
			overall = s.Code
		}
		all[a.places[i]] = s
	}
	for i, s := range all {
		if s == nil {
			all[i] = &rls.RateLimitResponse_DescriptorStatus{Code: rls.RateLimitResponse_OK}
		}
	}
	return all, overall
}

// statusOf is what is told of one descriptor.
func statusOf(d *policy.Decision) *rls.RateLimitResponse_DescriptorStatus {
	s := &rls.RateLimitResponse_DescriptorStatus{Code: rls.RateLimitResponse_OVER_LIMIT}
	if d.Allowed {
		s.Code = rls.RateLimitResponse_OK
	}
	switch {
	case d.DecidedBy == policy.Exempt:
		s.LimitRemaining = math.MaxUint32
	case d.LimitName != "":
		unit, times := unitOf(d.Window)
		s.CurrentLimit = &rls.RateLimitResponse_RateLimit{
			Name: d.LimitName, RequestsPerUnit: saturated(d.Limit), Unit: unit, UnitMultiplier: times,
		}
		s.LimitRemaining = saturated(d.Remaining)
		s.DurationUntilReset = wholeSeconds(untilReset(d))
	}
	return s
}

// untilReset is when a retry can succeed, after a denial, else when the limit is as if nothing was taken: as in the fields of HTTP.
func untilReset(d *policy.Decision) time.Duration {
	if !d.Allowed && !d.Never {
		return d.RetryAfter
	}
	return d.ResetAfter
}

// wholeSeconds rounds up: Envoy cuts off what is more precise, and its clients would come too early.
func wholeSeconds(d time.Duration) *durationpb.Duration {
	n := int64(d / time.Second)
	if d%time.Second > 0 {
		n++
	}
	return &durationpb.Duration{Seconds: n}
}

func saturated(n int64) uint32 { return uint32(min(max(n, 0), math.MaxUint32)) }

// fields are what the gateway adds to its answer to the client.
func fields(styles []headers.Style, now time.Time, denied bool, ds []policy.Decision) []*core.HeaderValue {
	set := headers.Fields(styles, now, ds...)
	if denied {
		if after := headers.Deny(ds...).RetryAfter; after != "" {
			set = append(set, headers.Field{Name: "Retry-After", Value: after})
		}
	}
	if len(set) == 0 {
		return nil
	}
	all := make([]*core.HeaderValue, len(set))
	for i, f := range set {
		all[i] = &core.HeaderValue{Key: f.Name, Value: f.Value}
	}
	return all
}
