package envoyimport

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// asked is a descriptor, as keys and values in turn, and the limit that it gets: "" if none, "unlimited", or as YAML has the numbers.
type asked struct {
	entries []string
	limit   string
}

func of(limit string, entries ...string) asked { return asked{entries, limit} }

// limitOf is what decides a descriptor, in words.
func limitOf(matched []*policy.Policy) string {
	switch {
	case len(matched) == 0:
		return ""
	case len(matched) > 1:
		return "several"
	case matched[0].Unlimited:
		return "unlimited"
	}
	text := strings.TrimPrefix(policy.FormatLimit(matched[0].Limits[0].Limit), "fixed_window ")
	if matched[0].Limits[0].Shadow {
		text += " shadow"
	}
	return text
}

// TestExamples: the cases of the README of Envoy's service, in other words, decide as it says.
func TestExamples(t *testing.T) {
	for name, tt := range map[string]struct {
		text  string
		asked []asked
		apart [][2][]string // descriptors with counters of their own
		one   [][2][]string // descriptors with one counter
		notes []string
	}{
		"values": {text: `
domain: db
descriptors:
  - {key: table, value: users, rate_limit: {unit: second, requests_per_unit: 500}}
  - {key: table, value: orders, rate_limit: {unit: SECOND, requests_per_unit: 400}}
`, asked: []asked{
			of("500/s", "table", "users"), of("400/s", "table", "orders"), of("", "table", "other"), of("", "table", "users", "x", "y"),
			of("", "x", "users"),
		}},

		"nested, and a limit for each number": {text: `
domain: sms
descriptors:
  - key: kind
    value: marketing
    descriptors:
      - key: number
        rate_limit: {unit: day, requests_per_unit: 5}
  - key: number
    rate_limit: {unit: day, requests_per_unit: 100}
`, asked: []asked{
			of("5/d", "kind", "marketing", "number", "1"), of("100/d", "number", "1"), of("", "kind", "marketing"), of("", "kind", "alert", "number", "1"),
			of("100/d", "number", ""),
		}, apart: [][2][]string{
			{{"kind", "marketing", "number", "1"}, {"kind", "marketing", "number", "2"}}, {{"number", "1"}, {"number", "2"}}, {{"number", ""}, {"number", "1"}},
			{{"kind", "marketing", "number", "1"}, {"number", "1"}},
		}},

		"one address is shut out": {text: `
domain: edge
descriptors:
  - key: remote_address
    rate_limit: {unit: second, requests_per_unit: 10}
  - key: remote_address
    value: 192.0.2.5
    rate_limit: {unit: second, requests_per_unit: 0}
`, asked: []asked{of("10/s", "remote_address", "192.0.2.1"), of("0/s", "remote_address", "192.0.2.5")}},

		"one level less than the request": {text: `
domain: edge
descriptors:
  - {key: a, value: b, rate_limit: {requests_per_unit: 300, unit: second}}
`, asked: []asked{of("300/s", "a", "b"), of("", "a", "b", "c", "d")}},

		"unlimited": {text: `
domain: inside
descriptors:
  - {key: ldap, rate_limit: {unlimited: true}}
  - {key: cloud, rate_limit: {unit: minute, requests_per_unit: 100}}
`, asked: []asked{of("unlimited", "ldap", "x"), of("100/min", "cloud", "x")}},

		"exempt by a descriptor without a limit": {text: `
domain: edge
descriptors:
  - key: user
    rate_limit: {unit: minute, requests_per_unit: 10}
  - {key: user, value: root}
`, asked: []asked{of("10/min", "user", "ann"), of("", "user", "root")}},

		"shadow mode": {text: `
domain: auth
descriptors:
  - key: service
    descriptors:
      - {key: user, value: ann, rate_limit: {requests_per_unit: 10, unit: second}, shadow_mode: true}
      - {key: user, value: bob, rate_limit: {requests_per_unit: 20, unit: second}}
`, asked: []asked{of("10/s shadow", "service", "x", "user", "ann"), of("20/s", "service", "x", "user", "bob"), of("", "service", "x", "user", "cat")}},

		"replaces": {text: `
domain: edge
descriptors:
  - {key: a, value: x, rate_limit: {name: strict, requests_per_unit: 5, unit: second}}
  - {key: b, value: y, rate_limit: {replaces: [{name: strict}], requests_per_unit: 10, unit: second}}
`, asked: []asked{of("5/s", "a", "x"), of("10/s", "b", "y")}},

		"metrics": {text: `
domain: edge
descriptors:
  - key: a
    detailed_metric: true
    value_to_metric: true
    metadata: {team: {name: one}}
    rate_limit: {unit: minute, requests_per_unit: 10}
`, asked: []asked{of("10/min", "a", "x")}, notes: []string{
			"config.yaml:5: detailed_metric: ", "config.yaml:6: value_to_metric: ", "config.yaml:7: metadata: ",
		}},

		"patterns": {text: `
domain: edge
descriptors:
  - {key: path, value: /v1/*, rate_limit: {unit: minute, requests_per_unit: 20}}
  - {key: path, value: /api/*/do, rate_limit: {unit: minute, requests_per_unit: 30}}
  - {key: path, value: /api/*/of/*/do, rate_limit: {unit: minute, requests_per_unit: 40}}
  - {key: path, value: /*, rate_limit: {unit: minute, requests_per_unit: 50}}
  - {key: path, value: /v1/me, rate_limit: {unit: minute, requests_per_unit: 60}}
  - {key: path, rate_limit: {unit: minute, requests_per_unit: 70}}
`, asked: []asked{
			of("20/min", "path", "/v1/x"), of("20/min", "path", "/v1/"), of("30/min", "path", "/api/7/do"), of("30/min", "path", "/api/7/of/8/do"),
			of("50/min", "path", "/api/7"), of("60/min", "path", "/v1/me"), of("70/min", "path", "other"), of("50/min", "path", "/"),
		}, apart: [][2][]string{{{"path", "/v1/x"}, {"path", "/v1/y"}}}},

		"no way back": {text: `
domain: edge
descriptors:
  - {key: a, value: x, descriptors: [{key: b, rate_limit: {unit: minute, requests_per_unit: 1}}]}
  - {key: a, value: "x*", descriptors: [{key: c, rate_limit: {unit: minute, requests_per_unit: 2}}]}
  - {key: a, descriptors: [{key: c, rate_limit: {unit: minute, requests_per_unit: 3}}, {key: d, rate_limit: {unit: minute, requests_per_unit: 4}}]}
`, asked: []asked{
			of("1/min", "a", "x", "b", "1"), of("", "a", "x", "c", "1"), of("2/min", "a", "xy", "c", "1"), of("", "a", "xy", "d", "1"),
			of("3/min", "a", "z", "c", "1"), of("4/min", "a", "z", "d", "1"),
		}},

		"one threshold for all of a pattern": {text: `
domain: edge
descriptors:
  - {key: file, value: "pub/*", share_threshold: true, rate_limit: {unit: hour, requests_per_unit: 10}}
  - {key: other, value: "pub/*", share_threshold: false, rate_limit: {unit: hour, requests_per_unit: 10}}
  - key: route
    value: "api/*"
    share_threshold: true
    descriptors: [{key: method, rate_limit: {unit: week, requests_per_unit: 60}}]
`, asked: []asked{of("10/h", "file", "pub/a"), of("60/week", "route", "api/a", "method", "GET")}, one: [][2][]string{
			{{"file", "pub/a"}, {"file", "pub/b"}}, {{"route", "api/a", "method", "GET"}, {"route", "api/b", "method", "GET"}},
		}, apart: [][2][]string{
			{{"other", "pub/a"}, {"other", "pub/b"}}, {{"route", "api/a", "method", "GET"}, {"route", "api/a", "method", "PUT"}},
		}},

		"quotas": {text: `
domain: edge
descriptors:
  - {key: tenant, value: one, quota_mode: true, rate_limit: {unit: month, requests_per_unit: 1}}
  - {key: tenant, value: two, quota_mode: true, rate_limit: {unit: year, requests_per_unit: 2}}
`, asked: []asked{of("1/30d", "tenant", "one"), of("2/365d", "tenant", "two")}, notes: []string{
			"config.yaml:4: quota_mode: a request is denied only if all", "config.yaml:5: quota_mode: ",
		}},

		"words of YAML and of policies": {text: `
domain: edge
descriptors:
  - {key: a, value: absent, rate_limit: {unit: minute, requests_per_unit: 1}}
  - {key: a, value: "true", rate_limit: {unit: minute, requests_per_unit: 2}}
  - {key: a, value: 1.5, rate_limit: {unit: minute, requests_per_unit: 3}}
  - {key: not, value: 'it''s "so"', rate_limit: {unit: minute, requests_per_unit: 4}}
  - {key: domain, rate_limit: {unit: minute, requests_per_unit: 5}}
  - {key: "a b,c", rate_limit: {unit: minute, requests_per_unit: 6}}
  - {key: a, descriptors: [{key: a, rate_limit: {unit: minute, requests_per_unit: 7}}]}
`, asked: []asked{
			of("1/min", "a", "absent"), of("2/min", "a", "true"), of("3/min", "a", "1.5"), of("4/min", "not", `it's "so"`), of("5/min", "domain", "x"),
			of("6/min", "a b,c", "x"), of("7/min", "a", "x", "a", "y"), of("", "a", "x"), of("", "a", ""),
		}, apart: [][2][]string{{{"a", "x", "a", "y"}, {"a", "y", "a", "x"}}}},

		"anchors": {text: `
domain: edge
descriptors:
  - key: a
    rate_limit: &slow {unit: minute, requests_per_unit: 1}
  - key: b
    rate_limit: *slow
  - key: c
    rate_limit: {<<: *slow, requests_per_unit: 2}
`, asked: []asked{of("1/min", "a", "x"), of("1/min", "b", "x"), of("2/min", "c", "x")}},
	} {
		t.Run(name, func(t *testing.T) {
			set, res := imported(t, tt.text)
			domain := strings.Fields(tt.text)[1]
			for _, a := range tt.asked {
				if got, _ := found(t, set, domain, a.entries); limitOf(got) != a.limit {
					t.Errorf("%q: %q, want %q\n%s", a.entries, limitOf(got), a.limit, res.Policies)
				}
			}
			counter := func(entries []string) string {
				matched, keys := found(t, set, domain, entries)
				if len(matched) != 1 {
					t.Fatalf("%q: %d policies", entries, len(matched))
				}
				return keys[0]
			}
			for _, pair := range tt.apart {
				if counter(pair[0]) == counter(pair[1]) {
					t.Errorf("%q and %q share a counter", pair[0], pair[1])
				}
			}
			for _, pair := range tt.one {
				if counter(pair[0]) != counter(pair[1]) {
					t.Errorf("%q and %q have two counters", pair[0], pair[1])
				}
			}
			wantNotes(t, res.Notes, tt.notes)
		})
	}
}

