package policy_test

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// whole is the example of the design: every word of the language.
const whole = `version: 1
attributes: {ip: {ipv4: 32, ipv6: 64}, api_key: {hash: true}}
units: [requests, input_tokens, output_tokens]
exempt:
  - {route: [/healthz, /readyz]}
  - {ip: [10.0.0.0/8, "::1"]}
policies:
  anonymous: {when: {user: absent}, key: [ip], limits: [{rate: 30/min}]}
  api:
    when: {user: present, route: "/v1/*", not: {method: [GET]}}
    key: [user]
    limits: [{rate: 20/s, burst: 40}, {rate: 10_000/h}]
    tiers:
      free: {limits: [{rate: 5/s}]}
      enterprise: {limits: [{rate: 2000/s, burst: 4000}]}
      internal: {unlimited: true}
    overrides: {acme: {limits: [{rate: 10k/s}]}}
    with: [ceiling]
  search: {when: {route: /v1/search}, key: ["user|ip"], limits: [{rate: 2/s}]}
  llm:
    when: {route: "/v1/chat/*"}
    key: [tenant, model]
    on_missing: deny
    limits:
      - {name: in, unit: input_tokens, rate: 200k/min}
      - {name: out, unit: output_tokens, rate: 40k/min}
      - {name: big, unit: output_tokens, rate: 5k/min, when: {model: "large-*"}}
  trial: {when: {api_key: present}, key: [api_key], shadow: true, limits: [{rate: 1/s}]}
  ceiling: {when: {route: none}, key: [], limits: [{rate: 50_000/s}]}
`

