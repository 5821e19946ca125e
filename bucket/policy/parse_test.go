package policy_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
)

const good = `# What the service lets through.
version: 1
policies:
  api:
    key: [user]
    limits: [{rate: 20/s, burst: 40}, {rate: 10_000/h}, {name: slow, rate: 1M/30d, burst: 10k}]
  ceiling: {key: [], limits: [{rate: 50_000/s, burst: 1_000}]}
  "blocked":
    key:
      - tenant
      - model
    limits:
      - rate: '0/s'
        burst: 0
`

func TestParse(t *testing.T) {
	s, err := policy.Parse("limits.yaml", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]*policy.Policy{
		"api": {Name: "api", Key: []string{"user"}, Limits: []policy.Limit{
			{Name: "api", Limit: bucket.Limit{Count: 20, Per: time.Second, Burst: 40}},
			{Name: "api-2", Limit: bucket.Limit{Count: 10_000, Per: time.Hour, Burst: 10_000}},
			{Name: "slow", Limit: bucket.Limit{Count: 1_000_000, Per: 30 * day, Burst: 10_000}},
		}},
		"ceiling": {Name: "ceiling", Limits: []policy.Limit{
			{Name: "ceiling", Limit: bucket.Limit{Count: 50_000, Per: time.Second, Burst: 1000}},
		}},
		"blocked": {Name: "blocked", Key: []string{"tenant", "model"}, Limits: []policy.Limit{
			{Name: "blocked", Limit: bucket.Limit{Per: time.Second}},
		}},
	}
	got := map[string]*policy.Policy{}
	for _, name := range s.Names() {
		if got[name], err = s.Policy(name); err != nil {
			t.Error(err)
		}
		if err := got[name].Validate(); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(policy.Policy{})); diff != "" {
		t.Error(diff)
	}
	if s.Len() != 3 {
		t.Errorf("%d policies, want 3", s.Len())
	}
}

func TestParseNone(t *testing.T) {
	if s, err := policy.Parse("limits.yaml", []byte("version: 1\npolicies: {}\n")); err != nil || s.Len() != 0 {
		t.Errorf("no policies: %d, %v", s.Len(), err)
	}
}

