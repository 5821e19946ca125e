package envoyimport

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// TestWrong: what is wrong is said with its place, all of it at once.
func TestWrong(t *testing.T) {
	const top = "domain: edge\ndescriptors:\n"
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"nothing":        {"", []string{"f:1:1: there is nothing in it"}},
		"not YAML":       {"domain: [", []string{"f:1:1: not YAML"}},
		"a list":         {"[]", []string{"f:1:1: a list here: want fields: domain, descriptors"}},
		"no domain":      {"descriptors: []", []string{`f:1:1: field "domain" is missing`}},
		"empty domain":   {`domain: ""`, []string{"f:1:9: domain: nothing here"}},
		"pattern domain": {"domain: a*", []string{`f:1:9: domain "a*": a * would`}},
		"two documents":  {top + "---\ndomain: b\n", []string{"f:3:1: a second document starts here"}},
		"unknown field":  {"domian: edge\ndomain: edge", []string{`f:1:1: unknown field "domian": did you mean "domain"?`}},
		"far field":      {"domain: edge\nburst: 5", []string{`f:2:1: unknown field "burst": want domain, descriptors`}},
		"near field": {
			top + "- {key: a, rate_limits: {}}",
			[]string{`f:3:12: descriptor: unknown field "rate_limits": did you mean "rate_limit"?`},
		},
		"near limit field": {
			top + "- {key: a, rate_limit: {unit: hour, request_per_unit: 1}}",
			[]string{`f:3:37: "a": rate_limit: unknown field "request_per_unit": did you mean "requests_per_unit"?`},
		},
		"field twice":     {"domain: a\ndomain: b", []string{`f:2:1: field "domain" is there twice, first at line 1`}},
		"not a list":      {"domain: a\ndescriptors: {}", []string{"f:2:14: descriptors: a mapping here"}},
		"no key":          {top + "- {value: x}", []string{"f:3:3: descriptor: no key"}},
		"a list as a key": {top + "- {key: []}", []string{"f:3:9: key: a list here: want a single value"}},
		"twice":           {top + "- {key: a, value: x}\n- {key: a, value: x}", []string{`f:4:3: "a=x": is there twice, first at f:3`}},
		"share nothing":   {top + "- {key: a, value: x, share_threshold: true}", []string{`f:3:22: "a=x": share_threshold: the value has no *`}},
		"no unit":         {top + "- {key: a, rate_limit: {requests_per_unit: 1}}", []string{`f:3:24: "a": rate_limit: unit is missing`}},
		"near unit": {
			top + "- {key: a, rate_limit: {unit: minuts, requests_per_unit: 1}}",
			[]string{`f:3:31: "a": rate_limit: unknown unit "minuts": did you mean "minute"?`},
		},
		"far unit": {
			top + "- {key: a, rate_limit: {unit: fortnight}}",
			[]string{`f:3:31: "a": rate_limit: unknown unit "fortnight": want second`},
		},
		"unlimited unit": {top + "- {key: a, rate_limit: {unlimited: true, unit: day}}", []string{`f:3:42: "a": rate_limit: unit, and unlimited`}},
		"count": {
			top + "- {key: a, rate_limit: {unit: day, requests_per_unit: -1}}",
			[]string{`f:3:55: "a": rate_limit: requests_per_unit: "-1": want a whole number`},
		},
		"count of words": {
			top + "- {key: a, rate_limit: {unit: day, requests_per_unit: many}}",
			[]string{`f:3:55: "a": rate_limit: requests_per_unit: "many"`},
		},
		"too large": {
			top + "- {key: a, rate_limit: {unit: day, requests_per_unit: 4294967296}}",
			[]string{`f:3:55: "a": rate_limit: requests_per_unit`},
		},
		"yes or no": {top + "- {key: a, shadow_mode: perhaps}", []string{`f:3:25: "a": shadow_mode: "perhaps": want true or false`}},
		"replaces itself": {
			top + "- {key: a, rate_limit: {unit: day, name: x, replaces: [{name: x}]}}",
			[]string{`f:3:56: "a": rate_limit: replaces: "x" is its own name`},
		},
		"replaces nothing": {top + "- {key: a, rate_limit: {unit: day, replaces: [{}]}}", []string{`f:3:47: "a": rate_limit: replaces: no name`}},
		"all at once": {
			top + "- {key: a, rate_limit: {unit: dya}, x: 1}\n- {kye: b}",
			[]string{
				`f:3:31: "a": rate_limit: unknown unit "dya": did you mean "day"?`, `f:3:37: descriptor: unknown field "x"`,
				`f:4:4: descriptor: unknown field "kye": did you mean "key"?`,
			},
		},
		"itself":         {"domain: a\ndescriptors: &all [{key: a, descriptors: *all}]", nil},
		"merges forever": {"domain: a\n<<: &x {<<: *x}", []string{"f:2:5: mappings merged into each other more than 8 deep"}},
		"merges a list":  {"domain: a\n<<: 5", []string{"f:2:5: <<: a single value here"}},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := Import([]File{{"f", []byte(tt.text)}})
			if tt.want == nil {
				if err != nil || !res.Lossy() {
					t.Errorf("%v %v, want something left out", res, err)
				}
				return
			}
			bad, ok := errors.AsType[*policy.ParseError](err)
			if !ok {
				t.Fatalf("%v %v, want a ParseError", res, err)
			}
			if len(bad.Problems) != len(tt.want) {
				t.Errorf("%d problems, want %d:\n%v", len(bad.Problems), len(tt.want), err)
			}
			for i, want := range tt.want {
				if i >= len(bad.Problems) || !strings.HasPrefix(bad.Problems[i].String(), want) {
					t.Errorf("problem %d: want %s, got\n%v", i+1, want, err)
				}
			}
		})
	}
}

