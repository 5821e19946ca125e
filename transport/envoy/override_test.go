package envoy

import (
	"slices"
	"strings"
	"testing"
	"time"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
)

// limited is a descriptor that brings a limit: so many in times units.
func limited(n uint32, unit typev3.RateLimitUnit, times uint32, pairs ...string) *common.RateLimitDescriptor {
	d := &common.RateLimitDescriptor{
		Entries: entries(pairs...), Limit: &common.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: n, Unit: unit},
	}
	if times != 0 {
		d.Limit.UnitMultiplier = wrapperspb.UInt32(times)
	}
	return d
}

func TestLimitOf(t *testing.T) {
	for _, tt := range []struct {
		n     uint32
		unit  typev3.RateLimitUnit
		times uint32
		per   time.Duration
	}{
		{5, typev3.RateLimitUnit_SECOND, 0, time.Second},
		{5, typev3.RateLimitUnit_SECOND, 30, 30 * time.Second},
		{1<<32 - 1, typev3.RateLimitUnit_MINUTE, 1, time.Minute},
		{0, typev3.RateLimitUnit_HOUR, 0, time.Hour},
		{1, typev3.RateLimitUnit_DAY, 2, 48 * time.Hour},
		{1, typev3.RateLimitUnit_MONTH, 0, 30 * 24 * time.Hour},
		{1, typev3.RateLimitUnit_YEAR, 0, 365 * 24 * time.Hour},
	} {
		want := bucket.Limit{Algorithm: bucket.FixedWindow, Count: int64(tt.n), Burst: int64(tt.n), Per: tt.per}
		got, err := limitOf(limited(tt.n, tt.unit, tt.times).GetLimit())
		if err != nil || got != want || got.Validate() != nil {
			t.Errorf("%d per %d %v: %+v %v %v, want %+v", tt.n, tt.times, tt.unit, got, err, got.Validate(), want)
		}
	}
}

// TestOverrideKeys: C103. Descriptors with the same counter are those of the same domain, entries and limit, and no value can be read from a key.
func TestOverrideKeys(t *testing.T) {
	const second, minute = typev3.RateLimitUnit_SECOND, typev3.RateLimitUnit_MINUTE
	type call struct {
		domain string
		d      *common.RateLimitDescriptor
	}
	one := call{"edge", limited(60, second, 60, "token", "sk-secret", "b", "c")}
	key := func(c call) (parts []string) {
		var req policy.Request
		if err := describe(&req, c.domain, c.d); err != nil {
			t.Fatal(err)
		}
		if req.Policy != overrides || req.Limit == nil || req.Attributes != nil {
			t.Fatalf("%+v", req)
		}
		if text := strings.Join(req.Parts, "|"); strings.Contains(text, "sk-secret") {
			t.Errorf("the key %q has a value in it", text)
		}
		return req.Parts
	}
	if same := (call{"edge", limited(60, minute, 0, "token", "sk-secret", "b", "c")}); !slices.Equal(key(one), key(same)) {
		t.Errorf("60 per 60 s and 60 per minute: %q and %q, want the same", key(one), key(same))
	}
	seen := map[string]string{}
	for name, c := range map[string]call{
		"it":            one,
		"other domain":  {"mesh", one.d},
		"other limit":   {"edge", limited(61, second, 60, "token", "sk-secret", "b", "c")},
		"other window":  {"edge", limited(60, second, 61, "token", "sk-secret", "b", "c")},
		"other value":   {"edge", limited(60, second, 60, "token", "sk-secret2", "b", "c")},
		"other order":   {"edge", limited(60, second, 60, "b", "c", "token", "sk-secret")},
		"fewer entries": {"edge", limited(60, second, 60, "token", "sk-secret")},
		"none":          {"edge", limited(60, second, 60)},
		"a_b c":         {"edge", limited(60, second, 60, "a_b", "c")},
		"a b_c":         {"edge", limited(60, second, 60, "a", "b_c")},
		"a:b c":         {"edge", limited(60, second, 60, "k", "a:b", "l", "c")},
		"a b:c":         {"edge", limited(60, second, 60, "k", "a", "l", "b:c")},
		"empty value":   {"edge", limited(60, second, 60, "a", "", "b", "c")},
		"empty value 2": {"edge", limited(60, second, 60, "a", "b", "c", "")},
	} {
		text := strings.Join(key(c), "\x00")
		if other, twice := seen[text]; twice {
			t.Errorf("%s and %s share the key %q", name, other, text)
		}
		seen[text] = name
	}
}
