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
	if t.hot.Add(1) > maxHot {
		t.hot.Add(-1)
		return false
	}
	if p.hot == nil {
		p.hot = new(lenders)
	}
	// Every lender has 2^32 ids of its own, so that none is used twice though a group is hot again and again.
	l := lease.NewLender(g.limits, lease.ID{Epoch: t.lending.Epoch, Number: t.heated.Add(1) << 32}, now)
	at := slices.IndexFunc(p.hot.at, func(s hotSlot) bool { return s.Lender == nil })
	if at < 0 {
		at = len(p.hot.at)
		p.hot.at = append(p.hot.at, hotSlot{})
	}
	p.hot.at[at] = hotSlot{l, bucket.ID{Hi: w[0], Lo: w[1]}, len(g.limits)}
	w[2] = w[2]&limitsMask | hotFlag | uint64(at)<<countShift
	return true
}

// cool takes the lender of a group away again, if it has nothing out and is not worth having.
func (t *Table) cool(p *partition, w []uint64, g *Group, now bucket.Instant) {
	h := p.open(w, g)
	h.lender.Refill(h.group(), now)
	h.close(w)
	if !h.lender.Cold(now) {
		return
	}
	p.hot.burned += h.lender.Burned()
	p.hot.recalls += h.lender.Recalls()
	p.hot.at[place(w[2])] = hotSlot{}
	w[2] &= limitsMask
	t.hot.Add(-1)
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
// groups can have them.
func (t *Table) Cool(part int, now bucket.Instant) {
	p := &t.parts[part]
	p.mu.Lock()
	defer p.mu.Unlock()
	t.eachHot(p, func(w []uint64, g *Group) { t.cool(p, w, g, now) })
}

func place(meta uint64) int { return int(meta >> countShift & placeMask) }

// hotGroup is a hot group taken out of its slot.
type hotGroup struct {
	lender *lease.Lender
	limits []bucket.Limit
	states [MaxStates]bucket.State
}

func (p *partition) open(w []uint64, g *Group) (h hotGroup) {
	h.lender, h.limits = p.hot.at[place(w[2])].Lender, g.limits
	for i := range g.limits {
		h.states[i] = load(w, i)
	}
	return h
}

func (h *hotGroup) group() lease.Group {
	return lease.Group{Limits: h.limits, States: h.states[:len(h.limits)]}
}

func (h *hotGroup) close(w []uint64) {
	for i := range h.limits {
		store(w, i, h.states[i])
	}
}
