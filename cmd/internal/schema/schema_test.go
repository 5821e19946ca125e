package schema_test

import (
	"bytes"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/cmd/internal/schema"
	"github.com/drossel-dev/drossel/cmd/internal/starter"
)

func compiled(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema.Text()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("drossel.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("drossel.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// instance returns a document of YAML as a validator of JSON sees it.
func instance(n *yaml.Node) any {
	switch n.Kind {
	case yaml.DocumentNode:
		return instance(n.Content[0])
	case yaml.MappingNode:
		all := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			all[n.Content[i].Value] = instance(n.Content[i+1])
		}
		return all
	case yaml.SequenceNode:
		all := []any{}
		for _, c := range n.Content {
			all = append(all, instance(c))
		}
		return all
	}
	var value any
	switch n.ShortTag() {
	case "!!int", "!!float", "!!bool", "!!null":
		if err := n.Decode(&value); err == nil {
			if f, ok := value.(float64); !ok || !math.IsNaN(f) && !math.IsInf(f, 0) {
				return value
			}
		}
	}
	return n.Value
}

func validate(t testing.TB, s *jsonschema.Schema, text []byte) error {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	return s.Validate(instance(&doc))
}

// good are texts that policy.Parse reads.
func good(t testing.TB) (texts [][]byte) {
	t.Helper()
	whole, err := os.ReadFile("testdata/whole.yaml")
	if err != nil {
		t.Fatal(err)
	}
	texts = append(texts, whole, []byte("{version: 1, policies: {}}"))
	for _, name := range starter.Names() {
		s, err := starter.For(name)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, s.Policies("x"))
	}
	return texts
}

func TestGood(t *testing.T) {
	s := compiled(t)
	for _, text := range good(t) {
		if _, err := policy.Parse("f", text); err != nil {
			t.Error(err)
		}
		if err := validate(t, s, text); err != nil {
			t.Errorf("%.60s...: %v", text, err)
		}
	}
}

