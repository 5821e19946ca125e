package envoy

import (
	"maps"
	"slices"
	"testing"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
)

// entries makes the entries of a descriptor of keys and values in turn.
func entries(pairs ...string) (all []*common.RateLimitDescriptor_Entry) {
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, &common.RateLimitDescriptor_Entry{Key: pairs[i], Value: pairs[i+1]})
	}
	return all
}

func TestAttributes(t *testing.T) {
	for name, tt := range map[string]struct {
		pairs []string
		want  map[string]string
	}{
		"none":           {nil, map[string]string{"domain": "edge", "descriptor": ""}},
		"two":            {[]string{"b", "1", "a", "2"}, map[string]string{"domain": "edge", "descriptor": "b,a", "b": "1", "a": "2"}},
		"twice":          {[]string{"a", "1", "a", "2"}, map[string]string{"domain": "edge", "descriptor": "a,a", "a": "1", "a#2": "2"}},
		"like a number":  {[]string{"a", "1", "a#2", "2"}, map[string]string{"domain": "edge", "descriptor": "a,a%232", "a": "1", "a%232": "2"}},
		"domain":         {[]string{"domain", "x"}, map[string]string{"domain": "edge", "descriptor": "domain", "domain#2": "x"}},
		"descriptor":     {[]string{"descriptor", "x"}, map[string]string{"domain": "edge", "descriptor": "descriptor", "descriptor#2": "x"}},
		"not":            {[]string{"not", "x"}, map[string]string{"domain": "edge", "descriptor": "not", "not#2": "x"}},
		"no name":        {[]string{"a b|c", "x"}, map[string]string{"domain": "edge", "descriptor": "a%20b%7Cc", "a%20b%7Cc": "x"}},
		"pattern":        {[]string{"a*", "x*"}, map[string]string{"domain": "edge", "descriptor": "a%2A", "a%2A": "x*"}},
		"comma":          {[]string{"a,b", "x"}, map[string]string{"domain": "edge", "descriptor": "a%2Cb", "a%2Cb": "x"}},
		"not ASCII":      {[]string{"ü", "ü"}, map[string]string{"domain": "edge", "descriptor": "%C3%BC", "%C3%BC": "ü"}},
		"empty value":    {[]string{"a", ""}, map[string]string{"domain": "edge", "descriptor": "a", "a": "\x00"}},
		"zero byte":      {[]string{"a", "\x00"}, map[string]string{"domain": "edge", "descriptor": "a", "a": "\x00\x00"}},
		"common in URLs": {[]string{":path", "/a?b=c&d"}, map[string]string{"domain": "edge", "descriptor": ":path", ":path": "/a?b=c&d"}},
	} {
		if diff := cmp.Diff(tt.want, attributes("edge", entries(tt.pairs...))); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

// TestAttributesAreInjective: C103. No two descriptors become the same attributes, whatever is in them, and what the importer writes is what
// the service asks.
func TestAttributesAreInjective(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune("ab#2,%_ \x00")), 0, 4, -1), 0, 8)
		a, b := texts.Draw(t, "a"), texts.Draw(t, "b")
		a, b = a[:len(a)/2*2], b[:len(b)/2*2]
		of := attributes("edge", entries(a...))
		if same := maps.Equal(of, attributes("edge", entries(b...))); same != slices.Equal(a, b) {
			t.Fatalf("%q and %q: the same attributes: %v", a, b, same)
		}
		var keys []string
		for i := 0; i < len(a); i += 2 {
			keys = append(keys, a[i])
		}
		if got := DescriptorText(keys); got != of[DescriptorAttribute] {
			t.Fatalf("%q: text %q, want %q", keys, got, of[DescriptorAttribute])
		}
		for i, name := range AttributeNames(keys) {
			if got, ok := of[name]; !ok || got != AttributeValue(a[2*i+1]) {
				t.Fatalf("%q: entry %d is not the attribute %q: %q", a, i, name, of)
			}
		}
	})
}

// TestNamesAreNames: a policy can have every attribute in its key and condition.
func TestNamesAreNames(t *testing.T) {
	var keys []string
	for c := range 256 {
		keys = append(keys, string([]byte{byte(c)}))
	}
	keys = append(keys, "domain", "descriptor", "not", "user", "user")
	for _, name := range AttributeNames(keys) {
		p := policy.Policy{
			Name: "p", Key: []string{name}, When: policy.Condition{name: {}},
			Limits: []policy.Limit{{Limit: bucket.Limit{Count: 1, Per: 1, Burst: 1}}},
		}
		if err := p.Validate(); err != nil {
			t.Errorf("attribute %q: %v", name, err)
		}
	}
}
