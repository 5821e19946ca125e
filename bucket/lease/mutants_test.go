package lease

import (
	"encoding/json"
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
	test  string // as -run has it
	edits []edit
}

// edit is one change: old occurs exactly once in the file.
type edit struct{ file, old, new string }

const (
	refillLoop = "			l.fill(g, l.soonest)\n			l.burn(l.soonest)\n"
	model      = "TestModel/"
)

var mutants = []mutant{
	{"naive refill cap", model + "lease", []edit{{"ledger.go", "		limit.Burst -= l.out\n", ""}}},
	{"refund at expiry", model + "lease", []edit{{"ledger.go", refillLoop,
		`			l.fill(g, l.soonest)
			before := l.out
			l.burn(l.soonest)
			for j := range g.States {
				g.States[j].Tokens += before - l.out
			}
`}}},
	{"refill looked at late", model + "late", []edit{{"ledger.go", refillLoop, "			l.burn(l.soonest)\n"}}},
	{"expiry before the holder's deadline", model + "lease", []edit{{"ledger.go",
		"return bucket.Instant(ttl + ttl/burnSlack)", "return bucket.Instant(ttl - ttl/3)"}}},
	{"no allowance for slow clocks", "TestLedger/I6", []edit{{"ledger.go",
		"return bucket.Instant(ttl + ttl/burnSlack)", "return bucket.Instant(ttl)"}}},
	{"return without ledger check", model + "lease", []edit{{"ledger.go",
		"if i >= 0 && l.entries[i].lease == r.Lease {\n			l.giveBack", "if i >= 0 {\n			l.giveBack"}}},
	{"return of more than was lent", "TestLedger/I5", []edit{{"ledger.go", "back > 0 && back <= e.left", "back > 0"}}},
	{"holder deadline from receipt", model + "lease", []edit{{"purse.go",
		"p.deadline = p.sent + bucket.Instant(a.TTL)", "p.deadline = now + bucket.Instant(a.TTL)"}}},
	{"holder deadline from a resend", model + "crash", []edit{
		{"purse.go", "	epoch   uint64 ", "	seen bucket.Instant\n	epoch   uint64 "},
		{"purse.go", "func (p *Purse) alive(now bucket.Instant) bool { return", "func (p *Purse) alive(now bucket.Instant) bool { p.seen = now; return"},
		{"purse.go", "func (p *Purse) Again() Request {\n", "func (p *Purse) Again() Request {\n	p.sent = p.seen\n"},
	}},
	{"grant not idempotent at the owner", model + "lease", []edit{{"ledger.go",
		"		case r.Number == e.number:\n			return &e.answer, true\n", ""}}},
	{"grant not idempotent at the holder", model + "lease", []edit{{"purse.go", "if !p.waiting || a.Number", "if a.Number"}}},
	{"an answer to an older request", model + "answers", []edit{{"purse.go", "!p.waiting || a.Number != p.asked ||", "!p.waiting ||"}}},
	{"an older request is answered", model + "lease", []edit{{"ledger.go",
		"		case r.Number.before(e.number):\n			return nil, false\n", ""}}},
	{"lease id chosen by the holder", model + "lease", []edit{{"ledger.go", "l.Last.Number++", "l.Last.Number = r.Number.Seq"}}},
	{"return with a hold in flight", model + "purse", []edit{{"purse.go", "!p.alive(now) || p.held != 0 || p.waiting", "!p.alive(now) || p.waiting"}}},
	{"renewal crossing a return", model + "lease", []edit{{"purse.go", "!p.alive(now) || p.held != 0 || p.waiting", "!p.alive(now) || p.held != 0"}}},
	{"hold not in O", model + "several", []edit{
		{"hold.go", "	l.out += h.cost\n", ""},
		{"hold.go", "	l.out -= l.holds[i].cost\n", ""},
	}},
	{"commit after the life of an owner's hold", model + "several", []edit{{"hold.go",
		"return now < p.Sent+bucket.Instant(p.Life)", "return true"}}},
	{"commit after the life of a purse's hold", model + "purse", []edit{{"purse.go",
		"if !p.alive(now) || h.lease != p.lease {\n		return false", "if h.lease != p.lease {\n		return false"}}},
	{"hold expiry that puts back", model + "several", []edit{
		{"ledger.go", "			l.burn(l.soonest)\n", "			l.burn(g, l.soonest)\n"},
		{"ledger.go", "burn(now bucket.Instant) {", "burn(g Group, now bucket.Instant) {"},
		{"ledger.go", "			l.burned += l.holds[i].cost\n", `			for j, cost := range l.holds[i].costs {
				g.States[j].Tokens += cost
			}
`},
	}},
	{"hold cut at a window edge unknown to the coordinator", model + "edge", []edit{{"owner_moves_test.go",
		"c.answers |= 1 << life", "c.answers |= 1 << w.life"}}},
	{"a late answer reviving a dead purse", model + "purse", []edit{{"purse.go",
		"if !p.alive(now) || a.Lease != p.lease {", "if a.Lease != p.lease {"}}},
	{"purse put-back after report", model + "purse", []edit{{"purse.go",
		"Spent: p.spent, Under: slices.Clone(p.under)", "Spent: p.spent + p.held, Under: slices.Clone(p.under)"}}},
	{"delta reports instead of cumulative", model + "renewals", []edit{{"ledger.go", "spent := r.Spent - e.spent", "spent := r.Spent"}}},
	{"a settlement applied twice", model + "settle", []edit{{"hold.go",
		"func(s settlement) bool { return s.id == id }", "func(s settlement) bool { return false }"}}},
	{"a settlement above the capacity", model + "settle", []edit{{"hold.go", "g.Limits[j].Burst - l.out - s.Tokens", "g.Limits[j].Burst - s.Tokens"}}},
	{"a grant debits one state only", model + "group", []edit{{"ledger.go",
		"		g.States[j].Tokens -= tokens\n", "		g.States[j].Tokens -= tokens\n		break\n"}}},
	{"a purse takes the first of the costs", model + "group", []edit{{"purse.go",
		"h = Hold{p.lease, costs, slices.Max(costs)}", "h = Hold{p.lease, costs, costs[0]}"}}},
	{"an owner's hold debits one state only", model + "vectors", []edit{{"hold.go",
		"		g.States[j].Tokens -= cost\n", "		g.States[j].Tokens -= cost\n		break\n"}}},
	{"what was not spent of a state comes back twice", model + "group", []edit{{"ledger.go",
		"			e.under[j] = r.Under[j]\n", ""}}},
	{"a renewal ends the lease as it would have", model + "lease", []edit{{"ledger.go",
		"e.burns = max(e.burns, now+burnAfter(ttl))", "if e.burns == 0 {\n		e.burns = now + burnAfter(ttl)\n	}"}}},
	{"deny when lending is exhausted", "TestDeny", []edit{{"lender.go",
		"bucket.LookAll(g.Limits, g.States, now, 1); !d.Allowed {", "bucket.LookAll(g.Limits, g.States, now, 1); true {"}}},
	{"recall without pause", "TestRecall", []edit{{"recall.go", "	if ahead(now, l.recall.again) {", "	if false {"}}},
	{"accept lower epoch", "TestPurse/I7", []edit{{"purse.go", "|| a.Lease.Epoch < p.epoch && a.Lease != (ID{})", ""}}},
}

