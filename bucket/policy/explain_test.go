package policy_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// odd has what whole has not: limits of which none may be for a request, keys that may be missing and what becomes of that, policies
// that are decided with each other, and secrets in every place that may have one.
const odd = `version: 1
attributes: {ip: {ipv6: 64}, api_key: {hash: true}, tier: {hash: true}}
exempt: [{api_key: [master☃, "root-*"]}]
policies:
  mail: {when: {ip: "10.0.0.0/8"}, key: [ip], limits: [{algorithm: pacer, rate: 5/s, max_wait: 2s}]}
  some: {key: [api_key], when: {api_key: [a☃, "b*"]}, limits: [{rate: 5/s, when: {model: "large-*", api_key: "b*"}}]}
  skips: {key: [user], on_missing: skip, limits: [{rate: 5/s}]}
  denies: {key: ["user|api_key"], on_missing: deny, limits: [{rate: 5/s}, {rate: 1/s, shadow: true, when: {model: x}}], with: [user]}
  trial: {key: [user], on_missing: deny, shadow: true, limits: [{rate: 5/s}]}
  user:
    when: {user: present, not: [{user: root}, {route: [/a, /b, /c, /d, /e, /f, /g, /h, /i, /j, /k]}]}
    key: [user]
    cost: {by: api_key, weights: {dear: 5}}
    limits: [{rate: 5/s}]
    tiers: {gold☃: {unlimited: true}, silver☃: {limits: [{rate: 7/s, when: {model: x}}]}}
    overrides: {acme: {limits: [{rate: 9/s}]}}
    with: [tenant]
  tenant: {when: {tenant: present}, key: [tenant], limits: [{rate: 90/s}], with: [user, all]}
  all: {when: {route: none}, key: [], unlimited: true}
`

