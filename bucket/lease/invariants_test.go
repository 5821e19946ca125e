package lease

import "fmt"

// broken says which of the invariants does not hold at this moment; empty if all do.
func (w *world) broken() string {
	if w.wrong != "" {
		return w.wrong
	}
	for j, level := range w.ideal[:len(w.states)] {
		if level < 0 {
			return fmt.Sprintf("limit %d: %d more admitted than it allows", j, -level)
		}
	}
	for i := range w.holders {
		if wrong := w.brokenAt(i); wrong != "" {
			return wrong
		}
	}
	return w.brokenLedger()
}

// brokenLedger checks the owner's account.
func (w *world) brokenLedger() string {
	l := &w.ledger
	lent, out := int64(0), int64(0)
	for i := range l.entries {
		if l.entries[i].left < 0 {
			return fmt.Sprintf("I2: %d left of a lease", l.entries[i].left)
		}
		lent += l.entries[i].left
	}
	out = lent
	for i := range l.holds {
		out += l.holds[i].cost
	}
	if out != l.out {
		return fmt.Sprintf("I1: %d is out, and %d is counted", out, l.out)
	}
	for j, limit := range w.limits {
		held := int64(0)
		for i := range l.holds {
			held += l.holds[i].costs[j]
		}
		if got := w.states[j].Tokens + lent + held; got > limit.Burst {
			return fmt.Sprintf("I1: state %d and what is out are %d, above the capacity of %d", j, got, limit.Burst)
		}
	}
	if len(l.entries)+len(l.holds) > 0 && l.soonest > l.nextBurn() {
		return "I6: something burns before the ledger looks"
	}
	return ""
}

// brokenAt checks a holder against the ledger: what it may still spend is all known there.
func (w *world) brokenAt(i int) string {
	h := &w.holders[i]
	p := &h.purse
	if !p.alive(w.now) {
		return ""
	}
	held := int64(0)
	for _, hold := range h.holds {
		if !hold.lapsed {
			held += hold.cost
		}
	}
	if p.held != held {
		return fmt.Sprintf("I9: the purse of %s counts %d as held, and checks hold %d", names[i], p.held, held)
	}
	known := int64(0)
	if at := w.ledger.findLease(names[i], p.lease); at >= 0 {
		known = w.ledger.entries[at].left
	}
	if p.left < 0 || p.left+p.held > known {
		return fmt.Sprintf("I2: %s may spend %d and holds %d of lease %d, and the ledger knows of %d",
			names[i], p.left, p.held, p.lease, known)
	}
	return ""
}
