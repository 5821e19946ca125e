package table

import (
	"cmp"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

// The upper half of a slot's meta word says how often other nodes ask for the group. While that is seldom it is a count
// and the window of time it is of; from lease.HotChecks a second on the group is hot, and it is the place of its
// lender:
//
//	63  62  61  60 ... 48  47 ... 32        63  62  61  60 ... 32
//	 0   c   h   window     count            1   c   0   index of the lender
//
// c is the changed bit, of track.go, and h the held one, of hold.go.
const (
	hotFlag     = 1 << 63
	changedFlag = 1 << 62
	heldFlag    = 1 << 61
	windowShift = 48
	windowMask  = 1<<13 - 1
	countShift  = 32
	countMask   = 1<<16 - 1
	placeMask   = 1<<29 - 1
	// windowBits of an instant are within one window, of 0.54 s.
	windowBits   = 29
	hotPerWindow = lease.HotChecks * (1 << windowBits) / int64(time.Second)
	// maxHot bounds the hot groups of a table, some kilobytes each: the others are forwarded as ever.
	maxHot = 1 << 14
)

func isHot(meta uint64) bool { return meta&hotFlag != 0 }

// counted adds one to the count of a slot that is not hot, and says whether it should be.
func counted(meta uint64, now bucket.Instant) (uint64, bool) {
	window := uint64(now>>windowBits) & windowMask
	count := meta >> countShift & countMask
	if meta>>windowShift&windowMask != window {
		count = 0
	}
	count = min(count+1, countMask)
	return meta&(changedFlag|heldFlag|limitsMask) | window<<windowShift | count<<countShift, int64(count) >= hotPerWindow
}

// Lending says how a table lends.
type Lending struct {
	// Epoch goes into the ids of leases, until Open says another: higher than that of any earlier table of the same owner,
	// or holders that know that one ignore what this one lends.
	Epoch uint64
	// Recall is called when the holders of a group have to be asked to give everything back. It must not block, nor call
	// the table: a partition is locked.
	Recall func(id bucket.ID, holders []string)
}

// Asker is another node that has forwarded a check.
type Asker struct {
	Name string // not empty
	// Leases says that it keeps leases and deny leases. If not, it is offered none, and does not make a group hot.
	Leases bool
	// Demand is what it reports, or zero.
	Demand lease.Demand
}

// TakeFor is Take for another node. The error is ErrClosed, ErrFull or nil.
func (t *Table) TakeFor(part int, id bucket.ID, g *Group, now bucket.Instant, who Asker, cost int64, each ...int64) (a lease.Answered, err error) {
	p := &t.parts[part]
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := cmp.Or(t.enter(p, now), p.rightful(id, g)); err != nil {
		return a, err
	}
	w, of, err := t.find(p, id, g, now)
	if err != nil {
		return a, err
	}
	if w == nil {
		a.Decision, a.Which, err = t.first(p, id, g, now, cost, each)
		a.Deny = denyFor(a.Decision, cost, each)
		return a, err
	}
	each = of.costs(g, each)
	if isHot(w[2]) {
		var room [MaxStates]bucket.State
		h := t.open(p, w, of, &room)
		a = h.lender.Check(&h.Group, now, who.Name, who.Demand, cost, each...)
		h.used = true
		p.close(w, &h)
		t.tellHolders(id, h.lender, a)
		a.Which = of.place(g, a.Which)
		return a, nil
	}
	held := w[2]&heldFlag != 0
	if held {
		a.Decision, a.Which = t.askHeld(p, w, of, now, cost, each)
	} else {
		a.Decision, a.Which = t.ask(p, w, of, now, cost, each)
	}
	a.Which = of.place(g, a.Which)
	p.took(w, a.Decision, cost)
	if a.Deny = denyFor(a.Decision, cost, each); held { // which may be put back
		a.Deny.For = min(a.Deny.For, lease.HeldDeny)
	}
	if who.Leases {
		var hot bool
		if w[2], hot = counted(w[2], now); hot {
			t.heat(p, w, of, now)
		}
	}
	return a, nil
}

func (t *Table) tellHolders(id bucket.ID, l *lease.Lender, a lease.Answered) {
	if a.Recall && t.lending.Recall != nil {
		t.lending.Recall(id, l.Holders())
	}
}

// denyFor is the deny lease of a group that is not lent from: until the cost fits, for nothing but time brings tokens.
func denyFor(d bucket.Decision, cost int64, each []int64) (deny lease.Deny) {
	switch {
	case d.Allowed || len(each) > 0: // other costs may fit though one of them is higher
	case d.Never():
		deny = lease.Deny{For: lease.DenyMax, Cost: cost}
	case d.RetryAfter >= minDeny:
		deny = lease.Deny{For: min(d.RetryAfter, lease.DenyMax), Cost: cost}
	}
	return deny
}

// minDeny is the shortest time for which a denial is worth remembering.
const minDeny = 2 * time.Millisecond

// Lend takes what a holder says about its lease of a group, and answers it; false means that there is no answer. The
// error is ErrClosed or nil.
func (t *Table) Lend(part int, id bucket.ID, g *Group, now bucket.Instant, who string, r lease.Request) (a lease.Answer, ok bool, err error) {
	p := &t.parts[part]
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := t.enter(p, now); err != nil {
		return a, false, err
	}
	w, of, err := t.findFor(p, id, g, now, (*Group).accounts)
	old := p.rightful(id, g) != nil // what it has is of limits that are no more
	switch {
	case err != nil || old && !r.Close && (w == nil || !isHot(w[2])):
		return lease.Answer{Number: r.Number}, true, nil
	case r.Close && (w == nil || !isHot(w[2])):
		return a, false, nil
	case w == nil:
		if w, err = t.freshSlot(p, id, g, now); err != nil {
			return lease.Answer{Number: r.Number}, true, nil
		}
	}
	if !isHot(w[2]) && !t.heat(p, w, of, now) {
		return lease.Answer{Number: r.Number}, true, nil
	}
	r.Under = of.costs(g, r.Under)
	var room [MaxStates]bucket.State
	h := t.open(p, w, of, &room)
	if old {
		a, ok = h.lender.Wind(&h.Group, now, who, r)
	} else {
		a, ok = h.lender.Renew(&h.Group, now, who, r)
	}
	a.Level.Which = uint8(of.place(g, int(a.Level.Which)))
	h.used = true
	p.close(w, &h)
	return a, ok, nil
}
