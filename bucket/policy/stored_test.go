package policy_test

import (
	"strings"
	"testing"

	"github.com/drossel-dev/drossel/bucket/policy"
)

const storedPolicies = `
version: 1
units: [requests, input_tokens]
policies:
  api:
    key: [user]
    on_unreachable: deny
    limits: [{rate: 20/s}, {name: day, rate: 1000/d}]
    tiers: {gold: {limits: [{rate: 200/s}]}, internal: {unlimited: true}, trial: {limits: [{rate: 1/s, shadow: true}]}}
  llm:
    key: [tenant]
    limits: [{name: in, unit: input_tokens, rate: 1k/min, when: {model: big}}, {name: dry, rate: 5/s, shadow: true}]
  free: {key: [user], unlimited: true}
  spend: {key: [user], consistency: strict, limits: [{quota: 100/month}], tiers: {gold: {limits: [{quota: 900/month}]}}}
`

func TestStored(t *testing.T) {
	set, err := policy.Parse("limits.yaml", []byte(storedPolicies))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		policy, text string
		want         string // of the limits, or in the error
	}{
		{"api", `{"tier": "gold"}`, "api 200/s, day -"},
		{"api", `{"tier": "internal"}`, "nothing"},
		{"api", `{"tier": "trial"}`, "nothing"},
		{"api", `{"unlimited": true}`, "nothing"},
		{"api", `{"limits": [{"rate": "7/s"}]}`, "api 7/s, day -"},
		{"api", `{"limits": [{"rate": "7\/s"}]}`, "api 7/s, day -"},
		{"api", `{"tier": "a\\\/b"}`, `unknown tier "a\\/b"`},
		{"api", `{limits: [{name: day, rate: 9/d}]}`, "api -, day 9/d"},
		{"api", `{limits: [{name: day, rate: 9/d}, {rate: 5/s}]}`, "api 5/s, day 9/d"},
		{"llm", `{"limits": [{"name": "in", "rate": "2k/min"}]}`, "in 2k/min"},
		{"api", `{"tier": "glod"}`, `did you mean "gold"?`},
		{"api", `{"tier": "silver"}`, `policy "api" has "gold", "internal", "trial"`},
		{"llm", `{"tier": "gold"}`, "has no tiers"},
		{"api", `{"tier": "gold", "unlimited": true}`, "want one of"},
		{"api", `{}`, "want one of"},
		{"api", ``, "want one of"},
		{"api", `{"tiers": "gold"}`, `did you mean "tier"?`},
		{"api", `{"unlimited": false}`, "want true"},
		{"api", `{"limits": []}`, "at least one"},
		{"api", `{"limits": [{"rate": "7/s"}, {"rate": "8/s"}]}`, `"api-2": policy "api" has no limit of that name: want "api", "day"`},
		{"api", `{"limits": [{"rate": "7/lightyear"}]}`, "7/lightyear"},
		{"api", `{"limits": [{"rate": "7/s", "shadow": true}]}`, "shadow"},
		{"api", `{"limits": [{"rate": "7/s", "sample": "10%"}]}`, "sample"},
		{"llm", `{"limits": [{"name": "dry", "rate": "7/s"}]}`, `"dry"`},
		{"spend", `{"tier": "gold"}`, `"spend" is strict`},
		{"api", `{"limits": [{"rate": "7/s", "consistency": "strict"}]}`, "the policy is not strict"},
		{"free", `{"limits": [{"rate": "7/s"}]}`, `"free"`},
		{"api", `{"limits": [` + strings.Repeat(`{"rate": "7/s"},`, 200) + `]}`, "bytes, want at most"},
	} {
		p, err := set.Policy(c.policy)
		if err != nil {
			t.Fatal(err)
		}
		v, err := p.Stored(c.text)
		got := "nothing"
		switch {
		case err != nil:
			got = err.Error()
		case v != nil:
			var all []string
			for i, l := range v.Limits {
				text := strings.TrimPrefix(policy.FormatLimit(l.Limit), "{rate: ")
				text, _, _ = strings.Cut(strings.TrimSuffix(text, "}"), ",")
				if v.Lacks(i) {
					text = "-"
				}
				all = append(all, l.Name+" "+text)
			}
			got = strings.Join(all, ", ")
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%s: %s is %q, want %q", c.policy, c.text, got, c.want)
		}
	}
}

