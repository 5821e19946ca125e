package envoy

import (
	"testing"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// BenchmarkShouldRateLimit is what the adapter adds to a call, without gRPC and the limiter: two descriptors, one with two entries.
func BenchmarkShouldRateLimit(b *testing.B) {
	in := call("ann", "bob")
	in.Descriptors[1].Entries = entries("user", "bob", "path", "/v1/things")
	ok := policy.Decision{Allowed: true, DecidedBy: policy.Lease, Policy: "edge.user", LimitName: "edge.user", Limit: 5, Remaining: 3, Window: day}
	for name, lim := range map[string]fixed{"admitted": said(ok, ok), "denied": said(ok, denial())} {
		b.Run(name, func(b *testing.B) {
			s := New(lim, Options{})
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.ShouldRateLimit(b.Context(), in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
