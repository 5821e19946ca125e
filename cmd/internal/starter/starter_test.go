package starter_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/cmd/internal/cases"
	"github.com/drossel-dev/drossel/cmd/internal/review"
	"github.com/drossel-dev/drossel/cmd/internal/starter"
)

// TestStarters: each is valid, without doubts, and passes its tests.
func TestStarters(t *testing.T) {
	for _, name := range starter.Names() {
		t.Run(name, func(t *testing.T) {
			s, err := starter.For(name)
			if err != nil {
				t.Fatal(err)
			}
			set, err := policy.Parse(name+".yaml", s.Policies("x"))
			if err != nil {
				t.Fatal(err)
			}
			for _, doubt := range review.Doubts(name+".yaml", s.Policies("x"), set) {
				t.Error(doubt)
			}
			f, err := cases.Parse(name+"_test.yaml", s.Tests("my limits.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			if f.Policies != "my limits.yaml" {
				t.Errorf("the tests are of %s", f.Policies)
			}
			outcome, err := cases.Run(t.Context(), set, f)
			if err != nil {
				t.Fatal(err)
			}
			r := cases.Report{Files: []cases.FileOutcome{outcome}}
			if _, _, failed := r.Counts(); failed > 0 {
				var text strings.Builder
				if err := r.WriteText(&text, false); err != nil {
					t.Error(err)
				}
				t.Error(text.String())
			}
		})
	}
}

// TestEveryPolicyIsTested: some step of the tests is about each policy.
func TestEveryPolicyIsTested(t *testing.T) {
	for _, name := range starter.Names() {
		s, err := starter.For(name)
		if err != nil {
			t.Fatal(err)
		}
		set, err := policy.Parse(name, s.Policies("x"))
		if err != nil {
			t.Fatal(err)
		}
		f, err := cases.Parse(name, s.Tests("x"))
		if err != nil {
			t.Fatal(err)
		}
		tested := map[string]bool{}
		for _, c := range f.Cases {
			for i := range c.Steps {
				x, err := set.Explain(&c.Steps[i].Request)
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range x.Policies {
					tested[p.Policy] = tested[p.Policy] || p.Applies
				}
			}
		}
		for _, p := range set.Names() {
			if !tested[p] {
				t.Errorf("%s: nothing tests %s", name, p)
			}
		}
	}
}

func TestFor(t *testing.T) {
	if _, err := starter.For("web"); err == nil || !strings.Contains(err.Error(), "want api, llm, b2b") {
		t.Errorf("%v", err)
	}
	for _, name := range starter.Names() {
		s, err := starter.For(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(starter.Table(), "  "+name+" ") || bytes.Contains(s.Policies("x"), []byte("\t")) {
			t.Errorf("%s is not offered, or has tabs", name)
		}
		for i, line := range strings.Split(string(s.Policies("x"))+string(s.Tests("x")), "\n") {
			if len(line) > 130 {
				t.Errorf("%s: line %d has %d bytes", name, i+1, len(line))
			}
		}
	}
}

// TestNamed: the names of the files are in the texts, where they can be.
func TestNamed(t *testing.T) {
	s, err := starter.For("api")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]string{
		"limits.yaml":        {"drossel policy test limits_test.yaml", "\npolicies: limits.yaml\n"},
		"etc/my-limits.yml":  {"drossel policy test my-limits_test.yml", "\npolicies: my-limits.yml\n"},
		"etc/#limits.yaml":   {"drossel policy test limits_test.yaml", "\npolicies: \"#limits.yaml\"\n"},
		"etc/a: limits.yaml": {"drossel policy test limits_test.yaml", "\npolicies: \"a: limits.yaml\"\n"},
	} {
		if text := string(s.Policies(name)); !strings.Contains(text, want[0]+"\n") {
			t.Errorf("%s: %q is not in\n%s", name, want[0], text)
		}
		if text := string(s.Tests(name)); !strings.Contains(text, want[0]+"\n") || !strings.Contains(text, want[1]) {
			t.Errorf("%s: %q are not in\n%s", name, want, text)
		}
	}
}