func read(t testing.TB, text string) *policy.Set {
	t.Helper()
	s, err := policy.Parse("limits.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type attributes = map[string]string

func matched(s *policy.Set, a attributes) (names []string) {
	all, err := s.Match(&policy.Request{Attributes: a}, nil)
	if err != nil {
		panic(err)
	}
	for _, p := range all {
		names = append(names, p.Name)
	}
	return names
}

func TestMatch(t *testing.T) {
	s := read(t, whole)
	for _, c := range []struct {
		a    attributes
		want string
	}{
		{nil, "anonymous"},
		{attributes{"user": ""}, "anonymous"},
		{attributes{"user": "ann", "route": "/v1/x", "method": "POST"}, "api"},
		{attributes{"user": "ann", "route": "/v1/x", "method": "GET"}, ""},
		{attributes{"user": "ann", "route": "/v1/x"}, "api"},
		{attributes{"user": "ann", "route": "/v2/x"}, ""},
		{attributes{"user": "ann", "route": "/v1/search"}, "api search"},
		{attributes{"route": "/v1/search"}, "anonymous search"},
		{attributes{"user": "ann", "route": "/v1/chat/completions"}, "api llm"},
		{attributes{"user": "ann", "route": "/v1/chat/", "api_key": "k"}, "api llm trial"},
		{attributes{"user": "ann", "route": "/v1/chat"}, "api"},
	} {
		if got := strings.Join(matched(s, c.a), " "); got != c.want {
			t.Errorf("%v: %q, want %q", c.a, got, c.want)
		}
	}
	var none *policy.Set
	if got, err := none.Match(&policy.Request{}, nil); err != nil || len(got) > 0 || none.Exempt(&policy.Request{}) {
		t.Error("a set of nothing matches")
	}
	for _, req := range []policy.Request{{Key: "ann"}, {Parts: []string{}}} {
		if _, err := s.Match(&req, nil); !errors.Is(err, policy.ErrInvalid) {
			t.Errorf("%+v: %v, want ErrInvalid: no policy says what the key is", req, err)
		}
	}
}

func TestExempt(t *testing.T) {
	s := read(t, whole)
	for _, c := range []struct {
		a    attributes
		want bool
	}{
		{nil, false},
		{attributes{"route": "/healthz"}, true},
		{attributes{"route": "/healthz/x"}, false},
		{attributes{"ip": "10.1.2.3"}, true},
		{attributes{"ip": "::ffff:10.1.2.3"}, true},
		{attributes{"ip": "::ffff:11.1.2.3"}, false},
		{attributes{"ip": "::1"}, true},
		{attributes{"ip": "fe80::1%eth0"}, false},
		{attributes{"ip": "10.1.2.3.4"}, false},
	} {
		if got := s.Exempt(&policy.Request{Attributes: c.a}); got != c.want {
			t.Errorf("%v: %v", c.a, got)
		}
	}
}

// drawCondition draws one of few letters, so that much of it holds.
func drawCondition(t *rapid.T, of string) policy.Condition {
	c := policy.Condition{}
	for _, name := range []string{"a", "b", "ip"} {
		switch rapid.IntRange(0, 4).Draw(t, of+name) {
		case 0:
			c[name] = policy.Test{}
		case 1:
			c[name] = policy.Test{Absent: true}
		case 2:
			values := rapid.StringMatching(`[xy*]{1,3}`)
			if name == "ip" {
				values = rapid.SampledFrom([]string{"10.0.0.0/8", "10.0.0.1", "::ffff:10.0.0.2", "2001:db8::/32", "::/0", "0.0.0.0/0"})
			}
			c[name] = policy.Test{OneOf: rapid.SliceOfN(values, 1, 3).Draw(t, "values")}
		}
	}
	return c
}

// holds is what a condition means, said as slowly as possible.
func holds(t *rapid.T, c policy.Condition, a attributes) bool {
	for name, test := range c {
		value := a[name]
		ok := (value == "") == test.Absent
		if value != "" && len(test.OneOf) > 0 {
			ok = slices.ContainsFunc(test.OneOf, func(text string) bool {
				if name == "ip" {
					return within(t, text, value)
				}
				pattern := strings.ReplaceAll(regexp.QuoteMeta(text), `\*`, `(?s:.*)`)
				return regexp.MustCompile(`\A` + pattern + `\z`).MatchString(value)
			})
		}
		if !ok {
			return false
		}
	}
	return true
}

func within(t *rapid.T, network, value string) bool {
	addr, err := netip.ParseAddr(value)
	if err != nil {
		return false
	}
	addr = addr.Unmap()
	if one, err := netip.ParseAddr(network); err == nil {
		return one.Unmap() == addr
	}
	p, err := netip.ParsePrefix(network)
	if err != nil {
		t.Fatal(err)
	}
	return p.Contains(addr)
}

// TestMatchAsDefined compares Match with asking every policy by itself.
func TestMatchAsDefined(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := policy.Definition{Attributes: map[string]policy.Attribute{"ip": {IPv4: 32}}}
		for i := range rapid.IntRange(0, 12).Draw(t, "policies") {
			p := perSecond(fmt.Sprint("p", 10+i), 1)
			p.When = drawCondition(t, "when ")
			for range rapid.IntRange(0, 2).Draw(t, "nots") {
				if c := drawCondition(t, "not "); len(c) > 0 {
					p.Not = append(p.Not, c)
				}
			}
			d.Policies = append(d.Policies, p)
		}
		s, err := d.Set()
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			a := attributes{}
			for _, name := range []string{"a", "b"} {
				a[name] = rapid.StringMatching(`[xyz]{0,4}`).Draw(t, name)
			}
			a["ip"] = rapid.SampledFrom([]string{"", "10.0.0.1", "10.0.0.2", "11.0.0.1", "2001:db8::1", "::1", "x"}).Draw(t, "ip")
			var want []string
			for _, p := range d.Policies {
				if holds(t, p.When, a) && !slices.ContainsFunc(p.Not, func(c policy.Condition) bool { return holds(t, c, a) }) {
					want = append(want, p.Name)
				}
			}
			if got := matched(s, a); !slices.Equal(got, want) {
				t.Fatalf("%v: %q, want %q", a, got, want)
			}
		}
	})
}

func TestVariants(t *testing.T) {
	s := read(t, whole)
	api, err := s.Policy("api")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		req  policy.Request
		want string
	}{
		{policy.Request{Key: "ann"}, "its own limits"},
		{policy.Request{Key: "ann", Attributes: attributes{"tier": "free"}}, "tier free"},
		{policy.Request{Key: "ann", Attributes: attributes{"tier": "gold"}}, "its own limits"},
		{policy.Request{Attributes: attributes{"user": "ann", "tier": "internal"}}, "tier internal"},
		{policy.Request{Key: "acme", Attributes: attributes{"tier": "free"}}, "override acme"},
		{policy.Request{Parts: []string{"acme"}}, "override acme"},
		{policy.Request{Attributes: attributes{"user": "acme"}}, "override acme"},
	} {
		v := api.For(&c.req)
		number, label := v.Variant()
		if label != c.want || api.Variants()[number] != v || v.Name != "api" {
			t.Errorf("%+v: variant %d, %s, want %s", c.req, number, label, c.want)
		}
		if v.Unlimited != (label == "tier internal") || v.Unlimited == (len(v.Limits) > 0) || !v.Unlimited && v.Limits[0].Name != "api" {
			t.Errorf("%s: unlimited %v, %d limits", label, v.Unlimited, len(v.Limits))
		}
	}
}

