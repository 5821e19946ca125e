package ownership

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

// mutant is a rule of this package left out, or done wrong: changes of its source, and the test that must notice.
type mutant struct {
	rule  string
	test  string // a scenario is run until it does
	edits []edit
}

// edit is one change: old occurs exactly once in the file.
type edit struct{ file, old, new string }

var allMutants = flag.Bool("ownership.mutants", false, "break all rules in TestMutants: it takes many minutes")

// mutantRuns is how many runs of a scenario there are at most. Most mutants are found out in the first few.
const mutantRuns = "400"

// TestMutants breaks the rules one by one and wants the test that is there for each to fail. The children do not run
// with the race detector, so with it there is nothing more to see.
func TestMutants(t *testing.T) {
	if raceDetector {
		t.Skip("run without the race detector")
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	running := make(chan struct{}, 2)
	for _, m := range mutants {
		t.Run(m.rule, func(t *testing.T) {
			if !*allMutants {
				t.Skip("run with -ownership.mutants")
			}
			t.Parallel()
			running <- struct{}{}
			defer func() { <-running }()
			m.mustFail(t, here)
		})
	}
}

func (m mutant) mustFail(t *testing.T, here string) {
	binary := m.build(t, here)
	run := exec.CommandContext(t.Context(), binary, m.args()...)
	run.Dir = here
	out, err := run.CombinedOutput()
	switch {
	case err == nil:
		t.Errorf("%s did not notice", m.test)
	case !strings.Contains(string(out), "--- FAIL: "+strings.ReplaceAll(m.test, " ", "_")):
		t.Errorf("%s did not run to its end: %v\n%s", m.test, err, out)
	default:
		t.Logf("%s: %s", m.test, reason(string(out)))
	}
}

func (m mutant) args() []string {
	name := "^" + strings.Replace(strings.ReplaceAll(m.test, " ", "_"), "/", "$/^", 1) + "$"
	args := []string{"-test.run", name, "-test.timeout", "2m"}
	if strings.HasPrefix(m.test, scenes) {
		args = append(args, "-ownership.runs", mutantRuns, "-ownership.first")
	}
	return args
}

// build returns the test binary of the package with the rule broken.
func (m mutant) build(t *testing.T, here string) string {
	folder := t.TempDir()
	overlay, err := m.overlay(here, folder)
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(folder, "mutant.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay,
		"-o", binary, ".")
	build.Dir = here
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("does not compile: %v\n%s", err, out)
	}
	return binary
}

// reason is the first line that a failed test has said.
func reason(out string) string {
	for line := range strings.Lines(out) {
		if strings.Contains(line, "_test.go:") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// overlay writes the changed files, and for the go command where each belongs.
func (m mutant) overlay(here, folder string) (string, error) {
	texts := make(map[string]string)
	for _, e := range m.edits {
		text, changed := texts[e.file]
		if !changed {
			b, err := os.ReadFile(filepath.Join(here, e.file))
			if err != nil {
				return "", err
			}
			text = string(b)
		}
		if n := strings.Count(text, e.old); n != 1 {
			return "", fmt.Errorf("%s has %d times, want once: %s", e.file, n, e.old)
		}
		texts[e.file] = strings.Replace(text, e.old, e.new, 1)
	}
	replace := make(map[string]string)
	for file, text := range texts {
		changed := filepath.Join(folder, file)
		if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(here, file)] = changed
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(folder, "overlay.json")
	return overlay, os.WriteFile(overlay, b, 0o600)
}
