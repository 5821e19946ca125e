package table

import (
	"fmt"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

// Clear drops all groups of a partition and gives their memory back, with the leases that are out, and forgets that an
// owner was lost. Whether the partition is open, and tracked, stays as it is.
func (t *Table) Clear(part int) {
	p := &t.parts[part]
	p.mu.Lock()
	defer p.mu.Unlock()
	t.clear(p)
}

func (t *Table) clear(p *partition) {
	t.eachHot(p, func(w []uint64, _ *Group) { t.unseat(p, w) })
	p.eachSlot(func(w []uint64) { t.limits.at(unpack(w[2])).Release() })
	t.bytes.Add(-p.bytes())
	if p.hot != nil {
		p.hot.at = nil
	}
	p.one, p.more, p.changed, p.loss = nil, nil, nil, loss{}
	p.log, p.holds, p.stored = nil, nil, nil
	p.settle()
}

func (p *partition) bytes() (n int64) {
	p.each(func(s *slab) { n += int64(len(s.words)) * wordBytes })
	if p.log != nil {
		n += int64(p.log.counted) * bucket.LogEntryBytes
	}
	if p.stored != nil {
		n += p.stored.bytes
	}
	return n
}

// Move gives everything in a partition to the same partition of another table, where it replaces what was there. It
// copies no group. Each table's partition stays open or closed, and neither is tracked any more. Leases lent from now
// on are numbered by the receiving table. The receiving table may exceed its memory bound by this; then nothing grows
// in it until it no longer does. The two are locked one after the other.
//
// The error says that the tables have not the same Limits or as many partitions, or are one; then nothing is moved.
func (t *Table) Move(part int, to *Table) error {
	if t == to || t.limits != to.limits || len(t.parts) != len(to.parts) {
		return fmt.Errorf("partition %d cannot move: want another table with the same limits and as many partitions", part)
	}
	given, hot := t.giveAway(part)
	p := &to.parts[part]
	p.mu.Lock()
	defer p.mu.Unlock()
	to.clear(p)
	p.tracked = false
	p.one, p.more, p.log, p.holds, p.loss, p.stored = given.one, given.more, given.log, given.holds, given.loss, given.stored
	p.settle()
	to.bytes.Add(p.bytes())
	if len(hot) == 0 {
		return nil
	}
	if p.hot == nil {
		p.hot = new(lenders)
	}
	p.hot.at = hot
	for _, s := range hot {
		if s.Lender != nil {
			to.hot.Add(1)
			p.hot.burned -= s.Burned() // which the other table has counted
			p.hot.recalls -= s.Recalls()
		}
	}
	to.renumber(p)
	return nil
}

// given is what is in a partition, but for its lenders.
type given struct {
	one    *slab
	more   []*slab
	log    *slotLog
	holds  map[heldID]*lease.Ledger
	loss   loss
	stored *entries
}

// giveAway takes everything out of a partition.
func (t *Table) giveAway(part int) (all given, hot []hotSlot) {
	p := &t.parts[part]
	p.mu.Lock()
	defer p.mu.Unlock()
	t.countLog(p)
	if p.hot != nil {
		hot, p.hot.at = p.hot.at, nil
	}
	for _, s := range hot {
		if s.Lender != nil {
			t.hot.Add(-1)
			p.hot.burned += s.Burned() // these stay counted here
			p.hot.recalls += s.Recalls()
		}
	}
	t.bytes.Add(-p.bytes())
	all = given{p.one, p.more, p.log, p.holds, p.loss, p.stored}
	p.one, p.more, p.changed, p.tracked, p.loss = nil, nil, nil, false, loss{}
	p.log, p.holds, p.stored = nil, nil, nil
	p.settle()
	return all, hot
}
