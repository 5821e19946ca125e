package ownership

import (
	"strings"
	"testing"

	"github.com/drossel-dev/drossel/test/mutate"
)

// mutant is a rule of this package left out, or done wrong: changes of its source, and the test that must notice.
type mutant struct {
	rule  string
	test  string // a scenario is run until it does
	edits []edit
}

type edit struct{ file, old, new string }

// TestMutants breaks the rules one by one. The children do not run with the race detector, so with it there is nothing more
// to see.
func TestMutants(t *testing.T) {
	if raceDetector {
		t.Skip("run without the race detector")
	}
	var all []mutate.Mutant
	for _, m := range mutants {
		broken := mutate.Mutant{Rule: m.rule, Test: m.test, Args: []string{"-rapid.nofailfile"}}
		if strings.HasPrefix(m.test, scenes) { // most are found out in the first few runs
			broken.Args = append(broken.Args, "-ownership.runs", "400", "-ownership.first")
		}
		for _, e := range m.edits {
			broken.Edits = append(broken.Edits, mutate.Edit{File: e.file, Old: e.old, New: e.new})
		}
		all = append(all, broken)
	}
	mutate.Run(t, ".", all, 24)
}
