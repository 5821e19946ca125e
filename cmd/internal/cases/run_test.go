package cases_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/cmd/internal/cases"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const limits = `version: 1
attributes: {api_key: {hash: true}}
units: [requests, tokens]
exempt: [{route: /healthz}]
policies:
  api:
    when: {user: present}
    key: [user]
    limits: [{rate: 5/s}, {name: day, quota: 100/day, zone: Europe/Berlin, overage: 10%}]
    tiers: {staff: {unlimited: true}}
    with: [all]
  mail: {when: {domain: present}, key: [domain], limits: [{algorithm: pacer, rate: 2/s, max_wait: 1s}]}
  trial: {when: {trial: present}, key: [trial], shadow: true, limits: [{rate: 1/h, burst: 2}]}
  sampled: {when: {sensor: present}, key: [sensor], sample: 10%, limits: [{rate: 10/s}]}
  strict: {key: [tenant], on_missing: deny, when: {tenant: absent, strict: present}, limits: [{rate: 1/s}]}
  llm: {when: {model: present}, key: [model], limits: [{unit: tokens, rate: 10/h}]}
  all: {key: [], limits: [{rate: 1000/s}]}
`

// run runs cases against limits and returns the report, all steps of it.
func run(t testing.TB, text string) (report string, failed int) {
	t.Helper()
	set, err := policy.Parse("limits.yaml", []byte(limits))
	if err != nil {
		t.Fatal(err)
	}
	f, err := cases.Parse("f", []byte("policies: limits.yaml\ncases:\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := cases.Run(t.Context(), set, f)
	if err != nil {
		t.Fatal(err)
	}
	r := cases.Report{Files: []cases.FileOutcome{outcome}}
	var out strings.Builder
	if err := r.WriteText(&out, true); err != nil {
		t.Fatal(err)
	}
	_, _, failed = r.Counts()
	return out.String(), failed
}

// TestRunPasses: what the policies say is what comes of it, of every kind of expectation.
func TestRunPasses(t *testing.T) {
	report, failed := run(t, `
- name: five at once, and five a second
  attributes: {user: ann}
  steps:
    - {times: 6, expect: {allowed: 5, policy: api, limit: api, remaining: 0, retry_after: 200ms, reset_after: 1s}}
    - {at: 200ms, expect: {allowed: true}}
    - {expect: {allowed: false}}
    - {at: 1s, every: 200ms, times: 10, expect: {allowed: true}}
    - {attributes: {user: bob}, expect: {allowed: true, remaining: 4}}
- name: nothing is left of the case before
  attributes: {user: ann}
  steps: [{times: 5, expect: {allowed: true}}]
- name: a quota goes by the calendar of its zone
  start: 2026-06-30T12:00:00Z
  attributes: {user: ann}
  steps:
    - {every: 1s, times: 100, expect: {allowed: true, overage: false}}
    - {at: 1h, every: 1s, times: 10, expect: {allowed: true, overage: true}}
    - {at: 2026-06-30T21:59:59Z, expect: {allowed: false, limit: day, retry_after: 1s, never: false}}
    - {at: 2026-07-01T00:00:00+02:00, expect: {allowed: true, overage: false}}
- name: looking takes nothing
  steps:
    - {policy: api, key: ann, cost: 0, times: 9, expect: {allowed: true, remaining: 5}}
    - {policy: api, key: ann, cost: 6, expect: {allowed: false, never: true}}
    - {policy: api, key: ann, cost: 5, expect: {allowed: true, remaining: 0}}
- name: a pacer says how long to wait
  attributes: {domain: example.org}
  steps: [{expect: {wait: 0}}, {expect: {allowed: true, wait: 500ms, retry_after: 0}}, {times: 2, expect: {allowed: 1, retry_after: 500ms}}]
- name: on trial
  attributes: {trial: x}
  steps:
    - {times: 2, expect: {allowed: true, shadow_denied: false}}
    - {times: 5, expect: {allowed: true, shadow_denied: true, policy: all}}
