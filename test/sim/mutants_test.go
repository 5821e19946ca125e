package sim

import (
	"testing"

	"github.com/drossel-dev/drossel/test/mutate"
)

// mutant is a rule of the nodes, or of their tables, left out or done wrong: one change of their source, and the test that
// must notice.
type mutant struct {
	rule, pkg, test string
	file, old, new  string
}

var mutants = []mutant{
	{"idle groups are skipped in a transfer", "test/sim", "TestJoins",
		"node/moving.go", "return g.node.owned.IDs(part, nil), frozen", "return nil, frozen"},
	{"what changes in a transfer is skipped", "test/sim", "TestMovesOverSlowLinks",
		"node/moving.go", "	ids := slices.Collect(maps.Keys(changed))\n", "	ids := slices.Collect(maps.Keys(changed))[:0]\n"},
	{"the ledger is dropped in a transfer", "bucket/table", "TestTransfer",
		"bucket/table/import.go", "	if lender != nil {\n		out = lender.Out()", "	if lender = nil; lender != nil {\n		out = lender.Out()"},
	{"refill is counted from before the groups arrived", "bucket/table", "TestTransfer",
		"bucket/table/import.go", "s.ReadState(in.b, i, in.now)", "s.ReadState(in.b, i, in.now-50_000_000)"},
	{"what is held is not in the way", "bucket/table", "TestHeldIsInTheWay",
		"bucket/table/partition.go", "	case w[2]&heldFlag != 0:\n", "	case false:\n"},
	{"a log is looked through as if nothing was held", "bucket/table", "TestExpiryLeavesWhatIsHeld",
		"bucket/table/log.go", "		case w[2]&(hotFlag|heldFlag) != 0: //", "		case false: //"},
	{"what was held counts from when it was", "bucket/table", "TestLostCommit",
		"bucket/lease/hold.go", "		g.Settle(j, cost, l.holds[i].taken, now)\n", "		_, _ = j, cost\n"},
	{"what is held survives a change of algorithm", "bucket/table", "TestHeldUnderAnotherAlgorithm",
		"bucket/lease/ledger.go", "		if !g.Limits[j].IsKindOf(&limits[j]) {\n", "		if j < 0 {\n"},
	{"a denied check of several keys is charged", "node", "TestTogether",
		"node/holding.go", "n.owned.EndHold(q.part, q.id, now, h.id, commit)", "n.owned.EndHold(q.part, q.id, now, h.id, true)"},
	{"an owner is not told that a check was denied", "node", "TestTogether",
		"node/holding.go", "transport.HoldEnd{ID: q.id, Hold: h.id, Commit: commit}", "transport.HoldEnd{ID: q.id, Hold: h.id, Commit: true}"},
	{"a limit at another place begins full", "test/sim", "TestFleetPlanned",
		"bucket/table/change.go", "slices.Contains(from[:j], from[j])", "true"},
	{"what is out does not count against a new limit", "bucket/table", "TestNewLimitCountsWhatIsOut",
		"bucket/table/change.go", "		h.Adopt(&is, g.limits, now)\n", "		is.Adopt(g.limits, now)\n"},
	{"older policies come back", "node", "TestNewestPoliciesDecide",
		"bucket/table/change.go", "g.version.Load() > asked.version.Load()", "false"},
	{"limits in shadow mode deny", "node", "TestShadow",
		"node/together.go", "		if l.shadow {\n			continue\n		}\n		err =", "		err ="},
	{"limits in shadow mode take what is denied", "node", "TestShadowTakesWhatWouldBeTaken",
		"node/together.go", "commit && l.q.hold.stands(now)", "l.q.hold.stands(now)"},
	{"limits of keys stay behind when partitions move", "test/sim", "TestFleetPlanned",
		"bucket/table/export.go", "		if e, ok := p.stored.by[id]; ok {\n", "		if e, ok := p.stored.by[id]; ok && false {\n"},
	{"older limits of a key come back", "bucket/table", "TestEntry",
		"bucket/table/entries.go", "	if known && e.Number <= was.number {\n", "	if known && e.Number <= was.number && false {\n"},
	{"a key with limits of its own is decided by those of its policy", "node", "TestStoredLimits",
		"bucket/table/entries.go", "NameOf(text) != g.entry {", "NameOf(text) != g.entry && false {"},
	{"leases of a key are not asked for when its limits change", "bucket/table", "TestEntryOfHotKey",
		"bucket/table/entries.go", "			t.lending.Recall(id, p.hot.at[place(w[2])].Holders())\n", ""},
	{"more is lent of limits that a key does not have any more", "bucket/table", "TestEntryOfHotKey",
		"bucket/table/hot.go", "	old := p.rightful(id, g) != nil", "	old := p.rightful(id, g) != nil && false"},
	{"limits of keys are not read from disk", "node", "TestStoredOutlivesNode",
		"node/lifecycle.go", "	n.restoreEntries(ctx)\n", ""},
	{"a frozen partition goes on deciding", "test/sim", "TestRollSameIDs",
		"node/acts.go", "		n.owned.Close(a.Partition) // and stream", "		// and stream"},
	{"stragglers are sent back", "test/sim", "TestMovesOverSlowLinks",
		"node/inbound.go", "		return in.pass(c, g, v.links[owner], transport.MaxHop)\n", "		return false\n"},
	{"nothing is parked", "test/sim", "TestMovesOverSlowLinks",
		"node/inbound.go", "in.park(c, part, g)\n", "false\n"},
	{"copies are never made", "test/sim", "TestCrash",
		"node/copying.go", "			if !ok {\n", "			if !ok || true {\n"},
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
	{"all copies are sent at once", "test/sim", "TestManyGroupsOverSlowLinks",
		"node/copying.go", "const copyGroups = 4096\n", "const copyGroups = 1 << 30\n"},
	{"debts are never charged", "node", "TestDebtsAreCharged",
		"node/debts.go", "	if !g.shelves[held].settled[b.Partition].news(debtor, b.Seq) {", "	if true {"},
	{"debts are charged twice", "node", "TestBillIsChargedOnce",
		"node/shelves.go", "		if seq <= p.Seq {", "		if seq < p.Seq {"},
	{"what was settled stays behind when a partition moves", "node", "TestBillIsChargedOnce",
		"node/moving.go", "			puts[i].Last = last", "			puts[i].Settled = nil\n			puts[i].Last = last"},
}

// TestMutants breaks the rules one by one.
func TestMutants(t *testing.T) {
	if raceDetector {
		t.Skip("run without the race detector")
	}
	var all []mutate.Mutant
	for _, m := range mutants {
		broken := mutate.Mutant{Rule: m.rule, Package: m.pkg, Test: m.test, Edits: []mutate.Edit{{File: m.file, Old: m.old, New: m.new}}}
		if m.pkg == "bucket/table" {
			broken.Args = []string{"-rapid.nofailfile"}
		}
		all = append(all, broken)
	}
	mutate.Run(t, "../..", all, 8)
}