// TestOverrides: an override is for the key that it is written as, whatever way of writing, and for no other.
func TestOverrides(t *testing.T) {
	s := read(t, `version: 1
attributes: {ip: {ipv4: 24, ipv6: 64}}
policies:
  addresses: {key: [ip], limits: [{rate: 1/s}], overrides: {"2001:DB8::1": {unlimited: true}, 10.0.0.5: {unlimited: true}}}
  devices: {key: ["user|device"], limits: [{rate: 1/s}], overrides: {acme: {unlimited: true}}}
  both: {key: [tenant, ip], limits: [{rate: 1/s}], overrides: {"acme|10.0.0.5": {unlimited: true}}}
`)
	for _, c := range []struct {
		policy string
		req    policy.Request
		want   bool
	}{
		{"addresses", policy.Request{Key: "2001:db8::2"}, true},
		{"addresses", policy.Request{Key: "2001:db8:0:1::2"}, false},
		{"addresses", policy.Request{Attributes: attributes{"ip": "::ffff:10.0.0.77"}}, true},
		{"addresses", policy.Request{Key: "10.0.1.5"}, false},
		{"devices", policy.Request{Key: "acme"}, true},
		{"devices", policy.Request{Attributes: attributes{"user": "acme", "device": "x"}}, true},
		{"devices", policy.Request{Attributes: attributes{"device": "acme"}}, false},
		{"both", policy.Request{Parts: []string{"acme", "10.0.0.9"}}, true},
		{"both", policy.Request{Parts: []string{"acme", "10.0.1.9"}}, false},
		{"both", policy.Request{Parts: []string{"acme|10.0.0.9", ""}}, false},
	} {
		p, err := s.Policy(c.policy)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.For(&c.req).Unlimited; got != c.want {
			t.Errorf("%s %+v: %v", c.policy, c.req, got)
		}
	}
}

func TestShadowIsApart(t *testing.T) {
	s := read(t, `version: 1
policies:
  some: {key: [user], limits: [{rate: 10/s}, {rate: 5/s, shadow: true}]}
  all: {key: [user], shadow: true, limits: [{rate: 10/s}]}
  none: {key: [user], limits: [{rate: 10/s}]}
`)
	for name, want := range map[string][2]int{"some": {1, 1}, "all": {0, 1}, "none": {1, 0}} {
		p, err := s.Policy(name)
		if err != nil {
			t.Fatal(err)
		}
		limits := func(p *policy.Policy) int {
			if p == nil {
				return 0
			}
			return len(p.Limits)
		}
		if got := [2]int{limits(p.Enforced()), limits(p.Shadowed())}; got != want {
			t.Errorf("%s: %d limits are enforced and %d are not, want %v", name, got[0], got[1], want)
		}
		if p.Enforced() != nil && p.Shadowed() != nil {
			distinctOf(t, policy.Request{Key: "ann"}, p.Enforced(), p.Shadowed())
			if name := p.Shadowed().Limits[0].Name; name != "some-2" {
				t.Errorf("the limit in shadow mode has the name %s", name)
			}
		}
	}
}

// distinctOf says whether a request draws on different buckets of two policies.
func distinctOf(t *testing.T, req policy.Request, a, b *policy.Policy) {
	t.Helper()
	ka, err := a.AppendKey(nil, &req)
	if err != nil {
		t.Fatal(err)
	}
	kb, err := b.AppendKey(nil, &req)
	if err != nil {
		t.Fatal(err)
	}
	if string(ka) == string(kb) {
		t.Errorf("both have the key %q", ka)
	}
}

// TestConditionalLimits: a limit whose condition does not hold takes nothing.
func TestConditionalLimits(t *testing.T) {
	s := read(t, whole)
	llm, err := s.Policy("llm")
	if err != nil {
		t.Fatal(err)
	}
	costs := map[string]int64{"input_tokens": 100, "output_tokens": 7}
	for _, c := range []struct {
		req  policy.Request
		want []int64
	}{
		{policy.Request{Attributes: attributes{"tenant": "a", "model": "small"}, Costs: costs}, []int64{100, 7, 0}},
		{policy.Request{Attributes: attributes{"tenant": "a", "model": "large-2"}, Costs: costs}, []int64{100, 7, 7}},
		{policy.Request{Parts: []string{"a", "large-2"}, Costs: costs}, []int64{100, 7, 7}},
		{policy.Request{Parts: []string{"large-2", "a"}, Costs: costs}, []int64{100, 7, 0}},
	} {
		cost, each, err := llm.Costs(&c.req)
		if err != nil || cost != 100 || !slices.Equal(each, c.want) || !llm.Applies(&c.req) {
			t.Errorf("%+v: %d, %v, %v, want %v", c.req, cost, each, err, c.want)
		}
	}
	only := read(t, `version: 1
policies: {p: {key: [], limits: [{rate: 1/s, when: {model: "large-*"}}]}}
`)
	p, err := only.Policy("p")
	if err != nil {
		t.Fatal(err)
	}
	if p.Applies(&policy.Request{}) || !p.Applies(&policy.Request{Attributes: attributes{"model": "large-1"}}) || p.Plain() {
		t.Error("a limit applies to what it is not for, or not to what it is for")
	}
}