// TestBad gives documents with which one thing is wrong: a node refuses them, and the schema does too.
func TestBad(t *testing.T) {
	s := compiled(t)
	one := func(fields string) string { return "{version: 1, policies: {api: {" + fields + "}}}" }
	limit := func(fields string) string { return one("key: [user], limits: [{" + fields + "}]") }
	top := func(fields string) string { return "{version: 1, policies: {}, " + fields + "}" }
	for name, text := range map[string]string{
		"no version":                 "{policies: {}}",
		"another version":            "{version: 2, policies: {}}",
		"version as text":            `{version: "1", policies: {}}`,
		"no policies":                "{version: 1}",
		"null policies":              "{version: 1, policies: }",
		"a list of policies":         "{version: 1, policies: [api]}",
		"an unknown field":           top("polices: {}"),
		"a null policy":              "{version: 1, policies: {a: }}",
		"a policy's name":            "{version: 1, policies: {'a b': {key: [], limits: [{rate: 1/s}]}}}",
		"no key":                     one("limits: [{rate: 1/s}]"),
		"a key that is no list":      one("key: user, limits: [{rate: 1/s}]"),
		"a number in a key":          one("key: [1], limits: [{rate: 1/s}]"),
		"a key twice":                one("key: [a, a], limits: [{rate: 1/s}]"),
		"no limits":                  one("key: [user]"),
		"empty limits":               one("key: [user], limits: []"),
		"limits that are no list":    one("key: [user], limits: {rate: 1/s}"),
		"limits and unlimited":       one("key: [], unlimited: true, limits: [{rate: 1/s}]"),
		"not unlimited, no limits":   one("key: [], unlimited: false"),
		"unknown field of a policy":  one("key: [], limit: [{rate: 1/s}], limits: [{rate: 1/s}]"),
		"unknown on_missing":         one("key: [], on_missing: drop, limits: [{rate: 1/s}]"),
		"when that is a list":        one("key: [], when: [a], limits: [{rate: 1/s}]"),
		"when of nothing":            one("key: [], when: {a: }, limits: [{rate: 1/s}]"),
		"when of no values":          one("key: [], when: {a: []}, limits: [{rate: 1/s}]"),
		"when of an empty value":     one("key: [], when: {a: ['']}, limits: [{rate: 1/s}]"),
		"when of a mapping":          one("key: [], when: {a: {b: c}}, limits: [{rate: 1/s}]"),
		"not of nothing":             one("key: [], when: {not: {}}, limits: [{rate: 1/s}]"),
		"not in not":                 one("key: [], when: {not: [{not: {a: b}}]}, limits: [{rate: 1/s}]"),
		"tier without limits":        one("key: [], limits: [{rate: 1/s}], tiers: {a: {}}"),
		"unknown field of a tier":    one("key: [], limits: [{rate: 1/s}], tiers: {a: {limits: [{rate: 1/s}], key: []}}"),
		"override that is a list":    one("key: [a], limits: [{rate: 1/s}], overrides: {a: [{rate: 1/s}]}"),
		"with that is no list":       one("key: [], limits: [{rate: 1/s}], with: a"),
		"with twice":                 "{version: 1, policies: {a: {key: [], limits: [{rate: 1/s}], with: [b, b]}, b: {key: [], limits: [{rate: 1/s}]}}}",
		"cost without by":            one("key: [], limits: [{rate: 1/s}], cost: {weights: {a: 1}}"),
		"cost without weights":       one("key: [], limits: [{rate: 1/s}], cost: {by: model}"),
		"weight of a fraction":       one("key: [], limits: [{rate: 9/s}], cost: {by: model, weights: {a: 1.5}}"),
		"no rate":                    limit("burst: 3"),
		"no period":                  limit("rate: 10"),
		"a fraction of a rate":       limit("rate: 0.5/s"),
		"an unknown unit of time":    limit("rate: 1/fortnight"),
		"a rate by month":            limit("rate: 1/month"),
		"a rate with a leading zero": limit("rate: 01/s"),
		"rate and quota":             limit("rate: 1/s, quota: 1/month"),
		"quota by a span":            limit("quota: 1/30d"),
		"quota by second":            limit("quota: 1/s"),
		"quota by another algorithm": limit("quota: 1/month, algorithm: fixed_window"),
		"calendar by a rate":         limit("rate: 1/d, algorithm: calendar"),
		"calendar of nothing":        limit("algorithm: calendar"),
		"unknown algorithm":          limit("rate: 1/s, algorithm: leaky_bucket"),
		"zone of a rate":             limit("rate: 1/s, zone: UTC"),
		"overage of a rate":          limit("rate: 1/s, overage: 10%"),
		"overage without percent":    limit("quota: 1/day, overage: 10"),
		"max_wait of a bucket":       limit("rate: 1/s, max_wait: 1s"),
		"max_queue of a window":      limit("rate: 1/s, algorithm: fixed_window, max_queue: 1"),
		"max_wait of a number":       limit("rate: 1/s, algorithm: pacer, max_wait: 5"),
		"burst of a window":          limit("rate: 1/s, algorithm: sliding_window, burst: 5"),
		"burst of a quota":           limit("quota: 1/day, burst: 5"),
		"burst of a fraction":        limit("rate: 1/s, burst: 1.5"),
		"burst below zero":           limit("rate: 1/s, burst: -1"),
		"burst that is null":         limit("rate: 1/s, burst: "),
		"burst that is too large":    limit("rate: 1/s, burst: 9007199254740993"),
		"unknown field of a limit":   limit("rate: 1/s, bursts: 1"),
		"consistency":                limit("rate: 1/s, consistency: exact"),
		"strict is a word":           one("key: [user], consistency: strict, strict: yes, limits: [{rate: 5/s}]"),
		"unknown field of strict":    one("key: [user], consistency: strict, strict: {shard: 2}, limits: [{rate: 5/s}]"),
		"an unknown store":           one("key: [user], consistency: strict, strict: {store: memory}, limits: [{rate: 5/s}]"),
		"on_unreachable":             limit("rate: 1/s, on_unreachable: true"),
		"on_owner_loss":              limit("rate: 1/s, on_owner_loss: none"),
		"shadow":                     limit("rate: 1/s, shadow: 1"),
		"sample":                     limit("rate: 1/s, sample: 10"),
		"name of a limit":            limit("rate: 1/s, name: 5"),
		"empty name of a limit":      limit("rate: 1/s, name: ''"),
		"not in a limit's when":      limit("rate: 1/s, when: {not: {a: b}}"),
		"exempt is a mapping":        top("exempt: {route: x}"),
		"all exempt":                 top("exempt: [{}]"),
		"units are a mapping":        top("units: {tokens: 1}"),
		"a unit twice":               top("units: [a, a]"),
		"too many bits":              top("attributes: {ip: {ipv4: 33}}"),
		"too many bits of IPv6":      top("attributes: {ip: {ipv6: 129}}"),
		"no bits":                    top("attributes: {ip: {ipv6: 0}}"),
		"a secret address":           top("attributes: {ip: {ipv6: 64, hash: true}}"),
		"hash":                       top("attributes: {ip: {hash: sha256}}"),
		"unknown attribute field":    top("attributes: {ip: {ipv5: 1}}"),
	} {
		if _, err := policy.Parse("f", []byte(text)); !errors.Is(err, policy.ErrInvalidPolicy) {
			t.Errorf("%s: a node reads it: %v", name, err)
		}
		var wrong *jsonschema.ValidationError
		if err := validate(t, s, []byte(text)); !errors.As(err, &wrong) {
			t.Errorf("%s: the schema has nothing against it: %v", name, err)
		}
	}
}

