package table

import (
	"sync"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

// partition is two cache lines: what every take needs is in the first, and two cores at work on neighbours do not slow
// each other.
type partition struct {
	mu      sync.Mutex
	one     *slab    // groups of one limit, nearly all
	more    []*slab  // groups of 2 to MaxStates, by size-2
	hot     *lenders // nil before the first
	ready   bool     // open, and without a reserve: a take may go straight to the buckets
	closed  bool
	tracked bool
	_       [13]byte

	epoch   uint64      // of the leases lent from now on
	changed []bucket.ID // while tracked, of the slots that have the changed bit
	loss    loss
	_       [16]byte
}

// settle keeps ready true to what it stands for.
func (p *partition) settle() { p.ready = !p.closed && !p.loss.reserved }

func (p *partition) slab(states int) *slab {
	if states == 1 {
		return p.one
	}
	if states-2 < len(p.more) {
		return p.more[states-2]
	}
	return nil
}

func (p *partition) each(do func(*slab)) {
	if p.one != nil {
		do(p.one)
	}
	for _, s := range p.more {
		if s != nil {
			do(s)
		}
	}
}

// eachSlot calls for every group.
func (p *partition) eachSlot(do func(w []uint64)) {
	p.each(func(s *slab) {
		for i := range s.slots {
			if w := s.at(i); w[2] != 0 {
				do(w)
			}
		}
	})
}

// fill makes a slot what a group is that was never seen.
func (p *partition) fill(w []uint64, g *Group, now bucket.Instant) {
	for i := range g.limits {
		store(w, i, p.fresh(g, i, now))
	}
}

// asNew says whether a slot that is not hot is no different from that of a group that was never seen.
func (p *partition) asNew(w []uint64, g *Group, now bucket.Instant) bool {
	for i := range g.limits {
		l := &g.limits[i]
		if !load(w, i).IsFull(l, now) || p.loss.known && !p.fresh(g, i, now).IsFull(l, now) {
			return false
		}
	}
	return true
}

// refill brings a slot up to now as far as something stands in the way of its filling up: what is out, or may be. The
// rest happens when the slot is used.
func (p *partition) refill(w []uint64, g *Group, now bucket.Instant) {
	switch {
	case isHot(w[2]):
		h := p.open(w, g)
		h.refill(now)
		p.close(w, &h)
	case p.loss.reserved:
		p.loss.fill(w, g, now)
	}
}

// insert makes a slot for a group that has none.
func (p *partition) insert(s *slab, id bucket.ID, g *Group) []uint64 {
	g.Pin()
	w := s.insert(id, pack(g.index))
	p.touch(w)
	return w
}

// took notes the change, if there is one, after a take from buckets.
func (p *partition) took(w []uint64, d bucket.Decision, cost int64) {
	if d.Allowed && cost > 0 {
		p.touch(w)
	}
}

// hotGroup is a hot group taken out of its slot.
type hotGroup struct {
	lender *lease.Lender
	limits []bucket.Limit
	states [MaxStates]bucket.State
	out    int64 // when it was taken out
	used   bool  // by more than time
}

func (p *partition) open(w []uint64, g *Group) (h hotGroup) {
	h.lender, h.limits = p.hot.at[place(w[2])].Lender, g.limits
	for i := range g.limits {
		h.states[i] = load(w, i)
	}
	h.out = h.lender.Out()
	return h
}

func (h *hotGroup) group() lease.Group {
	return lease.Group{Limits: h.limits, States: h.states[:len(h.limits)]}
}

// refill brings the group up to now. What burns on the way is a change, and what flows in is none.
func (h *hotGroup) refill(now bucket.Instant) { h.lender.Refill(h.group(), now) }

func (p *partition) close(w []uint64, h *hotGroup) {
	for i := range h.limits {
		store(w, i, h.states[i])
	}
	if h.used || h.lender.Out() != h.out {
		p.touch(w)
	}
}
