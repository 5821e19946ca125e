package envoy

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/node"
)

const (
	pass = rls.RateLimitResponse_OK
	over = rls.RateLimitResponse_OVER_LIMIT
)

// onNode runs a test of the service of a real node, alone, in virtual time.
func onNode(t *testing.T, policies string, test func(t *testing.T, s *Service)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		set, err := policy.Parse("limits.yaml", []byte("version: 1\npolicies:\n"+policies))
		if err != nil {
			t.Fatal(err)
		}
		n, err := node.New(node.Config{Policies: set})
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer n.Close()
		test(t, New(n, Options{}))
	})
}

// ask asks, and returns the overall code and the answer.
func ask(t *testing.T, s *Service, domain string, ds ...*common.RateLimitDescriptor) (rls.RateLimitResponse_Code, *rls.RateLimitResponse) {
	t.Helper()
	out, err := s.ShouldRateLimit(t.Context(), &rls.RateLimitRequest{Domain: domain, Descriptors: ds})
	if err != nil {
		t.Fatal(err)
	}
	return out.GetOverallCode(), out
}

func described(pairs ...string) *common.RateLimitDescriptor {
	return &common.RateLimitDescriptor{Entries: entries(pairs...)}
}

// hitting sets what a descriptor takes, or gives back if it is negative.
func hitting(d *common.RateLimitDescriptor, hits int64) *common.RateLimitDescriptor {
	d.IsNegativeHits = hits < 0
	d.HitsAddend = wrapperspb.UInt64(uint64(max(hits, -hits)))
	return d
}

// TestHitsOnNode: C137. Unset twice, 0 of the descriptor, 0 of the request.
func TestHitsOnNode(t *testing.T) {
	onNode(t, `  p: {when: {domain: edge}, key: [user], limits: [{rate: 5/min, algorithm: fixed_window}]}`, func(t *testing.T, s *Service) {
		for i, step := range []struct {
			d    *common.RateLimitDescriptor
			left uint32
			code rls.RateLimitResponse_Code
		}{
			{described("user", "ann"), 4, pass},
			{described("user", "ann"), 3, pass},
			{hitting(described("user", "ann"), 0), 3, pass},
			{described("user", "ann"), 2, pass}, // 0 of the request can't be told from unset
			{hitting(described("user", "ann"), 2), 0, pass},
			{hitting(described("user", "ann"), 0), 0, over},
			{described("user", "ann"), 0, over},
			{hitting(described("user", "ann"), -3), 3, pass},
			{hitting(described("user", "ann"), -100), 5, pass}, // never more than was taken
			{hitting(described("user", "ann"), 6), 5, over},
			{hitting(described("user", "ann"), 5), 0, pass},
		} {
			code, out := ask(t, s, "edge", step.d)
			if left := out.GetStatuses()[0].GetLimitRemaining(); code != step.code || left != step.left {
				t.Errorf("step %d: %v and %d left, want %v and %d", i, code, left, step.code, step.left)
			}
		}
	})
}

// TestDeniedTakesNothing: a group of 10 and a special of 3 a minute: of 5 calls 3 are admitted, and the group has 7 left (envoyproxy/ratelimit#427,
// #440). What no policy is for is no hindrance.
func TestDeniedTakesNothing(t *testing.T) {
	onNode(t, `
  group: {when: {domain: edge, descriptor: group}, key: [group], limits: [{rate: 10/min, algorithm: fixed_window}]}
  special: {when: {domain: edge, descriptor: "group,special"}, key: [group, special], limits: [{rate: 3/min, algorithm: fixed_window}]}
`, func(t *testing.T, s *Service) {
		for i := range 5 {
			code, out := ask(t, s, "edge", described("group", "g"), described("group", "g", "special", "s"), described("group", "g", "x", "y"))
			want := pass
			if i >= 3 {
				want = over
			}
			if got := out.GetStatuses(); code != want || got[0].GetCode() != pass || got[1].GetCode() != want || got[2].GetCurrentLimit() != nil {
				t.Errorf("call %d: %v, want %v", i, out, want)
			}
		}
		if _, out := ask(t, s, "edge", hitting(described("group", "g"), 0)); out.GetStatuses()[0].GetLimitRemaining() != 7 {
			t.Errorf("the group: %v, want 7 left", out)
		}
	})
}

