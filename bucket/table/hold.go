package table

import (
	"cmp"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

// A group of which something is held, and that is not hot, has a ledger for as long as that lasts: what is held counts against its
// capacity. Its slot has heldFlag, so that takes go by the ledger.

// heldID names a ledger: an id, and how many limits its group has, for there may be two of the id if limits without tags changed.
type heldID struct {
	id     bucket.ID
	states int
}

func heldIDOf(w []uint64) heldID {
	return heldID{bucket.ID{Hi: w[0], Lo: w[1]}, (len(w) - headWords) / stateWords}
}

// Held is the answer to a Hold.
type Held struct {
	Decision bucket.Decision // an admission says that the cost is held
	Which    int             // limit of the group has spoken
	// Life is for how long from when it was first asked for the coordinator may commit.
	Life time.Duration
	// Offer says that the asker would get a lease if it asked.
	Offer bool
}

// Hold takes costs, one for each limit of group g, aside at now for a check of several keys, which its coordinator names h: all or
// none. who is the node that asks, or zero for this one. It lasts for life, or until a window ends, and lease.TTL at the most; then
// what is held is spent. Asked again with the same h it holds no more. The error is ErrClosed, ErrFull or nil.
func (t *Table) Hold(
	part int, id bucket.ID, g *Group, now bucket.Instant, who Asker, h lease.HoldID, life time.Duration, costs []int64,
) (held Held, err error) {
	life = min(life, lease.TTL)
	p := &t.parts[part]
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := cmp.Or(t.enter(p, now), p.rightful(id, g)); err != nil {
		return held, err
	}
	w, of, err := t.find(p, id, g, now)
	if err != nil {
		return held, err
	}
	costs = of.costs(g, costs)
	if w == nil || !isHot(w[2]) {
		held, err = t.holdCold(p, w, id, of, now, who, h, life, costs)
		held.Which = of.place(g, held.Which)
		return held, err
	}
	var room [MaxStates]bucket.State
	hot := t.open(p, w, of, &room)
	held.Life = lease.HoldLife(&hot.Group, now, life)
	a := hot.lender.Hold(&hot.Group, now, who.Name, who.Demand, h, held.Life, costs)
	hot.used = true
	p.close(w, &hot)
	t.tellHolders(id, hot.lender, a)
	held.Decision, held.Which, held.Offer = a.Decision, of.place(g, a.Which), a.Offer
	return held, nil
}

// holdCold holds in a group that is not hot, and perhaps has no slot: w is nil then. A denial makes none.
func (t *Table) holdCold(
	p *partition, w []uint64, id bucket.ID, g *Group, now bucket.Instant, who Asker, h lease.HoldID, life time.Duration, costs []int64,
) (held Held, err error) {
	var room [MaxStates]bucket.State
	var s bucket.Group
	var l *lease.Ledger
	if w == nil {
		s = t.start(p, g, &room, now)
	} else {
		s, l = t.take(p, w, g, &room), p.holds[heldIDOf(w)]
	}
	if l == nil {
		l = new(lease.Ledger)
		if p.loss.reserved {
			l.Reserve(g.reserve, p.loss.ends())
		}
	}
	held.Life = lease.HoldLife(&s, now, life)
	held.Decision, held.Which = l.Hold(&s, now, h, held.Life, costs)
	switch {
	case w != nil:
	case !held.Decision.Allowed:
		s.Drop()
		return held, nil
	default:
		if w, err = t.newSlot(p, id, g, now); err != nil {
			s.Drop()
			return Held{}, err
		}
	}
	put(w, s.States)
	if held.Decision.Allowed {
		if w[2]&heldFlag == 0 {
			if p.holds == nil {
				p.holds = make(map[heldID]*lease.Ledger)
			}
			w[2] |= heldFlag
			p.holds[heldIDOf(w)] = l
		}
		p.touch(w)
	}
	if who.Leases {
		var hot bool
		if w[2], hot = counted(w[2], now); hot {
			t.heat(p, w, g, now)
		}
	}
	return held, nil
}

// EndHold ends a hold of a group at now: spends it for good, or puts it back. One that is not known, which has ended already, is
// ignored.
func (t *Table) EndHold(part int, id bucket.ID, now bucket.Instant, h lease.HoldID, commit bool) {
	p := &t.parts[part]
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.enter(p, now) != nil {
		return
	}
	p.each(func(s *slab) {
		if w := s.find(id); w != nil && w[2]&(hotFlag|heldFlag) != 0 {
			t.endHold(p, w, now, h, commit)
		}
	})
}

func (t *Table) endHold(p *partition, w []uint64, now bucket.Instant, h lease.HoldID, commit bool) {
	var room [MaxStates]bucket.State
	s := t.take(p, w, t.limits.at(unpack(w[2])), &room)
	l := p.ledger(w)
	if commit {
		l.Commit(&s, now, h)
	} else {
		l.PutBack(&s, now, h)
	}
	put(w, s.States)
	p.touch(w)
	p.unheld(w, l, now)
}

// ledger is that of a slot which is hot, or of which something is held.
func (p *partition) ledger(w []uint64) *lease.Ledger {
	if isHot(w[2]) {
		return &p.hot.at[place(w[2])].Ledger
	}
	return p.holds[heldIDOf(w)]
}

// out is what is out of a slot's group.
func (p *partition) out(w []uint64) int64 {
	if w[2]&(hotFlag|heldFlag) == 0 {
		return 0
	}
	return p.ledger(w).Out()
}

// unheld drops the ledger of a slot if nothing is held any more.
func (p *partition) unheld(w []uint64, l *lease.Ledger, now bucket.Instant) {
	if !isHot(w[2]) && w[2]&heldFlag != 0 && l.Idle(now) {
		w[2] &^= heldFlag
		delete(p.holds, heldIDOf(w))
	}
}

// askHeld is ask for a group of which something is held.
func (t *Table) askHeld(p *partition, w []uint64, g *Group, now bucket.Instant, cost int64, each []int64) (d bucket.Decision, which int) {
	t.refill(p, w, g, now)
	return t.askAll(p, w, g, now, cost, each)
}