// TestMutants breaks the rules one by one and wants the test that is there for each to fail. A child never runs with the
// race detector: it would only be slow.
func TestMutants(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	running := make(chan struct{}, 2)
	for _, m := range mutants {
		t.Run(m.rule, func(t *testing.T) {
			t.Parallel()
			running <- struct{}{}
			defer func() { <-running }()
			m.mustFail(t, here)
		})
	}
}

func (m mutant) mustFail(t *testing.T, here string) {
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
	name := "^" + strings.ReplaceAll(m.test, "/", "$/^") + "$"
	if strings.Count(m.test, "/") == 1 && !strings.HasPrefix(m.test, model) { // all tests of a rule
		name = strings.TrimSuffix(name, "$")
	}
	run := exec.CommandContext(t.Context(), binary, "-test.run", name, "-test.timeout", "2m")
	run.Dir = here
	out, err := run.CombinedOutput()
	switch {
	case err == nil:
		t.Errorf("%s did not notice", m.test)
	case !strings.Contains(string(out), "--- FAIL: "+m.test):
		t.Errorf("%s did not run to its end: %v\n%s", m.test, err, out)
	default:
		t.Logf("%s: %s", m.test, reason(string(out)))
	}
}

// reason is the last line that a failed test has said, which of the model is what broke.
func reason(out string) string {
	said := ""
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "        ") {
			said = strings.TrimSpace(line)
		}
	}
	return said
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