// TestFields: what the schema knows is what a node knows, which names all fields where there is none.
func TestFields(t *testing.T) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema.Text()))
	if err != nil {
		t.Fatal(err)
	}
	at := func(path ...string) map[string]any {
		here := doc
		for _, step := range path {
			here = here.(map[string]any)[step]
		}
		return here.(map[string]any)
	}
	for text, properties := range map[string]map[string]any{
		"[]":                              at("properties"),
		"{version: 1, policies: {a: []}}": at("$defs", "policy", "properties"),
		"{version: 1, policies: {a: {key: [], limits: [[]]}}}":                             at("$defs", "limit", "properties"),
		"{version: 1, policies: {a: {key: [], limits: [{rate: 1/s}], tiers: {t: []}}}}":    at("$defs", "plan", "properties"),
		"{version: 1, policies: {a: {key: [], limits: [{rate: 1/s}], cost: []}}}":          at("$defs", "policy", "properties", "cost", "properties"),
		"{version: 1, policies: {}, attributes: {a: []}}":                                  at("$defs", "attribute", "properties"),
		"{version: 1, policies: {a: {key: [], limits: [{rate: 1/s}], overrides: {o: 1}}}}": at("$defs", "plan", "properties"),
	} {
		_, err := policy.Parse("f", []byte(text))
		if err == nil {
			t.Fatalf("%s is read", text)
		}
		first, _, _ := strings.Cut(err.Error(), "\n")
		_, list, _ := strings.Cut(first, "want fields: ")
		known := strings.Split(list, ", ")
		for _, name := range known {
			if p, ok := properties[name].(map[string]any); !ok || p["description"] == nil {
				t.Errorf("%s: the schema does not explain %q", text, name)
			}
		}
		for name := range properties {
			if !slices.Contains(known, name) {
				t.Errorf("%s: no node knows %q: %v", text, name, err)
			}
		}
	}
}

// FuzzSchema: what a node reads the schema has nothing against.
func FuzzSchema(f *testing.F) {
	for _, text := range good(f) {
		f.Add(text)
	}
	s := compiled(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := policy.Parse("f", text); err != nil {
			return
		}
		if err := validate(t, s, text); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	})
}
