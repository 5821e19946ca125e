package envoy

import (
	"errors"
	"math"
	"strings"
	"testing"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
)

// ofUser is a descriptor of one entry.
func ofUser(name string) *common.RateLimitDescriptor {
	return &common.RateLimitDescriptor{Entries: entries("user", name)}
}

// TestHits: C137, what a call takes.
func TestHits(t *testing.T) {
	own := wrapperspb.UInt64
	for name, tt := range map[string]struct {
		call     uint32
		own      *wrapperspb.UInt64Value
		negative bool
		want     *policy.Request // nil if nobody is asked
	}{
		"unset":                  {0, nil, false, &policy.Request{Cost: 1}},
		"of the call":            {7, nil, false, &policy.Request{Cost: 7}},
		"of the descriptor":      {7, own(3), false, &policy.Request{Cost: 3}},
		"0 of the descriptor":    {7, own(0), false, &policy.Request{CheckOnly: true}},
		"beyond all limits":      {0, own(math.MaxUint64), false, &policy.Request{Cost: bucket.MaxTokens}},
		"refund":                 {0, own(3), true, &policy.Request{Cost: 3, Refund: true}},
		"refund of the call":     {2, nil, true, &policy.Request{Cost: 2, Refund: true}},
		"refund of nothing":      {2, own(0), true, nil},
		"refund beyond anything": {0, own(math.MaxUint64), true, &policy.Request{Cost: bucket.MaxTokens, Refund: true}},
	} {
		d := ofUser("ann")
		d.HitsAddend, d.IsNegativeHits = tt.own, tt.negative
		a, err := requests(&rls.RateLimitRequest{Domain: "edge", HitsAddend: tt.call, Descriptors: []*common.RateLimitDescriptor{d}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var want []policy.Request
		if tt.want != nil {
			tt.want.Attributes = map[string]string{"domain": "edge", "descriptor": "user", "user": "ann"}
			want = []policy.Request{*tt.want}
		}
		if diff := cmp.Diff(want, append([]policy.Request(nil), a.reqs...)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

func TestWrongRequests(t *testing.T) {
	many := func(n int) (all []*common.RateLimitDescriptor) {
		for range n {
			all = append(all, ofUser("ann"))
		}
		return all
	}
	limited := func(l *common.RateLimitDescriptor_RateLimitOverride) []*common.RateLimitDescriptor {
		d := ofUser("ann")
		d.Limit = l
		return []*common.RateLimitDescriptor{ofUser("bob"), d}
	}
	type override = common.RateLimitDescriptor_RateLimitOverride
	for name, tt := range map[string]struct {
		domain      string
		descriptors []*common.RateLimitDescriptor
		want        string // "" if nothing is wrong
	}{
		"no domain":           {"", many(1), "domain is empty"},
		"no descriptors":      {"edge", nil, "descriptors is empty"},
		"the most":            {"edge", many(MaxDescriptors), ""},
		"too many":            {"edge", many(MaxDescriptors + 1), "65 descriptors, want at most 64"},
		"no entries":          {"edge", []*common.RateLimitDescriptor{{}}, ""},
		"nothing":             {"edge", []*common.RateLimitDescriptor{nil}, ""},
		"no key":              {"edge", []*common.RateLimitDescriptor{{Entries: entries("a", "1", "", "2")}}, "descriptor 1: entry 2: key is empty"},
		"too many entries":    {"edge", []*common.RateLimitDescriptor{{Entries: entries(make([]string, 2*MaxEntries+2)...)}}, "65 entries"},
		"no unit":             {"edge", limited(&override{RequestsPerUnit: 5}), "descriptor 2: limit: unit UNKNOWN: want SECOND"},
		"unit of the future":  {"edge", limited(&override{RequestsPerUnit: 5, Unit: 99}), "descriptor 2: limit: unit 99: want SECOND"},
		"no unit at all":      {"edge", limited(&override{Unit: 1, UnitMultiplier: wrapperspb.UInt32(0)}), "unit_multiplier 0: want 1 or more"},
		"longer than history": {"edge", limited(&override{Unit: 6, UnitMultiplier: wrapperspb.UInt32(293)}), "unit_multiplier 293: want"},
		"a long time":         {"edge", limited(&override{Unit: 6, UnitMultiplier: wrapperspb.UInt32(292)}), ""},
	} {
		_, err := requests(&rls.RateLimitRequest{Domain: tt.domain, Descriptors: tt.descriptors})
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tt.want != "" && (!errors.Is(err, policy.ErrInvalid) || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}