// TestLeftOut: what can't be in a policy is left out with all below it, and noted as something that decides.
func TestLeftOut(t *testing.T) {
	long := strings.Repeat("k", policy.MaxNameBytes+1)
	deep := "{key: a, rate_limit: {unit: day}}"
	for range policy.MaxKeyParts {
		deep = "{key: a, descriptors: [" + deep + "]}"
	}
	for name, tt := range map[string]struct {
		descriptor, note string
		decides          bool
	}{
		"a pattern of keys": {`{key: "a*", rate_limit: {unit: day}, descriptors: [{key: b, rate_limit: {unit: day}}]}`, `f:3: key: "a*" stands for many keys`, true},
		"a long key":        {"{key: " + long + ", rate_limit: {unit: day}}", "f:3: key: as an attribute it has 129 bytes", true},
		"too deep":          {deep, "f:3: descriptors: 17 deep", true},
		"shadow misplaced":  {"{key: x, rate_limit: {unit: day, unit: day, shadow_mode: true}}", "", false},
		"idle":              {"{key: x, rate_limit: {unlimited: true, shadow_mode: true}}", "f:3: shadow_mode: Envoy's service reads it, but not here", false},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := Import([]File{{"f", []byte("domain: edge\ndescriptors:\n- " + tt.descriptor + "\n")}})
			if tt.note == "" {
				if err == nil {
					t.Error("a field that is there twice is no error")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			wantNotes(t, res.Notes, []string{tt.note})
			if res.Lossy() != tt.decides || bytes.Contains(res.Policies, []byte("limits:")) {
				t.Errorf("lossy %v, want %v\n%s", res.Lossy(), tt.decides, res.Policies)
			}
		})
	}
}