// wantNotes says whether the notes begin with these texts.
func wantNotes(t *testing.T, got []Note, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("no note %q", want[i])
		case i >= len(want):
			t.Errorf("note %s", got[i])
		case !strings.HasPrefix(got[i].String(), want[i]):
			t.Errorf("note %s, want %s", got[i], want[i])
		}
	}
}

// TestReplaces: a policy replaces those whose limits have the names, in its domain only, and names that nobody has are none.
func TestReplaces(t *testing.T) {
	set, res := imported(t, `
domain: edge
descriptors:
  - {key: a, value: x, rate_limit: {name: strict, requests_per_unit: 5, unit: second}}
  - {key: a, value: z, rate_limit: {name: strict, requests_per_unit: 6, unit: second, replaces: [{name: nobody}]}}
  - {key: a, value: free, rate_limit: {name: strict, unlimited: true}}
  - {key: b, value: y, rate_limit: {replaces: [{name: strict}, {name: far}], requests_per_unit: 10, unit: second}}
  - {key: b, value: free, rate_limit: {replaces: [{name: strict}], unlimited: true}}
`)
	for name, want := range map[string][]string{
		"edge.a=x": nil, "edge.a=z": nil, "edge.b=y": {"edge.a=x", "edge.a=z"}, "edge.b=free": {"edge.a=x", "edge.a=z"},
	} {
		p, err := set.Policy(name)
		if err != nil || !slices.Equal(p.Replaces, want) {
			t.Errorf("%s: %v %v, want %v", name, err, p.Replaces, want)
		}
	}
	wantNotes(t, res.Notes, nil)
	many := "domain: edge\ndescriptors:\n  - {key: b, rate_limit: {replaces: [{name: s}], requests_per_unit: 1, unit: day}}\n"
	for i := range policy.MaxReplaces + 1 {
		many += fmt.Sprintf("  - {key: a, value: v%d, rate_limit: {name: s, requests_per_unit: 1, unit: day}}\n", i)
	}
	_, res = imported(t, many)
	wantNotes(t, res.Notes, []string{"config.yaml:3: replaces: 65 limits have the names that it replaces, and here one replaces at most 64"})
}