// TestKeysApart: C103. Each pair of values is another counter, whatever separators are in them, and so is an empty value.
func TestKeysApart(t *testing.T) {
	onNode(t, `
  two: {when: {descriptor: "x,y"}, key: [x, y], limits: [{rate: 1/min, algorithm: fixed_window}]}
  "a_b": {when: {descriptor: a_b}, key: [a_b], limits: [{rate: 1/min, algorithm: fixed_window}]}
  "a": {when: {descriptor: a}, key: [a], limits: [{rate: 1/min, algorithm: fixed_window}]}
  same: {when: {descriptor: "z,z"}, key: [z, "z#2"], limits: [{rate: 1/min, algorithm: fixed_window}]}
`, func(t *testing.T, s *Service) {
		all := [][]string{
			{"x", "a", "y", "bc"}, {"x", "ab", "y", "c"}, {"x", "a:b", "y", "c"}, {"x", "a", "y", "b:c"},
			{"x", "", "y", "c"}, {"x", "c", "y", ""}, {"x", "\x00", "y", "c"}, {"a_b", "c"}, {"a", "b_c"},
			{"z", "1", "z", "2"}, {"z", "2", "z", "1"},
		}
		for _, want := range []rls.RateLimitResponse_Code{pass, over} {
			for _, pairs := range all {
				if code, out := ask(t, s, "edge", described(pairs...)); code != want || out.GetStatuses()[0].GetCurrentLimit() == nil {
					t.Errorf("%q: %v, want %v", pairs, out, want)
				}
			}
		}
	})
}

// TestShadowOnNode: C136. A limit of 2 in shadow mode lets 5 pass, counts 3, and says so to the gateway and not as a denial.
func TestShadowOnNode(t *testing.T) {
	onNode(t, `  p: {when: {domain: edge}, key: [user], shadow: true, limits: [{rate: 2/min, algorithm: fixed_window}]}`, func(t *testing.T, s *Service) {
		denied := 0
		for range 5 {
			code, out := ask(t, s, "edge", described("user", "ann"))
			text := prototext.Format(out)
			if code != pass || strings.Contains(text, "Retry-After") {
				t.Errorf("%s", text)
			}
			if out.GetDynamicMetadata().GetFields()["shadow_denied"].GetBoolValue() {
				denied++
			}
		}
		if got, want := s.Stats(), (Stats{Requests: 5}); denied != 3 || got != want {
			t.Errorf("%d would have been denied, want 3; %+v", denied, got)
		}
	})
}

// TestOverridesOnNode: the limit that a descriptor brings applies in place of the policies', in windows of its own length, and another limit is
// another counter (envoyproxy/ratelimit#1077).
func TestOverridesOnNode(t *testing.T) {
	onNode(t, `  p: {when: {domain: edge}, key: [user], limits: [{rate: 1/min}]}`, func(t *testing.T, s *Service) {
		ours := func(n uint32) *common.RateLimitDescriptor {
			return limited(n, typev3.RateLimitUnit_SECOND, 30, "user", "ann")
		}
		for i := range 6 {
			want := pass
			if i == 5 {
				want = over
			}
			code, out := ask(t, s, "edge", ours(5))
			if got := out.GetStatuses()[0].GetCurrentLimit(); code != want || got.GetRequestsPerUnit() != 5 || got.GetUnitMultiplier().GetValue() != 30 {
				t.Errorf("call %d: %v, want %v", i, out, want)
			}
		}
		if code, out := ask(t, s, "edge", ours(2)); code != pass || out.GetStatuses()[0].GetLimitRemaining() != 1 {
			t.Errorf("another limit: %v", out)
		}
		if code, out := ask(t, s, "edge", described("user", "ann")); code != pass || out.GetStatuses()[0].GetCurrentLimit().GetName() != "p" {
			t.Errorf("the policy: %v", out)
		}
		if code, out := ask(t, s, "edge", limited(0, typev3.RateLimitUnit_DAY, 0, "user", "ann")); code != over {
			t.Errorf("a limit of 0: %v", out)
		}
		time.Sleep(30 * time.Second)
		if code, out := ask(t, s, "edge", ours(5)); code != pass || out.GetStatuses()[0].GetLimitRemaining() != 4 {
			t.Errorf("the next window: %v", out)
		}
	})
}

// TestUnknownDomain: it is admitted without a limit, and counted.
func TestUnknownDomain(t *testing.T) {
	onNode(t, `  p: {when: {domain: edge}, key: [user], limits: [{rate: 1/min}]}`, func(t *testing.T, s *Service) {
		code, out := ask(t, s, "mesh", described("user", "ann"), described("x", "y"))
		if code != pass || len(out.GetStatuses()) != 2 || out.GetStatuses()[0].GetCurrentLimit() != nil || len(out.GetResponseHeadersToAdd()) != 0 {
			t.Errorf("%v", out)
		}
		if got, want := s.Stats(), (Stats{Requests: 1, UnknownDomain: 1}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
}