// TestNames: policies have different names, of what a name may have, whatever the descriptors are called.
func TestNames(t *testing.T) {
	long := strings.Repeat("v", 200)
	set, res := imported(t, fmt.Sprintf(`domain: "ed ge"
descriptors:
- {key: a, value: "x y", rate_limit: {unit: day, name: "a \"b\" ü"}}
- {key: a, value: x_y, rate_limit: {unit: day, name: %s}}
- {key: a, value: %s1, rate_limit: {unit: day}}
- {key: a, value: %s2, rate_limit: {unit: day}}
- {key: a, value: "\0\n", rate_limit: {unit: day}}
`, long, long, long))
	want := []string{"ed_ge.a=__", "ed_ge.a=vvv", "ed_ge.a=vvv", "ed_ge.a=x_y", "ed_ge.a=x_y~2"}
	if set.Len() != len(want) {
		t.Fatalf("%q, want %q\n%s", set.Names(), want, res.Policies)
	}
	for i, name := range set.Names() {
		if !strings.HasPrefix(name, want[i]) {
			t.Errorf("%q, want %q", name, want[i])
		}
	}
	for _, value := range []string{"x y", "x_y", long + "1", long + "2", "\x00\n"} {
		if got, _ := found(t, set, "ed ge", []string{"a", value}); len(got) != 1 {
			t.Errorf("%q: %d policies, want 1", value, len(got))
		}
	}
}

// TestMuch: what would be more than a file of policies can have is an error that says so.
func TestMuch(t *testing.T) {
	text, value := "domain: edge\ndescriptors:\n", strings.Repeat("v", 4000)
	for i := range 150 {
		text += fmt.Sprintf("- {key: a, value: %s%d, rate_limit: {unit: day}}\n", value, i)
	}
	if _, err := Import([]File{{"f", []byte(text)}}); err != nil {
		t.Errorf("150 values: %v", err)
	}
	if _, err := Import([]File{{"f", []byte(text)}, {"g", []byte(strings.ReplaceAll(text, "edge", "mesh"))}}); !errors.Is(err, ErrTooLong) {
		t.Errorf("300 values: %v, want ErrTooLong", err)
	}
	bomb := "domain: edge\ndescriptors: &a\n- {key: a, value: x0, descriptors: *a}\n"
	for i := range 9 {
		bomb += fmt.Sprintf("- {key: b%d, descriptors: *a}\n", i)
	}
	if _, err := Import([]File{{"f", []byte(bomb)}}); err == nil || !strings.Contains(err.Error(), "more than 20000 descriptors") {
		t.Errorf("descriptors of descriptors: %v", err)
	}
}

// FuzzImport: whatever is in a file, what is written can be read, and else something is said.
func FuzzImport(f *testing.F) {
	for _, text := range []string{
		"domain: edge\ndescriptors:\n- {key: path, value: /v1/*, share_threshold: true, rate_limit: {unit: month, requests_per_unit: 7, name: x}}\n",
		"domain: a\ndescriptors: &all [{key: a, descriptors: *all}]",
		"domain: \"\\0\"\ndescriptors:\n- {key: not, value: \"\\n# x\", rate_limit: {<<: {unlimited: yes}}}\n- {key: not, quota_mode: true}\n",
		"domain: é\ndescriptors:\n- {key: |\n    a\n    b\n  , value: '*', rate_limit: {unit: week, replaces: [{name: b}]}}\n- key: a\n  metadata: {a: [b]}\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		res, err := Import([]File{{"config.yaml", []byte(text)}})
		if err != nil {
			if bad, ok := errors.AsType[*policy.ParseError](err); ok && len(bad.Problems) > 0 && strings.HasPrefix(bad.Problems[0].File, "config") ||
				errors.Is(err, ErrTooLong) {
				return
			}
			t.Fatal(err)
		}
		if _, err := policy.Parse("limits.yaml", res.Policies); err != nil {
			t.Fatalf("%v\n%s", err, res.Policies)
		}
		for _, n := range res.Notes {
			if n.File != "config.yaml" || n.Line < 1 || n.Field == "" || n.Text == "" {
				t.Fatalf("note %+v", n)
			}
		}
	})
}
