package policy_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
)

const priced = `version: 1
units: [requests, input_tokens, output_tokens, images]
policies:
  llm:
    key: [tenant]
    limits:
      - {name: calls, rate: 10/s}
      - {name: in, unit: input_tokens, rate: 200k/min}
      - {name: out, unit: output_tokens, rate: 40k/min}
  spend:
    key: [tenant]
    cost: {unit: output_tokens, by: model, weights: {"large-*": 20, "large-2": 30, "*-mini": 2, "*": 5}, default: 3}
    limits: [{unit: output_tokens, quota: 10M/month, overage: 20%}]
  dear:
    key: [tenant]
    cost: {by: route, weights: {/search: 10}}
    limits: [{rate: 100/s}, {rate: 1000/h}]
`

func pricedSet(t *testing.T) *policy.Set {
	t.Helper()
	s, err := policy.Parse("limits.yaml", []byte(priced))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestCosts prices requests: by unit, and by weights.
func TestCosts(t *testing.T) {
	set := pricedSet(t)
	most := int64(bucket.MaxTokens)
	model := func(name string) map[string]string { return map[string]string{"model": name} }
	type costs = map[string]int64
	for _, c := range []struct {
		policy string
		req    policy.Request
		cost   int64
		each   []int64
		err    string
	}{
		{"llm", policy.Request{}, 1, []int64{1, 0, 0}, ""},
		{"llm", policy.Request{Cost: 3}, 3, []int64{3, 0, 0}, ""},
		{"llm", policy.Request{Costs: costs{"input_tokens": 900, "output_tokens": 7}}, 900, []int64{1, 900, 7}, ""},
		{"llm", policy.Request{Costs: costs{"requests": 2, "output_tokens": 7}}, 7, []int64{2, 0, 7}, ""},
		{"llm", policy.Request{Costs: costs{"images": 7, "input_tokens": 0}}, 1, []int64{1, 0, 0}, ""},
		{"llm", policy.Request{Costs: costs{"output_tokens": -1}}, 0, nil, "costs: output_tokens is -1, want 1 to 9007199254740992 (2^53)"},
		{"llm", policy.Request{Costs: costs{"output_tokens": most + 1}}, 0, nil, "costs: output_tokens is 9007199254740993"},
		{"llm", policy.Request{Costs: costs{"output_token": 1}}, 0, nil,
			`costs: no limit counts unit "output_token": did you mean "output_tokens"?`},
		{"llm", policy.Request{Costs: costs{"seconds": 1}}, 0, nil,
			`costs: no limit counts unit "seconds", want "requests", "images", "input_tokens", "output_tokens"`},
		{"llm", policy.Request{Costs: costs{"requests": 0}}, 0, nil, "costs: requests is 0, want 1 or more"},
		{"llm", policy.Request{Cost: 2, Costs: costs{"requests": 1}}, 0, nil, "cost is 2 but costs says 1: give one of them"},
		{"llm", policy.Request{Cost: -1}, 0, nil, "cost is -1"},
		{"spend", policy.Request{}, 0, nil, ""},
		{"spend", policy.Request{Attributes: model("large-1"), Costs: costs{"output_tokens": 7}}, 140, nil, ""},
		{"spend", policy.Request{Attributes: model("large-2"), Costs: costs{"output_tokens": 7}}, 210, nil, ""},
		{"spend", policy.Request{Attributes: model("small-mini"), Costs: costs{"output_tokens": 7}}, 14, nil, ""},
		{"spend", policy.Request{Attributes: model("x"), Costs: costs{"output_tokens": 7}}, 35, nil, ""},
		{"spend", policy.Request{Costs: costs{"output_tokens": 7}}, 35, nil, ""},
		{"spend", policy.Request{Attributes: model("large-2"), Costs: costs{"output_tokens": most / 30}}, most / 30 * 30, nil, ""},
		{"spend", policy.Request{Attributes: model("large-2"), Costs: costs{"output_tokens": most/30 + 1}}, 0, nil,
			`300239975158034 of unit output_tokens, each weighed as 30 by model "large-2", is above 9007199254740992 (2^53)`},
		{"spend", policy.Request{Attributes: model("large-2"), Costs: costs{"output_tokens": most}}, 0, nil, "is above"},
		{"dear", policy.Request{}, 1, nil, ""},
		{"dear", policy.Request{Cost: 4, Attributes: map[string]string{"route": "/search"}}, 40, nil, ""},
		{"dear", policy.Request{Attributes: map[string]string{"route": "/search/x"}}, 1, nil, ""},
	} {
		p, err := set.Policy(c.policy)
		if err != nil {
			t.Fatal(err)
		}
		cost, each, err := p.Costs(&c.req)
		switch {
		case c.err != "" && (!errors.Is(err, policy.ErrInvalid) || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s, %+v: %v, want %s", c.policy, c.req, err, c.err)
		case c.err == "" && (err != nil || cost != c.cost || !slices.Equal(each, c.each)):
			t.Errorf("%s, %+v: %d, %v, %v, want %d, %v", c.policy, c.req, cost, each, err, c.cost, c.each)
		}
	}
}

// TestCostsRefuses gives what is wrong with units and weights in a file, and what is said about it.
func TestCostsRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"units: [requests, requests]\npolicies: {}", `units: "requests" is there twice: leave one out`},
		{"units: requests\npolicies: {}", `units: a single value here: want a list of units, such as [requests, input_tokens]`},
		{"units: [a b]\npolicies: {}", `units: "a b" has " " at byte 2`},
		{"units: [input_tokens]\npolicies: {a: {key: [], limits: [{unit: input_token, rate: 1/s}]}}",
			`limit 1: unknown unit "input_token": did you mean "input_tokens"?`},
		{"policies: {a: {key: [], limits: [{unit: tokens, rate: 1/s}]}}",
			`limit 1: unknown unit "tokens": want "requests", or add it to the units of the file`},
		{"policies: {a: {key: [], cost: {weights: {x: 2}}, limits: [{rate: 1/s}]}}", `cost: field "by" is missing`},
		{"policies: {a: {key: [], cost: {by: x}, limits: [{rate: 1/s}]}}", `cost: field "weights" is missing`},
		{"policies: {a: {key: [], cost: {by: x, weights: {y: 0}}, limits: [{rate: 1/s}]}}",
			`cost: weights: "y": 0, want a whole number above zero`},
		{"policies: {a: {key: [], cost: {by: x, weights: {y: 1.5}}, limits: [{rate: 1/s}]}}", `want a whole number`},
		{"policies: {a: {key: [], cost: {by: x, weights: {y: 6}}, limits: [{rate: 5/s}, {rate: 9/min}]}}",
			`cost: the weight of "y" is 6, more than the 5 that a limit of unit "requests" ever admits at a time: lower it`},
		{"policies: {a: {key: [], cost: {by: x, weights: {y: 2}, default: 6}, limits: [{rate: 5/s}]}}", `cost: default is 6, more than the 5`},
		{"units: [t]\npolicies: {a: {key: [], cost: {unit: t, by: x, weights: {y: 2}}, limits: [{rate: 5/s}]}}",
			`cost: no limit of the policy counts unit "t": want one that some limit has`},
		{"units: [t]\npolicies: {a: {key: [], sample: 10%, limits: [{rate: 50/s}, {unit: t, rate: 50/s}]}}",
			`sample: one check in 10, but requests cost several units, are weighed, or limits have conditions or are in shadow mode: leave the sample out`},
	} {
		_, err := policy.Parse("limits.yaml", []byte("version: 1\n"+c.text+"\n"))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
		}
	}
	_, err := policy.NewSet(policy.Policy{Name: "a", Limits: []policy.Limit{{Unit: "a b", Limit: bucket.Limit{Burst: 1}}},
		Weights: policy.Weights{Unit: "x", Weights: map[string]int64{"y": 2}}})
	for _, want := range []string{`limit 1: unit: "a b" has " "`, `cost: without "by" nothing is weighed`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