// TestAddresses: clients that share the bits that count share a key (C112, C113).
func TestAddresses(t *testing.T) {
	s := read(t, whole)
	p, err := s.Policy("anonymous")
	if err != nil {
		t.Fatal(err)
	}
	of := func(ip string) string {
		t.Helper()
		var keys []string
		for _, req := range []policy.Request{{Key: ip}, {Parts: []string{ip}}, {Attributes: attributes{"ip": ip}}} {
			key, err := p.AppendKey(nil, &req)
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, string(key)+" "+p.KeyText(&req))
		}
		if len(slices.Compact(slices.Clone(keys))) != 1 {
			t.Errorf("%s has the keys %q", ip, keys)
		}
		_, text, _ := strings.Cut(keys[0], " ")
		return text
	}
	for ip, want := range map[string]string{
		"::ffff:1.2.3.4": "1.2.3.4", "::ffff:102:304": "1.2.3.4", "1.2.3.4": "1.2.3.4",
		"2001:db8:1234:5678::1.2.3.4": "2001:db8:1234:5678::/64", "::ffff:9.9.9.9": "9.9.9.9",
		"2001:db8:1:2::1": "2001:db8:1:2::/64", "2001:db8:1:2:ffff:ffff:ffff:ffff": "2001:db8:1:2::/64", "2001:DB8:1:3::1%eth0": "2001:db8:1:3::/64",
	} {
		if got := of(ip); got != want {
			t.Errorf("%s: %s, want %s", ip, got, want)
		}
	}
	for _, ip := range []string{"1.2.3.4:80", "[::1]", "localhost", "1.2.3", " 1.2.3.4"} {
		if _, err := p.AppendKey(nil, &policy.Request{Key: ip}); err == nil || !strings.Contains(err.Error(), "no address") {
			t.Errorf("%q: %v", ip, err)
		}
	}
}

// TestFallbacks: of alternatives the first that is there is the key, and says which it is.
func TestFallbacks(t *testing.T) {
	s := read(t, whole+"  either: {key: [\"user|name\", route], limits: [{rate: 2/s}]}\n")
	search, err := s.Policy("search")
	if err != nil {
		t.Fatal(err)
	}
	either, err := s.Policy("either")
	if err != nil {
		t.Fatal(err)
	}
	distinct(t, search, policy.Request{Key: "1.2.3.4"}, policy.Request{Attributes: attributes{"ip": "1.2.3.4"}})
	distinct(t, either, policy.Request{Attributes: attributes{"user": "a", "route": "b"}}, policy.Request{Attributes: attributes{"name": "a", "route": "b"}},
		policy.Request{Attributes: attributes{"name": "b", "user": "b", "route": "b"}})
	a, err := search.AppendKey(nil, &policy.Request{Attributes: attributes{"user": "ann", "ip": "1.2.3.4"}})
	if err != nil {
		t.Fatal(err)
	}
	if b, err := search.AppendKey(nil, &policy.Request{Key: "ann"}); err != nil || string(a) != string(b) {
		t.Errorf("%q and %q: a key given outright is the first alternative", a, b)
	}
	_, err = search.AppendKey(nil, &policy.Request{})
	if want := `attribute "user" or "ip" is absent or empty`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestSecretsAreNotShown: no text has a value of an attribute that is a secret.
func TestSecretsAreNotShown(t *testing.T) {
	s := read(t, strings.Replace(whole, "key: [api_key]", `key: [api_key], cost: {by: api_key, weights: {x: 1}}`, 1))
	p, err := s.Policy("trial")
	if err != nil {
		t.Fatal(err)
	}
	req := policy.Request{Key: "sesame"}
	texts := []string{p.KeyText(&req)}
	req.Cost = 1 << 52
	req.Attributes = attributes{"api_key": "sesame"}
	for _, name := range []string{"", "trial"} {
		if req.Policy = name; name == "" {
			req.Key = ""
		} else {
			req.Key = "sesame"
		}
		x, err := s.Explain(&req)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, x.String(), fmt.Sprintf("%+v", x))
	}
	if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, "sesame") }) {
		t.Errorf("%q", texts)
	}
	distinct(t, p, policy.Request{Key: "sesame"}, policy.Request{Key: "sesam"})
}

