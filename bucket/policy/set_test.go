package policy_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
)

// perSecond is a policy of one limit, n a second.
func perSecond(name string, n int64, key ...string) policy.Policy {
	return policy.Policy{Name: name, Key: key, Limits: []policy.Limit{
		{Limit: bucket.Limit{Count: n, Per: time.Second, Burst: n}},
	}}
}

func setOf(t *testing.T, policies ...policy.Policy) *policy.Set {
	t.Helper()
	s, err := policy.NewSet(policies...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func policyOf(t *testing.T, p policy.Policy) *policy.Policy {
	t.Helper()
	got, err := setOf(t, p).Policy(p.Name)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestWith: policies that one is decided with are found, with those that they are decided with in turn, once each. One that is named
// twice is refused, so that no request counts twice in one bucket (C134).
func TestWith(t *testing.T) {
	with := func(p policy.Policy, names ...string) policy.Policy {
		p.With = names
		return p
	}
	replacing := func(p policy.Policy, names ...string) policy.Policy {
		p.Replaces = names
		return p
	}
	var lots []string
	for i := range policy.MaxReplaces + 1 {
		lots = append(lots, fmt.Sprint("r", i))
	}
	s := setOf(t, with(perSecond("user", 1, "user"), "tenant", "region"), with(perSecond("tenant", 1, "tenant"), "all", "region"),
		perSecond("region", 1, "region"), with(perSecond("all", 1), "user"))
	for name, want := range map[string]string{"user": "tenant region all", "tenant": "all region user", "region": "", "all": "user tenant region"} {
		p, err := s.Policy(name)
		if err != nil || strings.Join(p.Together(), " ") != want {
			t.Errorf("%s is decided with %v, want %s: %v", name, p.Together(), want, err)
		}
	}
	var many []policy.Policy
	var names []string
	for i := range 9 {
		names = append(names, fmt.Sprint("p", i))
		many = append(many, perSecond(names[i], 1))
	}
	for _, c := range []struct {
		policies []policy.Policy
		want     string
	}{
		{[]policy.Policy{with(perSecond("a", 1), "b", "b"), perSecond("b", 1)}, `policy "a": with: "b" is named twice: leave one out`},
		{[]policy.Policy{with(perSecond("a", 1), "a")}, `policy "a": with: "a" is the policy itself: leave it out`},
		{[]policy.Policy{with(perSecond("a", 1), "aa"), perSecond("ab", 1)}, `policy "a": with: unknown policy "aa": did you mean`},
		{[]policy.Policy{replacing(perSecond("a", 1), "b", "b"), perSecond("b", 1)}, `policy "a": replaces: "b" is named twice: leave one out`},
		{[]policy.Policy{replacing(perSecond("a", 1), "a")}, `policy "a": replaces: "a" is the policy itself: leave it out`},
		{[]policy.Policy{replacing(perSecond("a", 1), "aa"), perSecond("ab", 1)}, `policy "a": replaces: unknown policy "aa": did you mean`},
		{[]policy.Policy{replacing(perSecond("a", 1), lots...)}, `policy "a": replaces: 65 policies, want at most 64`},
		{append(many, with(perSecond("a", 1), names...)), `policy "a": with: 9 policies in all`},
		{[]policy.Policy{{Name: "a", Sample: 2, With: []string{"b"}, Limits: perSecond("a", 9).Limits}, perSecond("b", 1)},
			`policy "a": sample: one check in 2, but it is decided with other policies`},
	} {
		if _, err := policy.NewSet(c.policies...); !errors.Is(err, policy.ErrInvalidPolicy) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	for text, want := range map[string]string{
		"with: [tenat]":     `limits.yaml:4:46: policy "a": with: unknown policy "tenat": did you mean "tenant"?`,
		"with: tenant":      `with: a single value here: want a list of policies, such as [ceiling]`,
		"replaces: [tenat]": `limits.yaml:4:50: policy "a": replaces: unknown policy "tenat": did you mean "tenant"?`,
		"replaces: tenant":  `replaces: a single value here: want a list of policies, such as [everybody]`,
		"with: [{a: b}]":    `with: a mapping here: want a name`,
	} {
		_, err := policy.Parse("limits.yaml", []byte("version: 1\npolicies:\n  tenant: {key: [], limits: [{rate: 1/s}]}\n"+
			"  a: {key: [], limits: [{rate: 1/s}], "+text+"}\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestSetIsEmpty(t *testing.T) {
	var none *policy.Set
	for name, s := range map[string]*policy.Set{"nil": none, "zero": {}, "new": setOf(t)} {
		if s.Len() != 0 || len(s.Names()) != 0 {
			t.Errorf("%s: %d policies: %v", name, s.Len(), s.Names())
		}
		const want = `unknown policy "api": no policies are defined`
		if _, err := s.Policy("api"); !errors.Is(err, policy.ErrUnknownPolicy) || err.Error() != want {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}

func TestSetPolicy(t *testing.T) {
	few := setOf(t, perSecond("api", 1), perSecond("login", 1), perSecond("app", 1))
	var policies []policy.Policy
	for i := range 15 {
		policies = append(policies, perSecond(fmt.Sprintf("policy-%02d", i), 1))
	}
	many := setOf(t, policies...)
	for _, c := range []struct {
		s          *policy.Set
		name, want string
	}{
		{few, "apj", `unknown policy "apj": did you mean "api" or "app"?`},
		{few, "appi", `unknown policy "appi": did you mean "api" or "app"?`},
		{few, "lgoin", `unknown policy "lgoin": did you mean "login"?`},
		{few, "payments", `unknown policy "payments": known are "api", "app", "login"`},
		{setOf(t, perSecond("a", 1), perSecond("bc", 1)), "z", `unknown policy "z": known are "a", "bc"`},
		{few, "", `unknown policy "": known are "api", "app", "login"`},
		{few, "LOGIN", `unknown policy "LOGIN": known are "api", "app", "login"`},
		{many, "policy-0", `unknown policy "policy-0": did you mean "policy-00" or "policy-01" or "policy-02"?`},
		{many, "zzz", `unknown policy "zzz": known are "policy-00", "policy-01", "policy-02", "policy-03", "policy-04", ` +
			`"policy-05", "policy-06", "policy-07", "policy-08", "policy-09" and 5 more`},
		{few, strings.Repeat("a", 5000),
			`unknown policy "` + strings.Repeat("a", 64) + `"...: known are "api", "app", "login"`},
	} {
		p, err := c.s.Policy(c.name)
		if p != nil || !errors.Is(err, policy.ErrUnknownPolicy) || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
	if p, err := few.Policy("api"); err != nil || p.Name != "api" || p.Limits[0].Name != "api" {
		t.Errorf("got %+v, %v, want api", p, err)
	}
}

func TestSetIsACopy(t *testing.T) {
	mine := perSecond("api", 1, "user")
	s := setOf(t, mine)
	mine.Key[0], mine.Limits[0].Count = "ip", 99
	s.Names()[0] = "other"
	p, err := s.Policy("api")
	if err != nil || p.Key[0] != "user" || p.Limits[0].Count != 1 || !slices.Equal(s.Names(), []string{"api"}) {
		t.Errorf("the set changed with its caller's values: %+v, %v", p, err)
	}
}

func TestNewSetSaysAllAtOnce(t *testing.T) {
	bad := perSecond("b c", 1, "user", "user")
	bad.Limits = append(bad.Limits, bad.Limits[0], policy.Limit{Name: "x", Limit: bucket.Limit{Count: 1, Burst: 1}})
	bad.Limits[1].Name = "né"
	s, err := policy.NewSet(perSecond("a", 1), perSecond("a", 2), policy.Policy{Name: strings.Repeat("n", 129)}, bad)
	want := []string{
		`invalid policy: policy "a" is defined twice: rename one`,
		`invalid policy: policy "` + strings.Repeat("n", 64) + `"...: name: 129 bytes, want 1 to 128`,
		`invalid policy: policy "` + strings.Repeat("n", 64) + `"...: ` +
			`limits: none, want at least one, such as {rate: 10/min}`,
		`invalid policy: policy "b c": name: "b c" has " " at byte 2, ` +
			`want printable ASCII without spaces, quotes and backslashes`,
		`invalid policy: policy "b c": key attribute "user" is named twice: leave one out`,
		`invalid policy: policy "b c": limit 2: name: "né" has "\xc3" at byte 2, ` +
			`want printable ASCII without spaces, quotes and backslashes`,
		`invalid policy: policy "b c": limit 3: invalid limit: 1 tokens per 0s, want a period above zero`,
		`invalid policy: policy "b c": limit 2 is the same as limit 1 (1/s, burst 1): leave one out`,
	}
	if s != nil || !errors.Is(err, policy.ErrInvalidPolicy) || err.Error() != strings.Join(want, "\n") {
		t.Errorf("got\n%v\nwant\n%s", err, strings.Join(want, "\n"))
	}
}

func TestValidate(t *testing.T) {
	good := perSecond("api", 1, "user")
	if err := good.Validate(); err != nil || good.Limits[0].Name != "" {
		t.Errorf("%+v: %v, want no error and no change", good, err)
	}
	long := perSecond(strings.Repeat("n", policy.MaxNameBytes), 1)
	long.Limits = append(long.Limits, policy.Limit{Limit: bucket.Limit{Count: 2, Per: 1, Burst: 1}})
	if err := long.Validate(); err != nil {
		t.Errorf("the longest name with two unnamed limits: %v", err)
	}
	wide := perSecond("api", 1)
	for i := range policy.MaxKeyParts + 1 {
		wide.Key = append(wide.Key, fmt.Sprint("a", i))
	}
	const want = `invalid policy: policy "api": key: 17 attributes, want at most 16`
	if err := wide.Validate(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := (&policy.Policy{}).Validate(); !errors.Is(err, policy.ErrInvalidPolicy) {
		t.Errorf("the zero policy: %v", err)
	}
}

// The rows of policy language that are told as takes: what is written is what is admitted.
func TestPoliciesAsTaken(t *testing.T) {
	load := func(t *testing.T, limit string) bucket.Limit {
		t.Helper()
		s, err := policy.Parse("f", []byte("version: 1\npolicies: {p: {key: [], limits: [{"+limit+"}]}}"))
		if err != nil {
			t.Fatal(err)
		}
		p, err := s.Policy("p")
		if err != nil {
			t.Fatal(err)
		}
		return p.Limits[0].Limit
	}
	type take struct {
		at      time.Duration
		times   int
		allowed bool
		retry   time.Duration
	}
	for _, c := range []struct {
		name, limit string
		takes       []take
	}{
		{"C35", "rate: 1/24h", []take{
			{0, 1, true, 0}, {86_399 * time.Second, 1, false, time.Second}, {86_400 * time.Second, 1, true, 0}}},
		{"C50", "rate: 2/s", []take{{0, 2, true, 0}, {0, 1, false, 500 * time.Millisecond}}},
		{"C52", "rate: 6/1m", []take{{0, 6, true, 0}, {0, 1, false, 10 * time.Second}}},
		{"burst 0 blocks all", "rate: 6/s, burst: 0", []take{{0, 1, false, 0}, {time.Hour, 1, false, 0}}},
		{"rate 0", "rate: 0/s, burst: 2", []take{{0, 2, true, 0}, {time.Hour, 1, false, 0}}},
		{"burst as text", `rate: 1/s, burst: "1k"`, []take{{0, 1000, true, 0}, {0, 1, false, time.Second}}},
		{"burst with underscores", "rate: 1/s, burst: 1_000", []take{{0, 1000, true, 0}, {0, 1, false, time.Second}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := load(t, c.limit)
			s := bucket.Full(&l, 0)
			for _, take := range c.takes {
				for i := range take.times {
					if d := s.Take(&l, bucket.Instant(take.at), 1); d.Allowed != take.allowed || d.RetryAfter != take.retry {
						t.Fatalf("take %d at %v: %+v, want allowed %v, retry %v", i+1, take.at, d, take.allowed, take.retry)
					}
				}
			}
		})
	}
}

// TestDefinition: a set made of what another is made of does the same.
func TestDefinition(t *testing.T) {
	s := read(t, whole)
	d := s.Definition()
	same, err := d.Set()
	if err != nil {
		t.Fatal(err)
	}
	for _, req := range []policy.Request{
		{Attributes: attributes{"user": "ann", "route": "/v1/search", "tier": "free", "api_key": "sesame"}},
		{Attributes: attributes{"ip": "2001:db8:1:2:3::4"}, Costs: map[string]int64{"output_tokens": 3}},
		{Attributes: attributes{"ip": "10.1.2.3"}},
		{Policy: "llm", Parts: []string{"acme", "large-1"}, Costs: map[string]int64{"output_tokens": 3}},
	} {
		want, err := s.Explain(&req)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := same.Explain(&req); err != nil || got.String() != want.String() {
			t.Errorf("%v, %v, want %v", got, err, want)
		}
	}
	d.Policies[0].Name = "renamed"
	if names := s.Names(); names[0] != "anonymous" {
		t.Errorf("the set has changed: %q", names)
	}
	var none *policy.Set
	if d := none.Definition(); len(d.Policies) > 0 {
		t.Errorf("%+v", d)
	}
}
