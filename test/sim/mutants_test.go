package sim

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mutant is a rule of the nodes, or of their tables, left out or done wrong: one change of their source, and the test that
// must notice.
type mutant struct {
	rule, pkg, test string
	file, old, new  string // old occurs exactly once in the file
}

var allMutants = flag.Bool("sim.mutants", false, "break all rules in TestMutants, and not one in eight: it takes minutes")

var mutants = []mutant{
	{"idle groups are skipped in a transfer", "test/sim", "TestJoins",
		"node/moving.go", "return g.node.owned.IDs(part, nil), frozen", "return nil, frozen"},
	{"what changes in a transfer is skipped", "test/sim", "TestLeaves",
		"node/moving.go", "	ids := slices.Collect(maps.Keys(changed))\n", "	ids := slices.Collect(maps.Keys(changed))[:0]\n"},
	{"the ledger is dropped in a transfer", "bucket/table", "TestTransfer",
		"bucket/table/import.go", "	if lender != nil {\n		out = lender.Out()", "	if lender = nil; lender != nil {\n		out = lender.Out()"},
	{"refill is counted from before the groups arrived", "bucket/table", "TestTransfer",
		"bucket/table/import.go", "Last: in.now})", "Last: in.now - 50_000_000})"},
	{"a frozen partition goes on deciding", "test/sim", "TestRollSameIDs",
		"node/acts.go", "		n.owned.Close(a.Partition) // and stream", "		// and stream"},
	{"copies are never made", "test/sim", "TestCrash",
		"node/copying.go", "		switch {\n		case ok:\n", "		switch {\n		case ok && part < 0:\n"},
	{"copies are made once and not kept up to date", "test/sim", "TestCrash",
		"node/copying.go", "	for _, id := range g.node.owned.Changed(part, nil) {", "	for _, id := range g.node.owned.Changed(part, nil)[:0] {"},
	{"a copy that is there is not used", "test/sim", "TestCrash",
		"node/acts.go", "			s.move(a.Partition, kept, held)", "			s.clear(a.Partition, held)"},
	{"a bucket whose owner was lost is not emptied", "test/sim", "TestLostOwnerEmpties",
		"node/acts.go", "			n.owned.TakenOver(a.Partition, n.clock.Now())", ""},
	{"who has no authority decides all the same", "test/sim", "TestCut",
		"node/governor.go", "	return now < bucket.Instant(n.governor.authority.Load())", "	return true"},
	{"on_unreachable: deny serves shares", "test/sim", "TestCut",
		"node/unreachable.go", "	case r.denies >= 0:", "	case r.denies >= 100:"},
	{"shares sum above the limit", "test/sim", "TestCut",
		"node/share.go", "	return len(members), rank", "	return 1, 0"},
	{"debts are never charged", "node", "TestDebtsAreCharged",
		"node/debts.go", "	if !g.shelves[held].settled[b.Partition].news(debtor, b.Seq) {", "	if true {"},
	{"debts are charged twice", "node", "TestBillIsChargedOnce",
		"node/shelves.go", "		if seq <= p.Seq {", "		if seq < p.Seq {"},
	{"what was settled stays behind when a partition moves", "node", "TestBillIsChargedOnce",
		"node/moving.go", "			puts[i].Last = last", "			puts[i].Settled = nil\n			puts[i].Last = last"},
}

// TestMutants breaks the rules one by one and wants the test that is there for each to fail.
func TestMutants(t *testing.T) {
	if raceDetector {
		t.Skip("run without the race detector")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	running := make(chan struct{}, 2)
	for i, m := range mutants {
		t.Run(m.rule, func(t *testing.T) {
			if !*allMutants && i%8 != 0 {
				t.Skip("run with -sim.mutants")
			}
			t.Parallel()
			running <- struct{}{}
			defer func() { <-running }()
			m.mustFail(t, root)
		})
	}
}

func (m mutant) mustFail(t *testing.T, root string) {
	folder := t.TempDir()
	source, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), m.old); n != 1 {
		t.Fatalf("%s has %d times, want once: %s", m.file, n, m.old)
	}
	changed, overlay := filepath.Join(folder, "changed.go"), filepath.Join(folder, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, m.file): changed}})
	if err == nil {
		err = os.WriteFile(changed, []byte(strings.Replace(string(source), m.old, m.new, 1)), 0o600)
	}
	if err == nil {
		err = os.WriteFile(overlay, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(folder, "mutant.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", binary, "./"+m.pkg)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("does not compile: %v\n%s", err, out)
	}
	args := []string{"-test.run", "^" + m.test + "$", "-test.timeout", "4m"}
	if m.pkg == "bucket/table" {
		args = append(args, "-rapid.nofailfile")
	}
	run := exec.CommandContext(t.Context(), binary, args...)
	run.Dir = filepath.Join(root, m.pkg)
	out, err := run.CombinedOutput()
	switch {
	case err == nil:
		t.Errorf("%s did not notice", m.test)
	case !strings.Contains(string(out), "--- FAIL: "+m.test):
		t.Errorf("%s did not run to its end: %v\n%s", m.test, err, out)
	}
}