func TestDefinitionRefuses(t *testing.T) {
	bad := func(change func(p *policy.Policy)) policy.Definition {
		p := perSecond("p", 10, "k")
		change(&p)
		return policy.Definition{Policies: []policy.Policy{p}, Attributes: map[string]policy.Attribute{"ip": {IPv6: 64}}}
	}
	for want, d := range map[string]policy.Definition{
		`when: ip: "x" is neither an address nor a network`: bad(func(p *policy.Policy) { p.When = policy.Condition{"ip": {OneOf: []string{"x"}}} }),
		`when: a: absent, and one of "b"`:                   bad(func(p *policy.Policy) { p.When = policy.Condition{"a": {Absent: true, OneOf: []string{"b"}}} }),
		`not 1: it always holds`:                            bad(func(p *policy.Policy) { p.Not = policy.Any{{}} }),
		`tier "t": limits: none`:                            bad(func(p *policy.Policy) { p.Tiers = map[string]policy.Plan{"t": {}} }),
		`override "o": limit 1: when: "" never`: bad(func(p *policy.Policy) {
			p.Overrides = map[string]policy.Plan{"o": {Limits: []policy.Limit{{Limit: p.Limits[0].Limit, When: policy.Condition{"a": {OneOf: []string{""}}}}}}}
		}),
		`on_missing 3`:                                bad(func(p *policy.Policy) { p.OnMissing = 3 }),
		`attribute "a": ipv4 is -1`:                   {Attributes: map[string]policy.Attribute{"a": {IPv4: -1}}},
		`exempt 1: it always holds`:                   {Exempt: policy.Any{{}}},
		`limits: there are some, and it is unlimited`: bad(func(p *policy.Policy) { p.Unlimited = true }),
		`key attribute 1: "a|a": "a" is named twice`:  bad(func(p *policy.Policy) { p.Key = []string{"a|a"} }),
	} {
		_, err := d.Set()
		if want = strings.Replace(want, `when: "" never`, `when: a: "" never`, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// BenchmarkMatch finds the policies for a request among many that differ by a route, by its beginning, or by a tenant.
func BenchmarkMatch(b *testing.B) {
	for _, n := range []int{10, 1000} {
		for how, when := range map[string]func(i int) policy.Condition{
			"route": func(i int) policy.Condition {
				return policy.Condition{"route": {OneOf: []string{fmt.Sprintf("/v1/things/%d", i)}}}
			},
			"prefix": func(i int) policy.Condition {
				return policy.Condition{"route": {OneOf: []string{fmt.Sprintf("/v1/things/%d*", i)}}, "user": {}}
			},
			"tenant": func(i int) policy.Condition {
				return policy.Condition{"tenant": {OneOf: []string{fmt.Sprint("t", i)}}, "route": {OneOf: []string{"/v1/*"}}}
			},
		} {
			b.Run(fmt.Sprintf("policies=%d/by=%s", n, how), func(b *testing.B) {
				var d policy.Definition
				for i := range n {
					p := perSecond(fmt.Sprint("p", i), 1, "user")
					p.When = when(i)
					d.Policies = append(d.Policies, p)
				}
				s, err := d.Set()
				if err != nil {
					b.Fatal(err)
				}
				req := &policy.Request{Attributes: attributes{"user": "ann", "tenant": "t7", "route": "/v1/things/7", "method": "GET"}}
				var room [8]*policy.Policy
				b.ReportAllocs()
				for b.Loop() {
					if all, err := s.Match(req, room[:0]); err != nil || len(all) != 1 {
						b.Fatal(matched(s, req.Attributes))
					}
				}
			})
		}
	}
}

// TestMatchDoesNotAllocate.
func TestMatchDoesNotAllocate(t *testing.T) {
	s := read(t, whole)
	req := &policy.Request{Attributes: maps.Clone(attributes{"user": "ann", "route": "/v1/chat/x", "ip": "1.2.3.4"})}
	var room [8]*policy.Policy
	if n := testing.AllocsPerRun(100, func() {
		if all, err := s.Match(req, room[:0]); err != nil || len(all) != 2 || s.Exempt(req) {
			t.Error(matched(s, req.Attributes))
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
