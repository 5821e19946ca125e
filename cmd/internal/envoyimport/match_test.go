package envoyimport

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/envoy"
)

// recorder keeps what a node would be asked.
type recorder struct{ reqs []policy.Request }

func (r *recorder) CheckTogether(_ context.Context, reqs []policy.Request) []policy.Result {
	r.reqs = reqs
	out := make([]policy.Result, len(reqs))
	for i := range out {
		out[i].Decision.Allowed = true
	}
	return out
}

// found is what decides a descriptor: the policies that match, and the key of each. Pairs are keys and values of entries in turn.
func found(t interface{ Fatal(...any) }, set *policy.Set, domain string, pairs []string) (matched []*policy.Policy, keys []string) {
	var r recorder
	d := new(common.RateLimitDescriptor)
	for i := 0; i < len(pairs); i += 2 {
		d.Entries = append(d.Entries, &common.RateLimitDescriptor_Entry{Key: pairs[i], Value: pairs[i+1]})
	}
	in := &rls.RateLimitRequest{Domain: domain, Descriptors: []*common.RateLimitDescriptor{d}}
	if _, err := envoy.New(&r, envoy.Options{}).ShouldRateLimit(context.Background(), in); err != nil {
		t.Fatal(err)
	}
	matched, err := set.Match(&r.reqs[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range matched {
		key, err := p.AppendKey(nil, &r.reqs[0])
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, string(key))
	}
	return matched, keys
}

// imported imports one file and reads the policies.
func imported(t interface{ Fatal(...any) }, text string) (*policy.Set, *Result) {
	res, err := Import([]File{{"config.yaml", []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	set, err := policy.Parse("limits.yaml", res.Policies)
	if err != nil {
		t.Fatal(err)
	}
	return set, res
}

// tree is a descriptor as the walk below has it, which shares nothing with the importer.
type tree struct {
	Key         string `yaml:"key"`
	Value       string `yaml:"value,omitempty"`
	Share       bool   `yaml:"share_threshold,omitempty"`
	Shadow      bool   `yaml:"shadow_mode,omitempty"`
	RateLimit   *rate  `yaml:"rate_limit,omitempty"`
	Descriptors []tree `yaml:"descriptors,omitempty"`
}

type rate struct {
	Unit      string `yaml:"unit,omitempty"`
	Requests  int    `yaml:"requests_per_unit,omitempty"`
	Unlimited bool   `yaml:"unlimited,omitempty"`
}

// walk finds the descriptor of the tree whose limit applies, and the counter, as Envoy's service does: at each entry the exact value, then
// patterns in their order, then the bare key, and never back.
func walk(level []tree, pairs []string) (leaf *tree, counter string) {
	for i := 0; i < len(pairs); i += 2 {
		key, value := pairs[i], pairs[i+1]
		var next *tree
		for _, fits := range []func(*tree) bool{
			func(d *tree) bool { return d.Value == value && value != "" },
			func(d *tree) bool { return strings.Contains(d.Value, "*") && globbed(d.Value, value) },
			func(d *tree) bool { return d.Value == "" },
		} {
			at := slices.IndexFunc(level, func(d tree) bool { return d.Key == key && fits(&d) })
			if at >= 0 {
				next = &level[at]
				break
			}
		}
		if next == nil {
			return nil, ""
		}
		if next.Share {
			value = next.Value
		}
		counter += fmt.Sprintf("%q=%q,", key, value)
		if i+2 == len(pairs) {
			if next.RateLimit == nil {
				return nil, ""
			}
			return next, counter
		}
		level = next.Descriptors
	}
	return nil, ""
}

// globbed says whether a value is of a pattern, by another library's matching: of these values none has what that takes for more than a star.
func globbed(pattern, value string) bool {
	ok, err := path.Match(pattern, value)
	return ok && err == nil
}

// TestWalk: on random trees and descriptors, the policies find the same rule as a walk of the tree, or none where it finds none, and two
// descriptors have the same counter if and only if they have it there.
func TestWalk(t *testing.T) {
	values := rapid.SampledFrom([]string{"", "v", "w", "vw", "vv", "wv", "vwv"})
	patterns := rapid.SampledFrom([]string{"", "v", "w", "vw", "vv", "v*", "*v", "*", "v*v", "*w*", "vw*", "present", "absent", "null"})
	keys := rapid.SampledFrom([]string{"a", "a", "a", "a", "b", "b", "x_y", "not", "domain"}) // mostly the same, so that much meets
	var level func(depth int) *rapid.Generator[[]tree]
	number := 0
	level = func(depth int) *rapid.Generator[[]tree] {
		return rapid.Custom(func(t *rapid.T) (all []tree) {
			for range rapid.IntRange(1, 8).Draw(t, "descriptors") {
				d := tree{Key: keys.Draw(t, "key"), Value: patterns.Draw(t, "value")}
				if slices.ContainsFunc(all, func(o tree) bool { return o.Key == d.Key && o.Value == d.Value }) {
					continue
				}
				d.Share = strings.Contains(d.Value, "*") && rapid.Bool().Draw(t, "share")
				d.Shadow = rapid.Bool().Draw(t, "shadow")
				switch rapid.IntRange(0, 3).Draw(t, "limit") {
				case 0:
					d.RateLimit = &rate{Unlimited: true}
				case 1, 2:
					number++ // each limit is another, so that it is known again
					d.RateLimit = &rate{Unit: rapid.SampledFrom(unitNames).Draw(t, "unit"), Requests: number}
				}
				if depth < 3 && rapid.Bool().Draw(t, "deeper") {
					d.Descriptors = level(depth+1).Draw(t, "below")
				}
				all = append(all, d)
			}
			return all
		})
	}
	descriptor := rapid.Custom(func(t *rapid.T) (pairs []string) {
		for range rapid.SampledFrom([]int{1, 1, 1, 2, 2, 3, 4}).Draw(t, "entries") {
			pairs = append(pairs, keys.Draw(t, "key"), rapid.OneOf(values, patterns.Filter(func(p string) bool { return !strings.Contains(p, "*") })).Draw(t, "value"))
		}
		return pairs
	})
	rapid.Check(t, func(t *rapid.T) {
		number = 0
		file := struct {
			Domain      string
			Descriptors []tree
		}{"edge", level(1).Draw(t, "tree")}
		text, err := yaml.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		set, _ := imported(t, string(text))
		counters := map[string]string{} // of a key, the counter
		known := map[string]string{}    // of a counter, the key
		for range 30 {
			pairs := descriptor.Draw(t, "entries")
			want, counter := walk(file.Descriptors, pairs)
			got, key := found(t, set, "edge", pairs)
			if want == nil {
				if len(got) > 0 {
					t.Fatalf("%q: policy %s, want none\n%s", pairs, got[0].Name, text)
				}
				continue
			}
			if len(got) != 1 || !same(want, got[0]) {
				t.Fatalf("%q: %d policies, want one that is %+v\n%s", pairs, len(got), *want.RateLimit, text)
			}
			if c, twice := counters[key[0]]; twice && c != counter {
				t.Fatalf("%q has the key of %s\n%s", pairs, c, text)
			}
			if k, twice := known[counter]; twice && k != key[0] {
				t.Fatalf("%q has another key than the counter before\n%s", pairs, text)
			}
			counters[key[0]], known[counter] = counter, key[0]
			if other, _ := found(t, set, "mesh", pairs); len(other) > 0 {
				t.Fatalf("another domain: policy %s", other[0].Name)
			}
		}
	})
}

// same says whether a policy is the rule of a descriptor.
func same(d *tree, p *policy.Policy) bool {
	if d.RateLimit.Unlimited {
		return p.Unlimited
	}
	seconds := map[string]int64{
		"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800, "month": 30 * 86400, "year": 365 * 86400,
	}
	l := p.Limits[0]
	return len(p.Limits) == 1 && l.Algorithm == bucket.FixedWindow && l.Count == int64(d.RateLimit.Requests) &&
		int64(l.Per.Seconds()) == seconds[d.RateLimit.Unit] && l.Shadow == d.Shadow
}
