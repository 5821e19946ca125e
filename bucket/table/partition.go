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
	_       [5]byte
	log     *slotLog // of sliding windows; nil if there is nothing in it

	epoch   uint64      // of the leases lent from now on
	changed []bucket.ID // while tracked, of the slots that have the changed bit
	loss    loss
	holds   map[heldID]*lease.Ledger // of the slots that have heldFlag
	stored  *entries                 // entries of the limits store; nil before the first
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

// start returns the states of a group that was never seen, in room. They may be in the log.
func (t *Table) start(p *partition, g *Group, room *[MaxStates]bucket.State, now bucket.Instant) bucket.Group {
	p.logged(g)
	s := bucket.Group{Limits: g.limits, States: room[:len(g.limits)], Wall: t.wall.Load(), Log: p.entries()}
	p.loss.start(&s, g, now)
	return s
}

// asNew says whether a group that is not hot is no different from one that was never seen.
func (t *Table) asNew(p *partition, g *Group, s *bucket.Group, now bucket.Instant) bool {
	if !s.IsNew(now) {
		return false
	}
	if !p.loss.known {
		return true
	}
	var room [MaxStates]bucket.State
	fresh := t.start(p, g, &room, now)
	defer fresh.Drop()
	return fresh.IsNew(now)
}

// refill brings a slot up to now as far as something stands in the way of its filling up: what is out, or may be. The
// rest happens when the slot is used.
func (t *Table) refill(p *partition, w []uint64, g *Group, now bucket.Instant) {
	switch {
	case isHot(w[2]):
		var room [MaxStates]bucket.State
		h := t.open(p, w, g, &room)
		h.refill(now)
		p.close(w, &h)
	case w[2]&heldFlag != 0:
		var room [MaxStates]bucket.State
		s := t.take(p, w, g, &room)
		l := p.ledger(w)
		l.Refill(&s, now)
		put(w, s.States)
		p.unheld(w, l, now)
	case p.loss.reserved:
		var room [MaxStates]bucket.State
		s := t.take(p, w, g, &room)
		p.loss.refill(&s, g, now)
		put(w, s.States)
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
	bucket.Group
	lender *lease.Lender
	out    int64 // when it was taken out
	used   bool  // by more than time
}

func (t *Table) open(p *partition, w []uint64, g *Group, room *[MaxStates]bucket.State) hotGroup {
	l := p.hot.at[place(w[2])].Lender
	return hotGroup{Group: t.take(p, w, g, room), lender: l, out: l.Out()}
}

// refill brings the group up to now. What burns on the way is a change, and what flows in is none.
func (h *hotGroup) refill(now bucket.Instant) { h.lender.Refill(&h.Group, now) }

func (p *partition) close(w []uint64, h *hotGroup) {
	put(w, h.States)
	if h.used || h.lender.Out() != h.out {
		p.touch(w)
	}
}