func TestParseSaysAllAtOnce(t *testing.T) {
	const text = `version: 1
policies:
  api:
    key: user
    limits:
      - {rate: 0.5/s}
      - {rat: 10/min, burst: 40}
`
	const want = `limits.yaml:4:10: policy "api": key: want a list: write [user]
limits.yaml:6:17: policy "api": limit 1: rate "0.5/s", byte 2: want a whole number: write 1/2s instead of 0.5/s
limits.yaml:7:10: policy "api": limit 2: unknown field "rat": did you mean "rate"?`
	_, err := policy.Parse("limits.yaml", []byte(text))
	var all *policy.ParseError
	if !errors.As(err, &all) || !errors.Is(err, policy.ErrInvalidPolicy) {
		t.Fatalf("got %v, want a ParseError that wraps ErrInvalidPolicy", err)
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
	if first := all.Problems[0]; first.File != "limits.yaml" || first.Line != 4 || first.Column != 10 {
		t.Errorf("the first problem is at %+v, want limits.yaml 4:10", first)
	}
}

// TestParseRefuses gives each text in which one thing is wrong, and the whole of its error without the file.
func TestParseRefuses(t *testing.T) {
	// one writes a policy of which only the part in question differs.
	one := func(fields string) string { return "version: 1\npolicies:\n  api: {" + fields + "}\n" }
	limits := func(limits string) string { return one("key: [user], limits: [" + limits + "]") }
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "1:1: there is nothing in it: want version: 1 and policies, at least policies: {}"},
		{"comment only", "# nothing yet\n",
			"1:1: there is nothing in it: want version: 1 and policies, at least policies: {}"},
		{"null", "~\n", "1:1: there is nothing in it: want version: 1 and policies, at least policies: {}"},
		{"list", "- 1\n", "1:1: a list here: want fields: version, attributes, units, exempt, policies"},
		{"text", "hello\n", "1:1: a single value here: want fields: version, attributes, units, exempt, policies"},
		{"not YAML", "a:\n  - [1\n", "1:1: not YAML, at this line or below: did not find expected ',' or ']'"},
		{"tab", "version: 1\n\tpolicies: {}\n",
			"2:1: not YAML, at this line or below: found a tab character that violates indentation"},
		{"binary", "\x00\x01", "1:1: not YAML, at this line or below: control characters are not allowed"},
		{"no version", "policies: {}\n", `1:1: field "version" is missing: want version: 1`},
		{"other version", "version: 2\npolicies: {}\n", `1:10: version "2" is not known to this version: want the number 1`},
		{"version as text", "version: '1'\npolicies: {}\n",
			`1:10: version "1" is not known to this version: want the number 1`},
		{"version as list", "version: [1]\npolicies: {}\n", `1:10: version: a list here: want 1`},
		{"no policies", "version: 1\n",
			`1:1: field "policies" is missing: want policies by name, such as {api: {key: [user], limits: [{rate: 10/min}]}}`},
		{"null policies", "version: 1\npolicies:\n",
			"2:10: policies: nothing here: want policies by name, such as {api: {key: [user], limits: [{rate: 10/min}]}}"},
		{"list of policies", "version: 1\npolicies: [api]\n",
			"2:11: policies: a list here: want policies by name, such as {api: {key: [user], limits: [{rate: 10/min}]}}"},
		{"second document", "version: 1\npolicies: {}\n---\nversion: 1\n", "3:1: a second document starts here: want one"},
		{"second document not YAML", "version: 1\npolicies: {}\n---\n[\n",
			"4:1: not YAML, at this line or below: did not find expected node content"},
		{"near field", "version: 1\npolices: {}\n", `2:1: unknown field "polices": did you mean "policies"?`},
		{"far field", "version: 1\npolicies: {}\nlimits: 3\n", `3:1: unknown field "limits": want "version", "attributes", "units", "exempt", "policies"`},
		{"exempt is a mapping", "version: 1\nexempt: {route: x}\npolicies: {}\n",
			"2:9: exempt: a mapping here: want a list of conditions, such as [{route: [/healthz]}]"},
		{"all are exempt", "version: 1\nexempt: [{}]\npolicies: {}\n",
			"2:10: exempt 1: it always holds, so nothing would be limited: leave it out"},
		{"bits", "version: 1\nattributes: {ip: {ipv4: 33}}\npolicies: {}\n", `2:18: attribute "ip": ipv4 is 33, want 1 to 32 bits`},
		{"no bits", "version: 1\nattributes: {ip: {ipv6: 0}}\npolicies: {}\n",
			`2:25: attribute "ip": ipv6 "0": want a number of bits above zero`},
		{"secret address", "version: 1\nattributes: {ip: {ipv6: 64, hash: true}}\npolicies: {}\n",
			`2:18: attribute "ip": an address that is a secret as well: leave hash out, or ipv4 and ipv6`},
		{"hash is no word", "version: 1\nattributes: {k: {hash: sha256}}\npolicies: {}\n",
			`2:24: attribute "k": hash: "sha256", want true or false`},
		{"field twice", "version: 1\npolicies: {}\nversion: 1\n",
			`3:1: field "version" is there twice, first at line 1: leave one out`},
		{"number as a policy's name", "version: 1\npolicies: {404: {}}\n",
			`2:12: policies: "404" is no name: write it in quotes if it is meant as one`},
		{"list as a policy's name", "version: 1\npolicies: {[a]: {}}\n", "2:12: policies: a list here: want a name"},
		{"policy twice", "version: 1\npolicies:\n  a: {key: [], limits: [{rate: 1/s}]}\n" +
			"  a: {key: [], limits: [{rate: 1/s}]}\n",
			`4:3: policy "a" is defined twice, first at line 3: rename one`},
		{"C67 policy not in ASCII", "version: 1\npolicies:\n  é: {key: [], limits: [{rate: 1/s}]}\n",
			`3:3: policy "é": name: "é" has "\xc3" at byte 1, want printable ASCII without spaces, quotes and backslashes`},
		{"C67 quote in a name", "version: 1\npolicies:\n  'a\"b': {key: [], limits: [{rate: 1/s}]}\n",
			`3:3: policy "a\"b": name: "a\"b" has "\"" at byte 2, want printable ASCII without spaces, quotes and backslashes`},
		{"null policy", "version: 1\npolicies:\n  a:\n",
			`3:5: policy "a": nothing here: want fields: when, key, on_missing, limits, unlimited, tiers, overrides, with, replaces, cost, shadow, consistency, sample, on_unreachable, on_owner_loss, durable, strict`},
		{"policy is a list", "version: 1\npolicies:\n  a: [1]\n",
			`3:6: policy "a": a list here: want fields: when, key, on_missing, limits, unlimited, tiers, overrides, with, replaces, cost, shadow, consistency, sample, on_unreachable, on_owner_loss, durable, strict`},
		{"C127 no limits", one("key: [user]"),
			`3:8: policy "api": field "limits" is missing: want a list of limits, such as [{rate: 10/min}]`},
		{"empty limits", limits(""), `3:30: policy "api": limits: none, want at least one, such as {rate: 10/min}`},
		{"null limits", one("key: [user], limits: "),
			`3:30: policy "api": limits: nothing here: want a list of limits, such as [{rate: 10/min}]`},
		{"limits not a list", one("key: [user], limits: {rate: 1/s}"),
			`3:30: policy "api": limits: a mapping here: want a list of limits, such as [{rate: 10/min}]`},
		{"C110 no key", one("limits: [{rate: 1/s}]"),
			`3:8: policy "api": field "key" is missing: want the attributes that form the key, such as [user], ` +
				`or [] for one bucket for all`},
		{"null key", one("key: , limits: [{rate: 1/s}]"),
			`3:14: policy "api": key: nothing here: want a list of attributes, such as [user], or []`},
		{"key is a mapping", one("key: {a: b}, limits: [{rate: 1/s}]"),
			`3:14: policy "api": key: a mapping here: want a list of attributes, such as [user], or []`},
		{"key is a scalar", one("key: user, limits: [{rate: 1/s}]"), `3:14: policy "api": key: want a list: write [user]`},
		{"key of numbers", one("key: [1], limits: [{rate: 1/s}]"),
			`3:15: policy "api": key: "1" is no name: write it in quotes if it is meant as one`},
		{"attribute twice", one("key: [a, b, a], limits: [{rate: 1/s}]"),
			`3:21: policy "api": key attribute "a" is named twice: leave one out`},
		{"alternative twice", one("key: [user|ip|user], limits: [{rate: 1/s}]"),
			`3:15: policy "api": key attribute 1: "user|ip|user": "user" is named twice: leave one out`},
		{"no alternative", one("key: [user|], limits: [{rate: 1/s}]"),
			`3:15: policy "api": key attribute 1: "user|": 0 bytes, want 1 to 128`},
		{"attribute with a space", one(`key: ["a b"], limits: [{rate: 1/s}]`),
			`3:15: policy "api": key attribute 1: "a b" has " " at byte 2, ` +
				`want printable ASCII without spaces, quotes and backslashes`},
		{"durable of what", one("key: [user], durable: yes please, limits: [{rate: 1/s}]"),
			`3:31: policy "api": durable: "yes please", want true or false`},
		{"when is a list", one("key: [], when: [a], limits: [{rate: 1/s}]"),
			`3:24: policy "api": when: a list here: want attributes, such as {user: present, route: "/v1/*"}`},
		{"when of nothing", one("key: [], when: {a: }, limits: [{rate: 1/s}]"),
			`3:28: policy "api": when: a: nothing here: want present, absent, a value, or a list of values`},
		{"when of no values", one("key: [], when: {a: []}, limits: [{rate: 1/s}]"),
			`3:28: policy "api": when: a: an empty list: want present, absent, a value, or a list of values`},
		{"when of the empty value", one("key: [], when: {a: ['']}, limits: [{rate: 1/s}]"),
			`3:28: policy "api": when: a: "" never matches, for what is empty is absent: write absent`},
		{"when twice", one("key: [], when: {a: b, a: c}, limits: [{rate: 1/s}]"),
			`3:31: policy "api": when: a is there twice: write its values as one list`},
		{"not of nothing", one("key: [], when: {not: {}}, limits: [{rate: 1/s}]"),
			`3:30: policy "api": when: not: it always holds, so the policy is for no request: leave it out`},
		{"not in not", one("key: [], when: {not: [{not: {a: b}}]}, limits: [{rate: 1/s}]"),
			`3:32: policy "api": when: not: not belongs into the when of a policy: leave it out`},
		{"network that is none", "version: 1\nattributes: {ip: {ipv4: 32}}\nexempt: [{ip: [10.0.0.0/8, internal]}]\npolicies: {}\n",
			`3:15: exempt 1: ip: "internal" is neither an address nor a network: want 192.0.2.1, 10.0.0.0/8 or 2001:db8::/32`},
		{"unknown on_missing", one("key: [a], on_missing: drop, limits: [{rate: 1/s}]"),
			`3:31: policy "api": unknown on_missing "drop": want "refuse", "deny", "skip"`},
		{"unlimited with limits", one("key: [], unlimited: true, limits: [{rate: 1/s}]"),
			`3:43: policy "api": limits: there are some, and it is unlimited: leave one of the two out`},
		{"tier without limits", one("key: [], limits: [{rate: 1/s}], tiers: {free: {}}"),
			`3:55: policy "api": tier "free": field "limits" is missing: want a list of limits, such as [{rate: 10/min}]`},
		{"tier with a bad rate", one("key: [], limits: [{rate: 1/s}], tiers: {free: {limits: [{rate: 1/0s}]}}"),
			`3:74: policy "api": tier "free": limit 1: rate "1/0s", byte 3: want a period above zero`},
		{"tier twice", one("key: [], limits: [{rate: 1/s}], tiers: {a: {unlimited: true}, a: {unlimited: true}}"),
			`3:71: policy "api": tier "a": is there twice, first at line 3: leave one out`},
		{"field of a tier", one("key: [], limits: [{rate: 1/s}], tiers: {a: {limit: [{rate: 1/s}]}}"),
			`3:53: policy "api": tier "a": unknown field "limit": did you mean "limits"?`},
		{"override without a key", one("key: [], limits: [{rate: 1/s}], overrides: {a: {unlimited: true}}"),
			`3:52: policy "api": overrides: the policy has no key: leave them out`},
		{"override of two parts", one("key: [a], limits: [{rate: 1/s}], overrides: {x|y: {unlimited: true}}"),
			`3:53: policy "api": overrides: "x|y" has 2 parts, and the key has 1: write them with | between them`},
		{"override twice", "version: 1\nattributes: {ip: {ipv6: 64}}\npolicies:\n" +
			"  api: {key: [ip], limits: [{rate: 1/s}], overrides: {'2001:db8::1': {unlimited: true}, '2001:db8::/64': {unlimited: true}}}\n",
			`4:54: policy "api": overrides: "2001:db8::/64" and "2001:db8::1" are the same key: leave one out`},
		{"override that is no address", "version: 1\nattributes: {ip: {ipv6: 64}}\npolicies:\n  api: {key: [ip], limits: [{rate: 1/s}], overrides: {acme: {unlimited: true}}}\n",
			`4:54: policy "api": overrides: "acme": "acme" is no address`},
		{"no tier", one("key: [], limits: [{rate: 1/s}], tiers: {'': {unlimited: true}}"),
			`3:49: policy "api": tiers: "" is what is absent: want a value`},
		{"many names", one("key: [], limits: [" + strings.Join(namedRates("a", 9), ", ") + "], tiers: {t: {limits: [" + strings.Join(namedRates("b", 9), ", ") + "]}}"),
			`3:3: policy "api": the policy, its tiers and its overrides have limits of 18 names, want at most 16: give those that take each other's place the same name`},
		{"sample of tiers that differ", one("key: [], sample: 50%, limits: [{rate: 10/s}], tiers: {t: {limits: [{name: x, rate: 10/s}]}}"),
			`3:3: policy "api": sample: one check in 2, but tiers or overrides have other limits than the policy, by name: leave the sample out`},
		{"secret override", "version: 1\nattributes: {k: {hash: true}}\npolicies:\n  api: {key: [k], limits: [{rate: 1/s}], overrides: {a: {unlimited: true}}}\n",
			`4:53: policy "api": overrides: values of "k" are secrets, and must not be written here: use tiers`},
		{"weight that fits no tier", one("key: [], cost: {by: m, weights: {x: 9}}, limits: [{rate: 10/s}], tiers: {a: {limits: [{rate: 5/s}]}}"),
			`3:94: policy "api": tier "a": cost: the weight of "x" is 9, more than the 5 that a limit of unit "requests" ever admits at a time: lower it, or raise the limit`},
		{"merge key", "version: 1\npolicies:\n  api: {<<: {}, key: [], limits: [{rate: 1/s}]}\n",
			`3:9: policy "api": merge keys (<<) are refused: write the fields out`},
		{"anchor", one("key: &k [user], limits: [{rate: 1/s}]"),
			"3:14: anchors (&k) are refused: write the value out where it is needed"},
		{"tag", one("key: [user], limits: [{rate: !rate 1/s}]"), "3:38: tags (!rate) are refused: leave the tag out"},
		{"C127 no rate", limits("{burst: 3}"),
			`3:31: policy "api": limit 1: field "rate" is missing: want COUNT/PERIOD, such as 10/min`},
		{"C127 no period", limits("{rate: 10}"),
			`3:40: policy "api": limit 1: rate "10", byte 3: want COUNT/PERIOD, such as "10/min"`},
		{"null rate", limits("{rate: }"),
			`3:38: policy "api": limit 1: rate: nothing here: want COUNT/PERIOD, such as 10/min`},
		{"rate is a list", limits("{rate: [1]}"),
			`3:38: policy "api": limit 1: rate: a list here: want COUNT/PERIOD, such as 10/min`},
		{"C47 zero period", limits("{rate: 10/0s}"),
			`3:41: policy "api": limit 1: rate "10/0s", byte 4: want a period above zero`},
		{"C47 NaN", limits("{rate: NaN/1s}"),
			`3:38: policy "api": limit 1: rate "NaN/1s", byte 1: want a whole number, such as "10", "10_000", "10k" or "1M"`},
		{"C47 negative", limits("{rate: -1/1s}"),
			`3:38: policy "api": limit 1: rate "-1/1s", byte 1: want a number of at least 0`},
		{"C47 exponent", limits("{rate: 1e400/1s}"),
			`3:39: policy "api": limit 1: rate "1e400/1s", byte 2: want a whole number, such as "10", "10_000", "10k" or "1M"`},
		{"rate in quotes", limits(`{rate: "10/0s"}`),
			`3:38: policy "api": limit 1: rate "10/0s", byte 4: want a period above zero`},
		{"burst is a fraction", limits("{rate: 1/s, burst: 1.5}"),
			`3:51: policy "api": limit 1: burst: count "1.5", byte 2: ` +
				`want a whole number, such as "10", "10_000", "10k" or "1M"`},
		{"burst is negative", limits("{rate: 1/s, burst: -1}"),
			`3:50: policy "api": limit 1: burst: count "-1", byte 1: want a number of at least 0`},
		{"null burst", limits("{rate: 1/s, burst: }"),
			`3:50: policy "api": limit 1: burst: nothing here: want a count, or leave it out`},
		{"C128 limit twice", limits("{rate: 600/min}, {rate: 5/s, burst: 600}, {rate: 10/s, burst: 600}"),
			`3:73: policy "api": limit 3 is the same as limit 1 (600/min, burst 600): leave one out`},
		{"name twice", limits("{name: a, rate: 1/s}, {name: a, rate: 2/s}"),
			`3:53: policy "api": limit 2 has the name "a" of limit 1: give each its own`},
		{"name of another by default", limits("{rate: 1/s}, {rate: 2/s}, {name: api-2, rate: 3/s}"),
			`3:57: policy "api": limit 3 has the name "api-2" of limit 2: give each its own`},
		{"empty name", limits("{name: '', rate: 1/s}"),
			`3:38: policy "api": limit 1: name: nothing here: leave it out, or write a name`},
		{"number as a name", limits("{name: 5, rate: 1/s}"),
			`3:38: policy "api": limit 1: name: "5" is no name: write it in quotes if it is meant as one`},
		{"seventeen limits", limits(strings.Join(rates(17), ", ")),
			`3:30: policy "api": limits: 17 of them, want at most 16`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := policy.Parse("f", []byte(c.text))
			if s != nil || !errors.Is(err, policy.ErrInvalidPolicy) {
				t.Fatalf("got %v, %v, want an error that wraps ErrInvalidPolicy", s, err)
			}
			if diff := cmp.Diff("f:"+c.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// namedRates returns n limits with names.
func namedRates(name string, n int) []string {
	limits := make([]string, n)
	for i := range limits {
		limits[i] = fmt.Sprintf("{name: %s%d, rate: %d/s}", name, i, i+1)
	}
	return limits
}

// rates returns n limits that differ.
func rates(n int) []string {
	limits := make([]string, n)
	for i := range limits {
		limits[i] = fmt.Sprintf("{rate: %d/s}", i+1)
	}
	return limits
}

func TestParseSixteenLimits(t *testing.T) {
	text := "version: 1\npolicies: {a: {key: [], limits: [" + strings.Join(rates(policy.MaxLimits), ", ") + "]}}"
	s, err := policy.Parse("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if p, err := s.Policy("a"); err != nil || p.Limits[15].Name != "a-16" {
		t.Errorf("the last limit of %+v, %v, want a-16", p, err)
	}
}

// TestParseCountsUnreadableLimits: messages count limits as the file does, also where one before could not be read,
// and a limit that could not be read is not taken for another.
func TestParseCountsUnreadableLimits(t *testing.T) {
	const text = "version: 1\n" +
		"policies: {a: {key: [], limits: [{rate: x}, {rate: y}, {rate: 1/s}, {rate: 1/s}, {rate: 0/s}]}}"
	_, err := policy.Parse("f", []byte(text))
	var all *policy.ParseError
	if !errors.As(err, &all) || len(all.Problems) != 3 {
		t.Fatalf("got %v, want three problems", err)
	}
	const want = `policy "a": limit 4 is the same as limit 3 (1/s, burst 1): leave one out`
	if got := all.Problems[2].Text; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestParseSortsProblems(t *testing.T) {
	const text = "version: 1\npolicies:\n  a:\n    key: [user, user]\n    limits: [{rate: x}]\n"
	const want = `f:4:17: policy "a": key attribute "user" is named twice: leave one out
f:5:22: policy "a": limit 1: rate "x", byte 2: want COUNT/PERIOD, such as "10/min"`
	if _, err := policy.Parse("f", []byte(text)); err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

func TestParseAliases(t *testing.T) {
	const text = "version: 1\npolicies:\n  a: &a {key: [], limits: [{rate: 1/s}]}\n  b: *a\n"
	const want = "f:3:6: anchors (&a) are refused: write the value out where it is needed\n" +
		"f:4:6: aliases (*a) are refused: write the value out"
	if _, err := policy.Parse("f", []byte(text)); err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

func TestParseIsBounded(t *testing.T) {
	t.Run("size", func(t *testing.T) {
		text := make([]byte, policy.MaxTextBytes+1)
		const want = "f:1:1: the text has 1048577 bytes, want at most 1048576"
		if _, err := policy.Parse("f", text); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	})
	t.Run("just small enough", func(t *testing.T) {
		text := good + "#" + strings.Repeat("x", policy.MaxTextBytes-len(good)-1)
		if _, err := policy.Parse("f", []byte(text)); err != nil {
			t.Error(err)
		}
	})
	for name, text := range map[string]string{
		"deep lists":    strings.Repeat("[", policy.MaxTextBytes),
		"deep mappings": strings.Repeat("{a: ", policy.MaxTextBytes/4),
		"deep closed":   "policies: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
		"deep blocks":   strings.Repeat("- ", 9000) + "a",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := policy.Parse("f", []byte(text)); !errors.Is(err, policy.ErrInvalidPolicy) {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("many problems", func(t *testing.T) {
		var text strings.Builder
		text.WriteString("version: 1\npolicies: {}\n")
		for i := range 5000 {
			fmt.Fprintf(&text, "field%d: 1\n", i)
		}
		_, err := policy.Parse("f", []byte(text.String()))
		if err == nil || strings.Count(err.Error(), "\n") != 100 || !strings.HasSuffix(err.Error(), "\nand 4900 more") {
			t.Errorf("the error is not bounded: %v", err)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		good, behaviours, whole, "", "---\n", "version: 1\npolicies: {a: {sample: 30%, consistency: strict, limits: [{sample: 0}]}}",
		"version: 1\npolicies: {a: {key: user}}",
		"a: &a [*a]", "<<: 1", "? [a]\n: b", "!!binary x",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := policy.Parse("f", text)
		if err != nil {
			var all *policy.ParseError
			if s != nil || !errors.As(err, &all) || len(all.Problems) == 0 {
				t.Fatalf("got %v, %#v", s, err)
			}
			for _, p := range all.Problems {
				if p.Line < 1 || p.Column < 1 || p.Text == "" {
					t.Fatalf("a problem is nowhere: %+v", p)
				}
			}
			return
		}
		for _, name := range s.Names() {
			p, err := s.Policy(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Validate(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