- name: every check of a sampled policy is decided
  attributes: {sensor: x}
  steps: [{times: 500, expect: {allowed: 10, decided_by: owner}}]
- name: who is left alone, and who is not
  steps:
    - {attributes: {route: /healthz}, expect: {decided_by: exempt, allowed: true}}
    - {policy: api, key: ann, attributes: {tier: staff}, expect: {allowed: true, policy: all}}
    - {attributes: {strict: yes}, expect: {decided_by: missing_key, allowed: false, never: true, policy: strict}}
    - {expect: {policy: all, limit: all}}
- name: units
  attributes: {model: x}
  steps:
    - {costs: {tokens: 7}, expect: {allowed: true, policy: llm, remaining: 3}}
    - {costs: {tokens: 4}, expect: {allowed: false, retry_after: 6min}}
    - {costs: {tokens: 3}, expect: {allowed: true, remaining: 0}}
- name: refused
  steps:
    - {policy: apj, expect: {refused: 'did you mean "api"'}}
    - {key: ann, expect: {refused: names no policy}}
    - {costs: {toekns: 1}, attributes: {user: ann}, expect: {refused: 'did you mean "tokens"?'}}
    - {policy: api, times: 3, expect: {refused: is absent or empty}}
`)
	if failed > 0 {
		t.Error(report)
	}
}

// TestRunFails: what is not as expected is said, with what it was instead, and the steps after it are asked all the same.
func TestRunFails(t *testing.T) {
	const text = `- name: all of it
  attributes: {user: ann}
  steps:
    - {expect: {allowed: false}}
    - {times: 9, expect: {allowed: true}}
    - {expect: {allowed: true, policy: all, limit: other, remaining: 7, retry_after: 1s, never: true, overage: true, shadow_denied: true, decided_by: lease}}
    - {attributes: {domain: x, user: ""}, times: 2, expect: {wait: 1s, reset_after: 0}}
    - {attributes: {route: /healthz}, expect: {policy: api}}
    - {expect: {refused: no}}
    - {policy: apj, expect: {allowed: true}}
    - {policy: apj, expect: {refused: absent}}
    - {times: 9, expect: {allowed: 5}}
    - {policy: api, key: bob, cost: 9, expect: {allowed: true}}
`
	const want = `f:6: case all of it: step 1: allowed is true, want false (decided by owner, policy api, limit api, remaining 4)
f:7: case all of it: step 2: 4 of 9 are allowed, want 9 (decided by owner, policy api, limit api, remaining 0, retry after 200ms)
f:8: case all of it: step 3: allowed is false, want true; policy is api, want all; limit is api, want other; remaining is 0, want 7; ` +
		`retry_after is 200ms, want 1s; never is false, want true; overage is false, want true; shadow_denied is false, want true; ` +
		`decided_by is owner, want lease (decided by owner, policy api, limit api, remaining 0, retry after 200ms)
