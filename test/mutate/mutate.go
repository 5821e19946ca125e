package mutate

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Mutant is a rule left out, or done wrong.
type Mutant struct {
	// Rule says in words what is broken.
	Rule string
	// Package is the folder of the test; empty is the one that Run is given.
	Package string
	// Test is the test that must fail, or a subtest as in "TestModel/lease". Those whose names go on after it with an
	// underscore are run too.
	Test string
	// Args are further arguments for it.
	Args []string
	// Edits are what breaks the rule.
	Edits []Edit
}

// Edit is a change of a source file. Old occurs exactly once in it.
type Edit struct{ File, Old, New string }

var all = flag.Bool("mutants", false, "break all rules in TestMutants: it takes minutes")

// Run breaks rules one by one, in copies of the source. Unless the flag -mutants is given it breaks one in so many. Files and
// packages are relative to folder.
func Run(t *testing.T, folder string, mutants []Mutant, oneIn int) {
	t.Helper()
	root, err := filepath.Abs(folder)
	if err != nil {
		t.Fatal(err)
	}
	running := make(chan struct{}, 2)
	for i, m := range mutants {
		t.Run(m.Rule, func(t *testing.T) {
			if !*all && i%oneIn != 0 {
				t.Skip("run with -mutants")
			}
			t.Parallel()
			running <- struct{}{}
			defer func() { <-running }()
			m.mustFail(t, root)
		})
	}
}

func (m Mutant) mustFail(t *testing.T, root string) {
	binary, err := m.build(t, root)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.ReplaceAll(m.Test, " ", "_")
	pattern := "^" + strings.Replace(name, "/", "$/^", 1) + "(_|$)"
	run := exec.CommandContext(t.Context(), binary, append([]string{"-test.run", pattern, "-test.timeout", "4m"}, m.Args...)...)
	run.Dir = filepath.Join(root, m.Package)
	out, err := run.CombinedOutput()
	switch {
	case err == nil:
		t.Errorf("%s did not notice", m.Test)
	case !strings.Contains(string(out), "--- FAIL: "+name):
		t.Errorf("%s did not run to its end: %v\n%s", m.Test, err, out)
	default:
		t.Logf("%s: %s", m.Test, reason(string(out)))
	}
}

// build returns the test binary of a package with the rule broken.
func (m Mutant) build(t *testing.T, root string) (binary string, err error) {
	folder := t.TempDir()
	overlay, err := m.overlay(root, folder)
	if err != nil {
		return "", err
	}
	binary = filepath.Join(folder, "mutant.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay,
		"-o", binary, "./"+m.Package)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("does not compile: %w\n%s", err, out)
	}
	return binary, nil
}

// overlay writes the changed files, and for the go command where each belongs.
func (m Mutant) overlay(root, folder string) (string, error) {
	texts := make(map[string]string)
	for _, e := range m.Edits {
		text, changed := texts[e.File]
		if !changed {
			b, err := os.ReadFile(filepath.Join(root, e.File))
			if err != nil {
				return "", err
			}
			text = string(b)
		}
		if n := strings.Count(text, e.Old); n != 1 {
			return "", fmt.Errorf("%s has %d times, want once: %s", e.File, n, e.Old)
		}
		texts[e.File] = strings.Replace(text, e.Old, e.New, 1)
	}
	replace := make(map[string]string)
	for file, text := range texts {
		changed := filepath.Join(folder, strings.ReplaceAll(file, "/", "+"))
		if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(root, file)] = changed
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(folder, "overlay.json")
	return overlay, os.WriteFile(overlay, b, 0o600)
}

// reason is the last that a failed test has said.
func reason(out string) (said string) {
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "    ") && !strings.Contains(line, "--- ") {
			said = strings.TrimSpace(line)
		}
	}
	return said
}
