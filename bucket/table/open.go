package table

import (
	"errors"

	"github.com/drossel-dev/drossel/bucket"
)

// ErrClosed is returned for keys of a partition that is closed: whoever holds it now has to be asked.
var ErrClosed = errors.New("this node does not hold the partition")

// Open lets a partition decide from now on. Leases lent from now on have this epoch in their ids: higher than any that
// the partition was open with before, here or elsewhere, or holders that know that one ignore what is lent. Those that
// are out keep their ids. Opening an open partition changes its epoch.
func (t *Table) Open(part int, epoch uint64) {
	p := &t.parts[part]
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed, p.epoch = false, epoch
	p.settle()
	t.renumber(p)
}

// renumber lets ids of leases begin anew at all lenders.
func (t *Table) renumber(p *partition) {
	t.eachHot(p, func(w []uint64, _ *Group) { p.hot.at[place(w[2])].Last = t.leaseIDs(p) })
}

// Close stops a partition: Take, TakeFor, Lend, Look and Debit fail with ErrClosed until it is opened again. What is in
// it stays, and everything else goes on. What this node's own callers had on lease goes back into the buckets, so that
// nothing is spent any more once Close has returned.
func (t *Table) Close(part int) {
	p := &t.parts[part]
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.settle()
	t.eachHot(p, func(w []uint64, g *Group) {
		var room [MaxStates]bucket.State
		h := t.open(p, w, g, &room)
		latest := h.States[0].Last // no time is seen to pass here
		for _, s := range h.States {
			latest = max(latest, s.Last)
		}
		h.lender.TakeBack(&h.Group, latest)
		p.close(w, &h)
	})
}

// enter comes before everything that only an open partition does.
func (t *Table) enter(p *partition, now bucket.Instant) error {
	if p.closed {
		return ErrClosed
	}
	t.endReserve(p, now)
	return nil
}