// What stored limits do not say is as the policy has it.
func TestStoredInherits(t *testing.T) {
	set, err := policy.Parse("limits.yaml", []byte(storedPolicies))
	if err != nil {
		t.Fatal(err)
	}
	llm, _ := set.Policy("llm")
	v, err := llm.Stored(`{"limits": [{"name": "in", "rate": "2k/min"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	for model, want := range map[string]int64{"big": 7, "small": 0} {
		cost, each, err := v.Costs(&policy.Request{Attributes: map[string]string{"model": model}, Costs: map[string]int64{"input_tokens": 7}})
		if got := max(cost, 0); err != nil || (len(each) > 0 && each[0] != want) || (len(each) == 0 && got != want) {
			t.Errorf("model %s costs %d %v, %v, want %d", model, cost, each, err, want)
		}
	}
	api, _ := set.Policy("api")
	if v, err = api.Stored(`{"limits": [{"rate": "3/s"}]}`); err != nil || v.Limits[0].OnUnreachable != policy.UnreachableDeny {
		t.Errorf("%v, %v: the rule for failures is not the policy's", v, err)
	}
}

func FuzzStored(f *testing.F) {
	for _, seed := range []string{`{"tier": "gold"}`, `{"limits": [{"rate": "7/s", "burst": 3}]}`, `{unlimited: true}`, `limits: [{name: day, rate: 1/d}]`} {
		f.Add(seed)
	}
	set, err := policy.Parse("limits.yaml", []byte(storedPolicies))
	if err != nil {
		f.Fatal(err)
	}
	api, _ := set.Policy("api")
	f.Fuzz(func(t *testing.T, text string) {
		v, err := api.Stored(text)
		if again, err2 := api.Stored(policy.CompactStored(text)); (err == nil) != (err2 == nil) || (v == nil) != (again == nil) {
			t.Fatalf("%q is %v, %v, and compact %v, %v", text, v, err, again, err2)
		}
		if err == nil && v != nil && len(v.Limits) != 2 {
			t.Fatalf("%q has %d limits, want those of all variants", text, len(v.Limits))
		}
	})
}

// TestExplainWith: what a key has of its own is explained as what it gets.
func TestExplainWith(t *testing.T) {
	set, err := policy.Parse("limits.yaml", []byte(storedPolicies))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		policy, key, tier string
		text              string
		err               error
		want, not         string
	}{
		{"api", "ann", "", `{"tier":"gold"}`, nil, "of the key alone: {\"tier\":\"gold\"}\n    api: 200/s", "day"},
		{"api", "ann", "", `{"limits":[{"name":"day","rate":"5/d"}]}`, nil, "day: 5/d", "api: "},
		{"api", "ann", "", `{"unlimited":true}`, nil, "and unlimited by of the key alone", "day"},
		{"api", "ann", "", `{"tier":"lead"}`, nil, "without effect", "alone"},
		{"api", "ann", "", "", nil, "its own limits", "alone"},
		{"api", "ann", "", "", policy.ErrUnavailable, "if the key has no limits of its own: " + policy.ErrUnavailable.Error(), "alone"},
		{"api", "ann", "internal", `{"tier":"gold"}`, nil, "unlimited by tier internal", "alone"},
		{"llm", "acme", "", `{"limits":[{"name":"in","rate":"2k/min"}]}`, nil, "dry: 5/s", "1k/min"},
	} {
		req := policy.Request{Policy: c.policy, Key: c.key, Attributes: map[string]string{"tier": c.tier}}
		x, err := set.ExplainWith(&req, func(key []byte) (string, error) {
			if !strings.Contains(string(key), c.key) {
				t.Errorf("asked for %q", key)
			}
			return c.text, c.err
		})
		if got := x.String(); err != nil || !strings.Contains(got, c.want) || strings.Contains(got, c.not) {
			t.Errorf("%s %s: %v\n%swant %q and no %q", c.policy, c.text, err, got, c.want, c.not)
		}
	}
}