f:9: case all of it: step 4: wait is 500ms, want 1s; reset_after is 1s, want 0s (decided by owner, policy mail, limit mail, remaining 1, wait 500ms)
f:10: case all of it: step 5: policy is nothing, want api (decided by exempt)
f:11: case all of it: step 6: it is decided, want it to be refused (decided by owner, policy api, limit api, remaining 0, retry after 200ms)
f:12: case all of it: step 7: refused: unknown policy "apj": did you mean "api" or "all"?
f:13: case all of it: step 8: refused for another reason than "absent": unknown policy "apj": did you mean "api" or "all"?
f:14: case all of it: step 9: 0 of 9 are allowed, want 5 (decided by owner, policy api, limit api, remaining 0, retry after 200ms)
f:15: case all of it: step 10: allowed is false, want true (decided by owner, policy api, limit api, remaining 5, never)
1 case, 10 steps, 10 failed
`
	report, failed := run(t, text)
	if diff := cmp.Diff(want, report); diff != "" || failed != 10 {
		t.Error(diff)
	}
}

func TestRunEnds(t *testing.T) {
	f, err := cases.Parse("f", []byte("policies: x\ncases: [{name: a, steps: [{times: 1M, expect: {allowed: true}}]}]"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := cases.Run(ctx, nil, f); !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "f:2: case a: ") {
		t.Errorf("%v", err)
	}
}

func TestReportJSON(t *testing.T) {
	r := cases.Report{
		Files:    []cases.FileOutcome{{Name: "f", Cases: []cases.CaseOutcome{{Name: "<a>", Steps: []cases.Outcome{{Step: 1, Refused: "no", Wrong: []string{"x"}}}}}}},
		Problems: []policy.Problem{{File: "g", Line: 1, Column: 2, Text: "bad"}},
	}
	var out strings.Builder
	if err := r.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	const want = `{"cases":1,"steps":1,"failed":1,"problems":[{"file":"g","line":1,"column":2,"text":"bad"}],"results":[{"file":"f","line":0,` +
		`"case":"<a>","step":1,"at":"0s","passed":false,"wrong":["x"],"times":0,"allowed":0,"refused":"no"}]}` + "\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	out.Reset()
	if err := new(cases.Report).WriteJSON(&out); err != nil || !json.Valid([]byte(out.String())) || strings.Contains(out.String(), "null") {
		t.Errorf("%s, %v", out.String(), err)
	}
}

// TestNodeDoesWhatIsExplained asks a node what Explain says: whether a request is exempt, whether any policy applies, which of them
// has decided.
func TestNodeDoesWhatIsExplained(t *testing.T) {
	set, err := policy.Parse("limits.yaml", []byte(limits))
	if err != nil {
		t.Fatal(err)
	}
	values := map[string][]string{
		"user": {"", "ann"}, "tier": {"", "staff"}, "route": {"", "/healthz"}, "domain": {"", "x"}, "strict": {"", "x"}, "tenant": {"", "x"},
	}
	all := []map[string]string{{}}
	for name, some := range values {
		var more []map[string]string
		for _, a := range all {
			for _, value := range some {
				b := map[string]string{name: value}
				for k, v := range a {
					b[k] = v
				}
				more = append(more, b)
			}
		}
		all = more
	}
	for _, name := range append(set.Names(), "") {
		f := &cases.File{Name: "f"}
		for _, a := range all {
			req := policy.Request{Policy: name, Attributes: a}
			f.Cases = append(f.Cases, cases.Case{Name: name, Steps: []cases.Step{{Request: req, Times: 1}}})
		}
		outcome, err := cases.Run(t.Context(), set, f)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range f.Cases {
			req := &c.Steps[0].Request
			x, err := set.Explain(req)
			if err != nil {
				t.Fatal(err)
			}
			var applies []string
			for _, p := range x.Policies {
				if p.Applies {
					applies = append(applies, p.Policy)
				}
			}
			o := outcome.Cases[i].Steps[0]
			d := o.Last
			switch says := x.String(); {
			case x.Exempt != "":
				if d.DecidedBy != policy.Exempt || d.Policy != name {
					t.Errorf("%q %v: %+v, but it says\n%s", name, req.Attributes, d, says)
				}
			case o.Refused != "" || d.DecidedBy == policy.MissingKey:
				if !strings.Contains(says, "it is refused") && !strings.Contains(says, "it is denied") {
					t.Errorf("%q %v: %+v, but it says\n%s", name, req.Attributes, o, says)
				}
			case len(applies) == 0:
				if d.DecidedBy != policy.NoPolicy {
					t.Errorf("%q %v: %+v, but it says\n%s", name, req.Attributes, d, says)
				}
			case !strings.Contains(strings.Join(applies, " "), d.Policy) || d.Policy == "":
				t.Errorf("%q %v: %+v, but it says\n%s", name, req.Attributes, d, says)
			}
		}
	}
}
