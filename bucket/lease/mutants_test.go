package lease

const (
	model      = "TestModel/"
	refillLoop = "			l.fill(g, l.soonest)\n			l.burn(g, l.soonest)\n"
	closes     = "!p.alive(now) || p.held != 0 || p.waiting"
	commits    = "func (p *Purse) Commit(now bucket.Instant, h Hold) bool {\n"
	burns      = "return bucket.Instant(ttl + ttl/burnSlack)"
)

// mutants are the rules broken one by one. Those of the accounting are told in words by DESIGN.md.
var mutants = []mutant{
	{"a lease outlives its window", "TestWindowEdge", []edit{
		{"lender.go", "return HoldLife(g, now, TTL)", "return TTL"},
	}},
	// The ledger.
	{"naive refill cap", model + "lease", []edit{
		{"ledger.go", "g.Refill(now, l.out)", "g.Refill(now, 0)"},
	}},
	{"refund at expiry", model + "lease", []edit{
		{"ledger.go", refillLoop, `			l.fill(g, l.soonest)
			before := l.out
			l.burn(g, l.soonest)
			for j := range g.States {
				g.States[j].Tokens += before - l.out
			}
`},
	}},
	{"refill looked at late", model + "late", []edit{
		{"ledger.go", refillLoop, "			l.burn(g, l.soonest)\n"},
	}},
	{"expiry before the holder's deadline", model + "lease", []edit{
		{"ledger.go", burns, "return bucket.Instant(ttl - ttl/3)"},
	}},
	{"no allowance for slow clocks", "TestLedger/I6", []edit{
		{"ledger.go", burns, "return bucket.Instant(ttl)"},
	}},
	{"a renewal that the ledger does not extend", model + "lease", []edit{
		{"ledger.go", "e.burns = max(e.burns, now+burnAfter(ttl))", `if e.burns == 0 {
		e.burns = now + burnAfter(ttl)
	}`},
	}},
	{"return without ledger check", model + "lease", []edit{
		{"ledger.go", "e.holder == holder && e.lease == id", "e.holder == holder"},
	}},
	{"return of more than was lent", "TestLedger/I5", []edit{
		{"ledger.go", "back > 0 && back <= e.left", "back > 0"},
	}},
	{"grant not idempotent at the owner", model + "lease", []edit{
		{"ledger.go", "		case r.Number == e.number:\n			return &e.answer, true\n", ""},
	}},
	{"an older request is answered", model + "lease", []edit{
		{"ledger.go", "		case r.Number.before(e.number):\n			return nil, false\n", ""},
	}},
	{"lease id chosen by the holder", model + "lease", []edit{
		{"ledger.go", "l.Last.Number++", "l.Last.Number = r.Number.Seq"},
	}},
	{"delta reports instead of cumulative", model + "renewals", []edit{
		{"ledger.go", "spent := r.Spent - e.spent", "spent := r.Spent"},
	}},
	{"a grant debits one state only", model + "group", []edit{
		{"ledger.go", "	g.Lend(tokens)\n", "	(&bucket.Group{Limits: g.Limits[:1], States: g.States[:1]}).Lend(tokens)\n"},
	}},
	{"what was not spent of a state comes back twice", model + "group", []edit{
		{"ledger.go", "			e.under[j] = r.Under[j]\n", ""},
	}},

	// The purse.
	{"holder deadline from receipt", model + "lease", []edit{
		{"purse.go", "p.deadline = p.sent + bucket.Instant(a.TTL)", "p.deadline = now + bucket.Instant(a.TTL)"},
	}},
	{"holder deadline from a resend", model + "crash", []edit{
		{"purse.go", "	epoch   uint64 ", "	seen    bucket.Instant\n	epoch   uint64 "},
		{"purse.go", "alive(now bucket.Instant) bool {", "alive(now bucket.Instant) bool {\n	p.seen = now\n	"},
		{"purse.go", "Again() Request {\n", "Again() Request {\n	p.sent = p.seen\n"},
	}},
	{"grant not idempotent at the holder", model + "lease", []edit{
		{"purse.go", "if !p.waiting || a.Number", "if a.Number"},
	}},
	{"an answer to an older request is taken", model + "answers", []edit{
		{"purse.go", "!p.waiting || a.Number != p.asked ||", "!p.waiting ||"},
	}},
	{"a late answer reviving a dead purse", model + "purse", []edit{
		{"purse.go", "	case now >= p.deadline:", "	case false:"},
	}},
	{"a hold that outlives its lease", model + "purse", []edit{
		{"purse.go", "	p.left, p.held = 0, 0\n	p.life++\n", "	p.left, p.held = 0, 0\n"},
	}},
	{"accept lower epoch", "TestPurse/I7", []edit{
		{"purse.go", "|| a.Lease.Epoch < p.epoch && a.Lease != (ID{})", ""},
	}},
	{"return with a hold in flight", model + "purse", []edit{
		{"purse.go", closes, "!p.alive(now) || p.waiting"},
	}},
	{"renewal crossing a return", model + "lease", []edit{
		{"purse.go", closes, "!p.alive(now) || p.held != 0"},
	}},
	{"purse put-back after report", model + "purse", []edit{
		{"purse.go", "Spent: p.spent, Under: slices.Clone", "Spent: p.spent + p.held, Under: slices.Clone"},
	}},
	{"commit after the life of a purse's hold", model + "purse", []edit{
		{"purse.go", commits + "	if !p.alive(now) || ", commits + "	if "},
	}},
	{"a purse takes the first of the costs", model + "group", []edit{
		{"purse.go", "costs, slices.Max(costs)}", "costs, costs[0]}"},
	}},

	// Holds at the owner, and settlements.
	{"hold not in O", model + "several", []edit{
		{"hold.go", "	l.out += h.cost\n", ""},
		{"hold.go", "	l.out -= l.holds[i].cost\n", ""},
	}},
	{"an owner's hold takes the first of the costs from all states", model + "vectors", []edit{
		{"hold.go", "g.TakeEach(now, 0, costs)", "g.Take(now, costs[0])"},
	}},
	{"commit after the life of an owner's hold", model + "several", []edit{
		{"hold.go", "return now < p.Sent+bucket.Instant(p.Life)", "return true"},
	}},
	{"hold expiry that puts back", model + "several", []edit{
		{"ledger.go", "			l.burned += l.holds[i].cost\n", `			for j, cost := range l.holds[i].costs {
				g.States[j].Tokens += cost
			}
`},
	}},
	// The ledger's caller cuts lives; in the model that is the model.
	{"hold cut at a window edge unknown to the coordinator", model + "edge", []edit{
		{"owner_moves_test.go", "c.answers |= 1 << life", "c.answers |= 1 << w.life"},
	}},
	{"a settlement applied twice", model + "settle", []edit{
		{"hold.go", "func(s settlement) bool { return s.id == id }", "func(s settlement) bool { return false }"},
	}},
	{"a settlement above the capacity", model + "settle", []edit{
		{"hold.go", "g.Limits[j].Burst - l.out - s.Tokens", "g.Limits[j].Burst - s.Tokens"},
	}},

	// A group that moves.
	{"a lease left behind when the group moves", model + "moved", []edit{
		{"copy.go", "		l.entries = append(l.entries, e)\n", ""},
	}},
	{"a hold left behind when the group moves", model + "moved-checks", []edit{
		{"copy.go", "		l.holds = append(l.holds, h)\n", ""},
	}},
	{"a settlement forgotten when the group moves", model + "moved-checks", []edit{
		{"copy.go", "		l.settled = append(l.settled, settlement{", "		_ = append(l.settled, settlement{"},
	}},
	{"a lease that burns at once when the group moves", model + "moved", []edit{
		{"copy.go", "	l.soonest = l.nextBurn()\n", "	for i := range l.entries {\n		l.entries[i].burns = now\n	}\n"},
	}},
	{"an answer forgotten when the group moves", model + "moved", []edit{
		{"reader.go", "	e.answer = Answer{Number: e.number, Lease: e.lease, Tokens: r.upTo(bucket.MaxTokens),",
			"	r.upTo(bucket.MaxTokens)\n	e.answer = Answer{Number: e.number, Lease: e.lease,"},
	}},
	{"what was not spent of a state forgotten when the group moves", model + "moved-group", []edit{
		{"reader.go", "			e.under[j] = r.upTo(math.MaxInt64)\n", "			e.under[j] = 0 * r.upTo(math.MaxInt64)\n"},
	}},
	{"a reserve that can be named", "TestReserve", []edit{
		{"reader.go", "		return unclaimed(e.left, e.burns)\n", "		return e\n"},
	}},

	// Who gets how much.
	{"deny when lending is exhausted", "TestDeny", []edit{
		{"lender.go", "g.Look(now, 1); !d.Allowed {", "g.Look(now, 1); true {"},
	}},
	{"recall without pause", "TestRecall", []edit{
		{"recall.go", "	if ahead(now, l.recall.again) {", "	if false {"},
	}},
}