// TestGolden shows what is written, in full.
func TestGolden(t *testing.T) {
	res, err := Import([]File{
		{"one.yaml", []byte(`# what the edge limits
domain: edge
descriptors:
  - key: path
    value: /v1/*
    rate_limit: {unit: month, requests_per_unit: 7, name: monthly}
    descriptors:
      - key: user
        shadow_mode: true
        rate_limit: {unit: minute, requests_per_unit: 10}
      - key: user
        value: root
        rate_limit: {unlimited: true}
`)},
		{"two.yaml", []byte("domain: edge\ndescriptors: [{key: path, value: /v1/me, share_threshold: false}]\n")},
		{"three.yaml", []byte("domain: mesh\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `# Policies for what Envoy sends, imported from one.yaml, two.yaml, three.yaml.
# Each is one rule of Envoy's rate limit service, and is for descriptors of just its entries.
# If the values of a key are secrets, say so: attributes: {api_key: {hash: true}}
version: 1
policies:
  # one.yaml:4
  # As in Envoy's service its month is a span of days since 1970. One of the calendar is quota: 7/month.
  edge.path=/v1/*:
    when: {domain: [edge], descriptor: [path], path: [/v1/*], not: [{path: [/v1/me]}]}
    key: [path]
    limits: [{name: monthly, algorithm: fixed_window, rate: 7/30d}]
  # one.yaml:8
  edge.path=/v1/*.user:
    when: {domain: [edge], descriptor: ['path,user'], path: [/v1/*], not: [{path: [/v1/me]}, {user: [root]}]}
    key: [path, user]
    shadow: true
    limits: [{algorithm: fixed_window, rate: 10/min}]
  # one.yaml:11
  edge.path=/v1/*.user=root:
    when: {domain: [edge], descriptor: ['path,user'], path: [/v1/*], user: [root], not: [{path: [/v1/me]}]}
    key: [path, user]
    unlimited: true
`
	if diff := cmp.Diff(want, string(res.Policies)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if len(res.Notes) > 0 || res.Lossy() {
		t.Errorf("notes: %v", res.Notes)
	}
	empty, err := Import([]File{{"three.yaml", []byte("domain: mesh\n")}})
	if err != nil || !strings.HasSuffix(string(empty.Policies), "policies: {}\n") {
		t.Errorf("nothing: %v %s", err, empty.Policies)
	}
}
