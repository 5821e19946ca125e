package cases_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/cmd/internal/cases"
)

const good = `# Everything that a file of cases may have.
policies: ../limits.yaml
start: 2026-03-01T00:00:00Z
cases:
  - name: a free user gets five a second
    attributes: {user: ann, tier: free}
    steps:
      - {at: 0s, attributes: {route: /v1/x}, times: 5, expect: {allowed: true}}
      - {attributes: {tier: ""}, expect: {allowed: false, policy: api, limit: api, retry_after: 200ms}}
      - {at: 1s, policy: api, key: 42, cost: 3, costs: {input_tokens: 10k}, expect: {allowed: true, remaining: 2, decided_by: owner, shadow_denied: false}}
      - {at: 1d, every: 1.5s, times: 10_000, cost: 0, expect: {allowed: 7, wait: 0, never: False, overage: true, reset_after: 1h30m}}
  - name: another
    start: 2026-03-29T01:30:00+01:00
    steps:
      - {at: 2026-03-29T02:00:00Z, expect: {refused: is absent}}
`

func TestParse(t *testing.T) {
	f, err := cases.Parse("etc/tests/a.yaml", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	of := func(route, tier string) map[string]string {
		all := map[string]string{"user": "ann", "tier": tier}
		if route != "" {
			all["route"] = route
		}
		return all
	}
	type step struct {
		line         int
		at           time.Time
		req          policy.Request
		times, every int64
	}
	want := [][]step{{
		{8, start, policy.Request{Attributes: of("/v1/x", "free")}, 5, 0},
		{9, start, policy.Request{Attributes: of("", "")}, 1, 0},
		{10, start.Add(time.Second), policy.Request{
			Policy: "api", Key: "42", Attributes: of("", "free"), Cost: 3, Costs: map[string]int64{"input_tokens": 10_000},
		}, 1, 0},
		{11, start.Add(24 * time.Hour), policy.Request{Attributes: of("", "free"), CheckOnly: true}, 10_000, 1500},
	}, {
		{15, time.Date(2026, 3, 29, 2, 0, 0, 0, time.UTC), policy.Request{}, 1, 0},
	}}
	got := make([][]step, len(f.Cases))
	for i, c := range f.Cases {
		for _, s := range c.Steps {
			got[i] = append(got[i], step{s.Line, s.At.UTC(), s.Request, s.Times, s.Every.Milliseconds()})
		}
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(step{})); diff != "" {
		t.Error(diff)
	}
	if f.Cases[0].Name != "a free user gets five a second" || f.Cases[0].Line != 5 || !f.Cases[0].Start.Equal(start) {
		t.Errorf("%+v", f.Cases[0])
	}
	if c := f.Cases[1]; c.Name != "another" || c.Line != 12 || c.Start.UTC().Hour() != 0 {
		t.Errorf("%+v", c)
	}
	if f.PoliciesFile() != "etc/limits.yaml" || f.At.Line != 2 || f.At.Column != 11 {
		t.Errorf("%s at %+v", f.PoliciesFile(), f.At)
	}
	if e := f.Cases[0].Steps[0].Expect; !e.Counted || e.Allowed != 5 {
		t.Errorf("%+v: true is all of five", e)
	}
	if e := f.Cases[0].Steps[3].Expect; !e.Counted || e.Allowed != 7 {
		t.Errorf("%+v", e)
	}
	f.Policies = "/etc/limits.yaml"
	if f.PoliciesFile() != "/etc/limits.yaml" {
		t.Error(f.PoliciesFile())
	}
}

// TestParseRefuses gives each text in which one thing is wrong, and the whole of its error without the file.
func TestParseRefuses(t *testing.T) {
	one := func(fields string) string { return "policies: x\ncases:\n - {name: a, " + fields + "}\n" }
	step := func(fields string) string { return one("steps: [{" + fields + "}]") }
	expect := func(fields string) string { return step("times: 5,expect: {" + fields + "}") }
	const ok = "expect: {allowed: true}"
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "1:1: there is nothing in it: want policies and cases"},
		{"comment only", "# nothing\n", "1:1: there is nothing in it: want policies and cases"},
		{"list", "- 1\n", "1:1: a list here: want fields: policies, start, cases"},
		{"not YAML", "a:\n  - [1\n", "1:1: not YAML, at this line or below: did not find expected ',' or ']'"},
		{"second document", "policies: x\n---\ncases: []\n", "2:1: a second document starts here: want one"},
		{"anchor", "policies: &x y\ncases: []\n", "1:11: anchors (&x) are refused: write the value out where it is needed"},
		{"alias", "policies: &x y\ncases: *x\n", "1:11: anchors (&x) are refused: write the value out where it is needed\n" +
			"f:2:8: aliases (*x) are refused: write the value out"},
		{"tag", "policies: !x y\n", "1:11: tags (!x) are refused: leave the tag out"},
		{"merge", "policies: x\n<<: {}\ncases: []\n", "2:1: merge keys (<<) are refused: write the fields out\nf:3:8: cases: none, want at least one"},
		{"nothing known", "policy: x\ncase: []\n", `1:1: unknown field "policy": want policies, start, cases` + "\n" +
			`f:1:1: field "policies" is missing` + "\n" + `f:2:1: unknown field "case": did you mean "cases"?`},
		{"near field", "polices: x\ncases: [{name: a, steps: [{" + ok + "}]}]\n", `1:1: unknown field "polices": did you mean "policies"?`},
		{"twice", "policies: x\npolicies: y\ncases: [{name: a, steps: [{" + ok + "}]}]\n",
			`2:1: field "policies" is there twice, first at line 1: leave one out`},
		{"empty file name", "policies: ''\ncases: [{name: a, steps: [{" + ok + "}]}]\n",
			"1:11: policies: nothing here: want the file of policies, such as limits.yaml"},
		{"null file name", "policies:\ncases: [{name: a, steps: [{" + ok + "}]}]\n",
			"1:10: policies: nothing here: want the file of policies, such as limits.yaml"},
		{"start", "policies: x\nstart: now\ncases: [{name: a, steps: [{" + ok + "}]}]\n",
			`2:8: start: "now", want an instant, such as 2026-03-01T00:00:00Z`},
		{"early start", "policies: x\nstart: 1969-12-31T23:59:59Z\ncases: [{name: a, steps: [{" + ok + "}]}]\n",
			"2:8: start: the year 1969, want 1970 to 2200"},
		{"cases are a mapping", "policies: x\ncases: {}\n", "2:8: cases: a mapping here: want a list of cases, each with name and steps"},
		{"case is text", "policies: x\ncases: [a]\n", "2:9: case 1: a single value here: want fields: name, start, attributes, steps"},
		{"no steps", "policies: x\ncases: [{name: a}]\n", `2:9: case "a": field "steps" is missing`},
		{"empty steps", one("steps: []"), `3:21: case "a": steps: none, want at least one`},
		{"null steps", one("steps: "), `3:21: case "a": steps: nothing here: want a list of steps, such as [{attributes: {user: ann}, expect: {allowed: true}}]`},
		{"no name", "policies: x\ncases: [{steps: [{" + ok + "}]}]\n", `2:9: case 1: field "name" is missing`},
		{"empty name", "policies: x\ncases: [{name: '', steps: [{" + ok + "}]}]\n",
			"2:16: case 1: name: nothing here: want a line that says what is tested"},
		{"name of two lines", "policies: x\ncases: [{name: \"a\\nb\", steps: [{" + ok + "}]}]\n",
			`2:16: case "a\nb": name: "a\nb" has '\n' at byte 2: want one line of text`},
		{"name twice", "policies: x\ncases: [{name: a, steps: [{" + ok + "}]}, {name: a, steps: [{" + ok + "}]}]\n",
			`2:56: case "a" is there twice, first at line 2: rename one`},
		{"case's start", one("start: 1s, steps: [{" + ok + "}]"), `3:21: case "a": start: "1s", want an instant, such as 2026-03-01T00:00:00Z`},
		{"attributes are a list", one("attributes: [user], steps: [{" + ok + "}]"),
			`3:26: case "a": attributes: a list here: want attributes, such as {user: ann}`},
		{"null attribute", step("attributes: {user: }, " + ok), `3:42: case "a": step 1: attributes: user: nothing here: want a value, or "" for none`},
		{"attribute twice", step("attributes: {user: a, user: b}, " + ok), `3:45: case "a": step 1: attributes: "user" is there twice: leave one out`},
		{"attribute's name", step("attributes: {1: a}, " + ok), `3:36: case "a": step 1: attributes: "1" is no name: write it in quotes if it is meant as one`},
		{"no expectation", step("at: 1s"), `3:22: case "a": step 1: field "expect" is missing`},
		{"unknown field", step("expcet: {allowed: true}"), `3:23: case "a": step 1: unknown field "expcet": did you mean "expect"?`},
		{"field of nothing", step("colour: red, " + ok),
			`3:23: case "a": step 1: unknown field "colour": want at, policy, key, attributes, cost, costs, times, every, expect`},
		{"at", step("at: soon, " + ok), `3:27: case "a": step 1: at: "soon", want a time, such as 250ms, 90s, 1m30s or 2d since the start, ` +
			"or an instant, such as 2026-03-01T00:00:00Z"},
		{"at below zero", step("at: -1s, " + ok), `3:27: case "a": step 1: at: "-1s", want a time, such as 250ms, 90s, 1m30s or 2d since the start, ` +
			"or an instant, such as 2026-03-01T00:00:00Z"},
		{"at a list", step("at: [1s], " + ok), `3:27: case "a": step 1: at: a list here: want a time, such as 250ms, 90s, 1m30s or 2d since the start, ` +
			"or an instant, such as 2026-03-01T00:00:00Z"},
		{"before the start", step("at: 2025-12-31T23:59:59Z, " + ok),
			`3:27: case "a": step 1: at: 1s earlier than the step before, or the start: time does not go back`},
		{"back", one("steps: [{at: 2s, " + ok + "}, {at: 1s, " + ok + "}]"),
			`3:62: case "a": step 2: at: 1s earlier than the step before, or the start: time does not go back`},
		{"back behind the last time", one("steps: [{every: 1s, times: 4, " + ok + "}, {at: 2s, " + ok + "}]"),
			`3:75: case "a": step 2: at: 1s earlier than the step before, or the start: time does not go back`},
		{"after the last year", step("at: 100000d, " + ok), `3:27: case "a": step 1: at: the year 2299, want 1970 to 2200`},
		{"policy", step("policy: '', " + ok), `3:31: case "a": step 1: policy: nothing here: want the name of a policy, or leave it out`},
		{"key", step("key: [a], " + ok), `3:28: case "a": step 1: key: a list here: want a key, or leave it out`},
		{"cost", step("cost: -1, " + ok), `3:29: case "a": step 1: cost: "-1", want a whole number from 0, such as 5 or 10k`},
		{"costs", step("costs: 5, " + ok), `3:30: case "a": step 1: costs: a single value here: want costs by unit, such as {input_tokens: 100}`},
		{"cost of a unit", step("costs: {a: x, a: 1}, " + ok), `3:34: case "a": step 1: costs: a: "x", want a whole number from 0, such as 5 or 10k` + "\n" +
			`f:3:37: case "a": step 1: costs: "a" is there twice: leave one out`},
		{"no times", step("times: 0, " + ok), `3:30: case "a": step 1: times: "0", want a whole number from 1, such as 5 or 10k`},
		{"many times", step("times: 2M, " + ok), `3:30: case "a": step 1: times: 2000000, want at most 1000000`},
		{"every, once", step("every: 1s, " + ok), `3:30: case "a": step 1: every: it asks only once: say how often by times`},
		{"every, too long", step("every: 1d, times: 1M, " + ok), `3:30: case "a": step 1: every: the last of 1000000 times would be after the year 2200`},
		{"every, much too long", step("every: 10000d, times: 1M, " + ok),
			`3:30: case "a": step 1: every: the last of 1000000 times would be after the year 2200`},
		{"expects nothing", expect(""), `3:40: case "a": step 1: expect: nothing here: want at least one of allowed, refused, policy, limit, remaining, ` +
			"retry_after, reset_after, wait, never, overage, shadow_denied, decided_by"},
		{"expects text", step("expect: allowed"), `3:31: case "a": step 1: expect: a single value here: want fields: allowed, refused, policy, limit, remaining, ` +
			"retry_after, reset_after, wait, never, overage, shadow_denied, decided_by"},
		{"allowed", expect("allowed: yes"), `3:50: case "a": step 1: expect: allowed: "yes", want true, false, or how many of them`},
		{"more allowed than asked", expect("allowed: 6"), `3:50: case "a": step 1: expect: allowed: 6, but it asks 5 times`},
		{"unknown expectation", expect("remainng: 6"), `3:41: case "a": step 1: expect: unknown field "remainng": did you mean "remaining"?`},
		{"refused and more", expect("refused: a, limit: b"),
			`3:50: case "a": step 1: expect: refused, and more: what is refused has no decision: leave one of the two out`},
		{"empty refusal", expect("refused: ''"), `3:50: case "a": step 1: expect: refused: nothing here: want a part of the reason, such as absent`},
		{"never", expect("never: 1"), `3:48: case "a": step 1: expect: never: "1", want true or false`},
		{"retry_after", expect("retry_after: 1"), `3:54: case "a": step 1: expect: retry_after: "1", want a time, such as 250ms, 90s, 1m30s or 2d`},
		{"decided_by", expect("decided_by: ownr"), `3:53: case "a": step 1: expect: decided_by: unknown "ownr": did you mean "owner"?`},
		{"decided_by nobody", expect("decided_by: unknown"), `3:53: case "a": step 1: expect: decided_by: unknown "unknown": want owner, lease, ` +
			"deny_lease, redis, local, timeout, exempt, no_policy, shadow, sample, missing_key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := cases.Parse("f", []byte(c.text))
			if f != nil || !errors.Is(err, cases.ErrInvalid) {
				t.Fatalf("got %v, %v, want an error that wraps ErrInvalid", f, err)
			}
			if diff := cmp.Diff("f:"+c.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseIsBounded(t *testing.T) {
	const want = "f:1:1: the text has 1048577 bytes, want at most 1048576"
	if _, err := cases.Parse("f", []byte(strings.Repeat(" ", cases.MaxTextBytes+1))); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	for _, text := range []string{strings.Repeat("[", cases.MaxTextBytes), strings.Repeat("{a: ", cases.MaxTextBytes/4)} {
		if _, err := cases.Parse("f", []byte(text)); !errors.Is(err, cases.ErrInvalid) {
			t.Errorf("%v", err)
		}
	}
}

// FuzzParse: what is read can be run, and what is not says where.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		good, "", "policies: x\ncases: [{name: a, steps: [{every: 292y, times: 3, at: 9999999d}]}]", "a: &a [*a]", "<<: 1", "? [a]\n: b",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := cases.Parse("f", text)
		if err != nil {
			var bad *cases.ParseError
			if file != nil || !errors.As(err, &bad) || len(bad.Problems) == 0 {
				t.Fatalf("%v, %#v", file, err)
			}
			for _, p := range bad.Problems {
				if p.Line < 1 || p.Column < 1 || p.Text == "" {
					t.Fatalf("a problem is nowhere: %+v", p)
				}
			}
			return
		}
		if file.Policies == "" || len(file.Cases) == 0 {
			t.Fatalf("%+v", file)
		}
		for _, c := range file.Cases {
			last := c.Start
			if c.Name == "" || len(c.Steps) == 0 || c.Start.UnixNano() < 0 {
				t.Fatalf("%+v", c)
			}
			for _, s := range c.Steps {
				end := s.At.Add(time.Duration(s.Times-1) * s.Every)
				if s.At.Before(last) || end.Before(s.At) || end.UTC().Year() > 2200 || s.Times < 1 || s.Times > cases.MaxTimes ||
					s.Expect.Allowed > s.Times || s.Line < 1 {
					t.Fatalf("%+v after %v", s, last)
				}
				last = end
			}
		}
	})
}
