package table

import (
	"slices"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

// lenders are those of a partition's hot groups.
type lenders struct {
	at              []hotSlot // by the place that a slot names
	burned, recalls int64     // of those that are gone
}

// hotSlot says whose a lender is. The zero hotSlot is free.
type hotSlot struct {
	*lease.Lender
	id     bucket.ID
	states int
}

// heat gives a group a lender, if there is room for one more.
func (t *Table) heat(p *partition, w []uint64, g *Group, now bucket.Instant) bool {
	if !bucket.Lends(g.limits) {
		return false
	}
	if t.hot.Add(1) > maxHot {
		t.hot.Add(-1)
		return false
	}
	l := lease.NewLender(g.limits, t.leaseIDs(p), now)
	if held := p.holds[heldIDOf(w)]; held != nil {
		held.Last = l.Last
		l.Ledger = *held
		delete(p.holds, heldIDOf(w))
	} else if p.loss.reserved {
		l.Reserve(g.reserve, p.loss.ends())
	}
	p.seat(w, g, l)
	return true
}

// leaseIDs returns where ids of a lender's leases begin: each has 2^32 of its own, so that none is used twice though a
// group is hot again and again.
func (t *Table) leaseIDs(p *partition) lease.ID {
	return lease.ID{Epoch: p.epoch, Number: t.heated.Add(1) << 32}
}

// seat makes a group hot that was not.
func (p *partition) seat(w []uint64, g *Group, l *lease.Lender) {
	if p.hot == nil {
		p.hot = new(lenders)
	}
	at := slices.IndexFunc(p.hot.at, func(s hotSlot) bool { return s.Lender == nil })
	if at < 0 {
		at = len(p.hot.at)
		p.hot.at = append(p.hot.at, hotSlot{})
	}
	p.hot.at[at] = hotSlot{l, bucket.ID{Hi: w[0], Lo: w[1]}, len(g.limits)}
	w[2] = w[2]&(changedFlag|limitsMask) | hotFlag | uint64(at)<<countShift
}

// unseat takes the lender of a group away.
func (t *Table) unseat(p *partition, w []uint64) {
	s := &p.hot.at[place(w[2])]
	p.hot.burned += s.Burned()
	p.hot.recalls += s.Recalls()
	*s = hotSlot{}
	w[2] &= changedFlag | limitsMask
	t.hot.Add(-1)
}

// cool takes the lender of a group away again, if it has nothing out and is not worth having.
func (t *Table) cool(p *partition, w []uint64, g *Group, now bucket.Instant) {
	t.refill(p, w, g, now)
	if p.hot.at[place(w[2])].Cold(now) {
		t.unseat(p, w)
	}
}

// eachHot calls for every hot group of a partition with its slot and limits.
func (t *Table) eachHot(p *partition, do func(w []uint64, g *Group)) {
	if p.hot == nil {
		return
	}
	for _, s := range p.hot.at {
		if s.Lender != nil {
			w := p.slab(s.states).find(s.id)
			do(w, t.limits.at(unpack(w[2])))
		}
	}
}

// Cool takes away the lenders of one partition that have nothing out and are not worth having any more, so that other
// groups can have them. What was held for too long is spent.
func (t *Table) Cool(part int, now bucket.Instant) {
	p := &t.parts[part]
	p.mu.Lock()
	defer p.mu.Unlock()
	t.eachHot(p, func(w []uint64, g *Group) { t.cool(p, w, g, now) })
	for h := range p.holds {
		w := p.slab(h.states).find(h.id)
		t.refill(p, w, t.limits.at(unpack(w[2])), now)
	}
}

func place(meta uint64) int { return int(meta >> countShift & placeMask) }
