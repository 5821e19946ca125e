package envoy

import (
	"context"
	"errors"
	"testing"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
)

// strict complains of requests that a node could not take, and decides by their costs.
type strict struct{ t *testing.T }

func (s strict) CheckTogether(_ context.Context, reqs []policy.Request) []policy.Result {
	out := make([]policy.Result, len(reqs))
	for i, r := range reqs {
		switch {
		case r.Cost < 0 || r.Cost > bucket.MaxTokens || r.CheckOnly && (r.Cost != 0 || r.Refund) || !r.CheckOnly && r.Cost == 0:
			s.t.Errorf("cost %d, check only %v, refund %v", r.Cost, r.CheckOnly, r.Refund)
		case r.Limit != nil && (r.Limit.Validate() != nil || r.Policy == "" || len(r.Parts) != 3 || r.Attributes != nil):
			s.t.Errorf("a limit of its own: %+v", r)
		case r.Limit == nil && (r.Attributes[DomainAttribute] == "" || r.Policy != "" || r.Parts != nil):
			s.t.Errorf("attributes: %+v", r)
		}
		switch r.Cost % 5 {
		case 3:
			out[i].Err = policy.ErrUnavailable
		case 4:
			out[i].Err = errors.New("a fault")
		default:
			out[i].Decision = policy.Decision{Allowed: r.Cost%5 < 2 || r.Refund, DecidedBy: policy.Owner, Policy: "p", LimitName: "l", Limit: r.Cost}
		}
	}
	return out
}

// FuzzShouldRateLimit: whatever a request has in it, the answer has a status for each descriptor and can be sent, or is an error that is not
// UNKNOWN.
func FuzzShouldRateLimit(f *testing.F) {
	for _, in := range []*rls.RateLimitRequest{
		{},
		call("ann", "bob"),
		{Domain: "edge", HitsAddend: 2, Descriptors: []*common.RateLimitDescriptor{{Entries: entries("a", "", "a", "\x00", "domain", "x")}}},
		{Domain: "edge", Descriptors: []*common.RateLimitDescriptor{limited(5, typev3.RateLimitUnit_SECOND, 30, "a", "b"), {IsNegativeHits: true}}},
		{Domain: "edge", Descriptors: []*common.RateLimitDescriptor{limited(5, 9, 0, "a", "b")}},
	} {
		b, err := proto.Marshal(in)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var in rls.RateLimitRequest
		if proto.Unmarshal(b, &in) != nil {
			return
		}
		s := New(strict{t}, Options{})
		out, err := s.ShouldRateLimit(t.Context(), &in)
		stats := s.Stats()
		if err != nil {
			if c := status.Code(err); c == codes.Unknown || c == codes.OK || stats.Errors != 1 {
				t.Fatalf("%v: %+v", err, stats)
			}
			return
		}
		if stats.Errors != 0 || len(out.GetStatuses()) != len(in.GetDescriptors()) || len(out.GetStatuses()) == 0 {
			t.Fatalf("%d statuses of %d descriptors: %+v", len(out.GetStatuses()), len(in.GetDescriptors()), stats)
		}
		overall := rls.RateLimitResponse_OK
		for i, one := range out.GetStatuses() {
			switch {
			case one.GetCode() == rls.RateLimitResponse_UNKNOWN:
				t.Fatalf("descriptor %d: %v", i, one)
			case one.GetCode() == rls.RateLimitResponse_OVER_LIMIT && in.GetDescriptors()[i].GetIsNegativeHits():
				t.Fatalf("descriptor %d gives back: %v", i, one)
			case one.GetCode() == rls.RateLimitResponse_OVER_LIMIT:
				overall = one.GetCode()
			}
		}
		if out.GetOverallCode() != overall {
			t.Fatalf("overall %v, want %v", out.GetOverallCode(), overall)
		}
		if _, err := proto.Marshal(out); err != nil {
			t.Fatal(err)
		}
	})
}