func TestExplainText(t *testing.T) {
	for _, c := range []struct {
		name, text string
		req        policy.Request
		want       string
	}{
		{"no policies", "version: 1\npolicies: {}\n", policy.Request{}, `
there are no policies: every request is admitted
`},
		{"tier, and others", whole, policy.Request{Attributes: attributes{"user": "ann", "route": "/v1/x", "tier": "free"}}, `
api applies: when {route: /v1/*, user: present}
  key     ann
  limits  tier free
    api: 5/s, burst 5, takes 1 request
  with    ceiling
ceiling applies: decided with api
  key     none, one bucket for all
  limits  its own limits
    ceiling: 50k/s, burst 50000, takes 1 request
anonymous does not apply: it is for requests with {user: absent}, and user is present
llm does not apply: it is for requests with {route: /v1/chat/*}, and route is "/v1/x"
search does not apply: it is for requests with {route: /v1/search}, and route is "/v1/x"
trial does not apply: it is for requests with {api_key: present}, and api_key is absent
`},
		{"exempt", whole, policy.Request{Policy: "search", Attributes: attributes{"route": "/healthz", "ip": "2001:db8::1"}}, `
exempt 1 ({route: [/healthz, /readyz]}): nothing limits this request
without that:
search applies: named by the request
  key     2001:db8::/64
  limits  its own limits
    search: 2/s, burst 2, takes 1 request
`},
		{"units and conditions", whole, policy.Request{
			Policy: "llm", Parts: []string{"acme", "small"}, Costs: map[string]int64{"input_tokens": 900, "output_tokens": 70},
		}, `
llm applies: named by the request
  key     acme|small
  limits  its own limits
    in: 200k/min, burst 200000, takes 900 input_tokens
    out: 40k/min, burst 40000, takes 70 output_tokens
    big: 5k/min, burst 5000, takes nothing: it is for requests with {model: large-*}, and model is "small"
`},
		{"denied", whole, policy.Request{Policy: "llm", Attributes: attributes{"tenant": "acme"}}, `
llm applies: named by the request, but the request lacks a part of the key (tenant, model): it is denied, as on_missing says
`},
		{"refused", whole, policy.Request{Policy: "api"}, `
api applies: named by the request, but the request lacks a part of the key (user): it is refused
  with    ceiling
ceiling applies: decided with api
  key     none, one bucket for all
  limits  its own limits
    ceiling: 50k/s, burst 50000, takes 1 request
`},
		{"no address", whole, policy.Request{Policy: "anonymous", Key: "localhost"}, `
anonymous applies: named by the request, but invalid request: policy "anonymous" is keyed by "ip": ip is "localhost", which is no address
`},
		{"too dear", whole, policy.Request{Policy: "ceiling", Costs: map[string]int64{"tokens": 1}}, `
ceiling applies: named by the request, but invalid request: costs: no limit counts unit "tokens", want "requests", "input_tokens", "output_tokens"
  key     none, one bucket for all
  limits  its own limits
    ceiling: 50k/s, burst 50000, takes nothing
`},
		{"one takes the place of others, and of one that takes its place", `version: 1
policies:
  everybody: {key: [ip], limits: [{rate: 1/s}], with: [all]}
  members: {when: {user: present}, key: [user], limits: [{rate: 5/s}], replaces: [everybody, staff, away]}
  staff: {when: {user: "s*"}, key: [user], limits: [{rate: 9/s}], replaces: [members]}
  away: {when: {user: absent}, key: [], limits: [{rate: 9/s}]}
  all: {when: {route: none}, key: [], limits: [{rate: 100/s}]}
`, policy.Request{Attributes: attributes{"ip": "1.1.1.1", "user": "sue"}}, `
no policy applies: this request is admitted
all does not apply: it is for requests with {route: none}, and route is absent
away does not apply: it is for requests with {user: absent}, and user is present
everybody does not apply: for every request, but members takes its place
members does not apply: when {user: present}, but staff takes its place
staff does not apply: when {user: s*}, but members takes its place
`},
		{"the key is that of the policy that is named", odd, policy.Request{Policy: "user", Key: "acme", Attributes: attributes{"tenant": "t"}}, `
user applies: named by the request
  key     acme
  limits  override acme
    user: 9/s, burst 9, takes 1 request
  with    tenant, all
tenant applies: decided with user
  key     t
  limits  its own limits
    tenant: 90/s, burst 90, takes 1 request
  with    user, all
all applies: decided with user, and unlimited
`},
		{"secrets", odd, policy.Request{Attributes: attributes{"user": "root", "api_key": "beta", "tier": "gold☃", "model": "large-1"}}, `
all applies: decided with denies, and unlimited
denies applies: for every request
  key     root
  limits  its own limits
    denies: 5/s, burst 5, takes 1 request
    denies-2: 1/s, burst 1, takes nothing, in shadow mode: it is for requests with {model: x}, and model is "large-1"
  with    user, tenant, all
skips applies: for every request
  key     root
  limits  its own limits
    skips: 5/s, burst 5, takes 1 request
some applies: when {api_key: a secret}
  key     ...
  limits  its own limits
    some: 5/s, burst 5, takes 1 request
tenant applies: decided with denies, but the request lacks a part of the key (tenant): it is refused
  with    user, all
trial applies: for every request
  key     root
  limits  its own limits
    trial: 5/s, burst 5, takes 1 request, in shadow mode
user applies: decided with denies, and unlimited by a tier that is a secret
  with    tenant, all
mail does not apply: it is for requests with {ip: 10.0.0.0/8}, and ip is absent
`},
		{"nothing", strings.Replace(odd, "with: [user]", "with: []", 1), policy.Request{Policy: "some", Key: "about"}, `
no policy applies: this request is admitted
some does not apply: named by the request, but none of its limits is for this request
    some: 5/s, burst 5, takes nothing: it is for requests with {api_key: a secret, model: large-*}, and api_key is another secret
`},
		{"left out", odd, policy.Request{Policy: "trial"}, `
no policy applies: this request is admitted
trial does not apply: named by the request, but the request lacks a part of the key (user): the policy is left out, for it is in shadow mode
`},
		{"skipped", odd, policy.Request{Policy: "skips"}, `
no policy applies: this request is admitted
skips does not apply: named by the request, but the request lacks a part of the key (user): the policy is left out, as on_missing says
`},
		{"exempt by a secret", odd, policy.Request{Policy: "mail", Key: "10.0.0.1", Attributes: attributes{"api_key": "root-7"}}, `
exempt 1 ({api_key: a secret}): nothing limits this request
without that:
mail applies: named by the request
  key     10.0.0.1
  limits  its own limits
    mail: pacer 5/s, max_wait 2s, takes 1 request
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			x, err := read(t, c.text).Explain(&c.req)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, "\n"+x.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestExplainWhyNot(t *testing.T) {
	s := read(t, strings.Replace(odd, "with: [user]", "with: []", 1))
	for _, c := range []struct {
		policy string
		a      attributes
		want   string
	}{
		{"user", attributes{"user": "root"}, "it is not for requests with {user: root}"},
		{"user", attributes{"user": "ann", "route": "/c"}, "it is not for requests with {route: [/a, /b, /c, /d, /e, /f, /g, /h, /i, /j and 1 more]}"},
		{"some", attributes{"api_key": "master☃"}, "it is for requests with {api_key: a secret}, and api_key is another secret"},
		{"mail", attributes{"ip": "11.1.1.1"}, `it is for requests with {ip: 10.0.0.0/8}, and ip is "11.1.1.1"`},
	} {
		x, err := s.Explain(&policy.Request{Attributes: c.a})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(x.Policies, func(p policy.ExplainedPolicy) bool { return p.Policy == c.policy })
		if p := x.Policies[i]; p.Why != c.want {
			t.Errorf("%s for %v: %s, want %s", c.policy, c.a, p.Why, c.want)
		}
	}
}

func TestExplainRefuses(t *testing.T) {
	s := read(t, whole)
	if _, err := s.Explain(&policy.Request{Policy: "apj"}); !errors.Is(err, policy.ErrUnknownPolicy) {
		t.Errorf("%v, want ErrUnknownPolicy", err)
	}
	if _, err := s.Explain(&policy.Request{Key: "ann"}); !errors.Is(err, policy.ErrInvalid) {
		t.Errorf("%v, want ErrInvalid: no policy says what the key is", err)
	}
	var none *policy.Set
	if x, err := none.Explain(&policy.Request{}); err != nil || len(x.Policies) > 0 {
		t.Errorf("%v, %v of a set of nothing", x, err)
	}
}

// decided returns the names of the policies that have to do with a request that names none: those that match and those that are
// decided with them, without those that leave it alone.
func decided(t *testing.T, s *policy.Set, req *policy.Request) map[string]bool {
	matched, err := s.Match(req, nil)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, p := range matched {
		for _, name := range append([]string{p.Name}, p.Together()...) {
			all[name] = true
		}
	}
	for name := range all {
		p, err := s.Policy(name)
		if err != nil {
			t.Fatal(err)
		}
		v := p.For(req)
		_, err = p.AppendKey(nil, req)
		missing := errors.Is(err, policy.ErrMissingKey)
		denies := v.Enforced() != nil && v.Enforced().Applies(req)
		switch {
		case v.Unlimited:
		case !v.Applies(req), missing && p.OnMissing == policy.MissingSkip, missing && p.OnMissing == policy.MissingDeny && !denies:
			all[name] = false
		}
	}
	return all
}

// FuzzExplain: every policy is named once, what is said to apply does, and no secret is shown: each has a snowman in it, and nothing
// else has.
func FuzzExplain(f *testing.F) {
	f.Add(uint8(0), "", "ann", "", "1.2.3.4", "/v1/search", "large-1", "free", "sesame", int64(1), int64(0))
	f.Add(uint8(0), "", "acme", "acme", "", "/healthz", "", "internal", "master", int64(7), int64(3))
	f.Add(uint8(1), "", "ann", "t", "::1", "/v1/chat/x", "x", "gold", "root-", int64(1<<53), int64(1))
	f.Add(uint8(1), "user", "", "t", "10.0.0.1", "/a", "", "silver", "b\n", int64(0), int64(-1))
	f.Add(uint8(1), "denies", "", "", "x", "", "\x00", "", "dear", int64(1<<52), int64(1<<53))
	f.Add(uint8(1), "some", "", "", "x", "", "\x00", "", "b", int64(2), int64(1<<53))
	f.Add(uint8(66), "trial", "", "", "x", "", "", "", "b", int64(2), int64(1<<53))
	f.Add(uint8(67), "some", "", "", "x", "", "large-1", "", "b", int64(2), int64(1<<53))
	f.Add(uint8(130), "user", "", "t", "x", "", "large-1", "", "b", int64(2), int64(1<<53))
	f.Add(uint8(2), "", "", "", "", "", "", "", "", int64(0), int64(0))
	sets := []*policy.Set{read(f, whole), read(f, odd), nil}
	f.Fuzz(func(t *testing.T, which uint8, name, user, tenant, ip, route, model, tier, key string, cost, tokens int64) {
		s := sets[int(which)%len(sets)]
		req := policy.Request{Policy: name, Cost: cost, Attributes: attributes{
			"user": user, "tenant": tenant, "ip": ip, "route": route, "model": model,
		}}
		for _, value := range append(slices.Collect(maps.Values(req.Attributes)), name) {
			if strings.Contains(value, "☃") {
				t.Skip()
			}
		}
		if req.Attributes["tier"] = tier; s == sets[1] {
			req.Attributes["tier"] += "☃"
		}
		if key != "" {
			req.Attributes["api_key"] = key + "☃"
		}
		switch { // the key outright
		case name == "" || which < 64:
		case name == "trial" && s == sets[0], name == "some": // which are keyed by a secret
			req.Key = key + "☃"
		case which < 128:
			req.Key = user
		default:
			req.Parts = []string{tenant, model}[:which%3]
		}
		if tokens != 0 {
			req.Costs = map[string]int64{"output_tokens": tokens}
		}
		x, err := s.Explain(&req)
		if err != nil {
			if name == "" || !errors.Is(err, policy.ErrUnknownPolicy) {
				t.Fatal(err)
			}
			return
		}
		if x.Exempt != "" != s.Exempt(&req) {
			t.Errorf("exempt: %q", x.Exempt)
		}
		if name == "" {
			var names []string
			applies := decided(t, s, &req)
			for _, p := range x.Policies {
				names = append(names, p.Policy)
				if p.Applies != applies[p.Policy] {
					t.Errorf("%s applies: %v, want %v", p.Policy, p.Applies, !p.Applies)
				}
			}
			if !slices.Equal(names, s.Names()) {
				t.Errorf("explains %q, want %q", names, s.Names())
			}
		}
		j, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		if all := x.String() + string(j); strings.Contains(all, "☃") {
			t.Errorf("a secret is shown:\n%s", all)
		}
	})
}
