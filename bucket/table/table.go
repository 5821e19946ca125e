package table

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/drossel-dev/drossel/bucket"
)

// ErrFull is returned for a key that has no slot yet when the memory bound is reached and no full group could make
// room. Keys that have a slot are decided as ever.
var ErrFull = errors.New("the table of buckets has reached its memory bound")

// MinBytesPerPartition is the least bound that lets every partition hold a few groups.
const MinBytesPerPartition = minSlots * (headWords + stateWords) * wordBytes

const minSlots = 8

// Table holds groups by partition and id. Each partition has a lock of its own; all methods are safe for concurrent
// use.
type Table struct {
	limits  *Limits
	parts   []partition
	max     int64
	bytes   atomic.Int64 // of all arrays
	refused atomic.Uint64

	lending Lending
	heated  atomic.Uint64 // groups that became hot, ever
	hot     atomic.Int64  // groups that are
}

// New returns an empty table of that many partitions, all open, whose arrays take maxBytes at most, at least
// MinBytesPerPartition for each partition. While one partition grows, its old array stands beside the new one for a
// moment and is not counted. Groups of limits are interned in limits, which several tables may share. The zero
// Lending serves a table that never lends.
func New(partitions int, maxBytes int64, limits *Limits, lending Lending) (*Table, error) {
	if least := int64(partitions) * MinBytesPerPartition; partitions < 1 || maxBytes < least {
		return nil, fmt.Errorf("table of %d partitions in %d bytes: want at least 1 partition and %d bytes",
			partitions, maxBytes, least)
	}
	t := &Table{limits: limits, parts: make([]partition, partitions), max: maxBytes, lending: lending}
	for i := range t.parts {
		t.parts[i].epoch, t.parts[i].ready = lending.Epoch, true
	}
	return t, nil
}

// Take asks every limit of group g for cost (0 to bucket.MaxTokens) at now, and takes it from all or from none. A key
// not seen before starts full, unless the partition's owner was lost (TakenOver). A group that was last used under other
// limits carries its levels over. The error is ErrClosed, ErrFull or nil.
//
// The answer is that of one limit of the group, and says which: the limit that denied (of several, the one with the
// longest wait), else the one with the fewest tokens left.
func (t *Table) Take(part int, id bucket.ID, g *Group, now bucket.Instant, cost int64) (d bucket.Decision, which int, err error) {
	p := &t.parts[part]
	p.mu.Lock()
	if s := p.slab(len(g.limits)); s != nil {
		w := s.find(id)
		if w != nil && p.ready && w[2]&(hotFlag|changedFlag|limitsMask) == changedFlag|pack(g.index) { // nearly always
			d, which = g.take(w, now, cost)
			p.mu.Unlock()
			return d, which, nil
		}
	}
	d, which, err = t.takeSeldom(p, id, g, now, cost)
	p.mu.Unlock()
	return d, which, err
}

// takeSeldom takes from a group that is new, hot, the first to change since changes were collected, or was last used
// under other limits, and in partitions that are not ready.
func (t *Table) takeSeldom(p *partition, id bucket.ID, g *Group, now bucket.Instant, cost int64) (d bucket.Decision, which int, err error) {
	if err := t.enter(p, now); err != nil {
		return d, 0, err
	}
	w := t.find(p, id, g, now)
	if w == nil {
		return t.first(p, id, g, now, cost)
	}
	if !isHot(w[2]) {
		d, which = g.take(w, now, cost)
		p.took(w, d, cost)
		return d, which, nil
	}
	h := p.open(w, g)
	a := h.lender.Local(h.group(), now, cost)
	h.used = true
	p.close(w, &h)
	t.tellHolders(id, h.lender, a)
	return a.Decision, a.Which, nil
}

// find returns the slot of a group under the limits of g, or nil. If the group is not hot it may be taken from.
func (t *Table) find(p *partition, id bucket.ID, g *Group, now bucket.Instant) []uint64 {
	s := p.slab(len(g.limits))
	if s == nil {
		return nil
	}
	w := s.find(id)
	if w == nil {
		return nil
	}
	old := g
	if uint32(w[2]) != uint32(pack(g.index)) {
		old = t.limits.at(unpack(w[2]))
	}
	if p.loss.reserved && !isHot(w[2]) { // a lender sees to it itself
		p.refill(w, old, now)
	}
	if old != g {
		t.adopt(p, w, old, g, now)
	}
	return w
}

// Look answers what Take would, and takes nothing: no slot is made, and no level but by the time that has passed. The
// error is ErrClosed or nil.
func (t *Table) Look(part int, id bucket.ID, g *Group, now bucket.Instant, cost int64) (d bucket.Decision, which int, err error) {
	var room [headWords + MaxStates*stateWords]uint64
	w := room[:headWords+len(g.limits)*stateWords]
	p := &t.parts[part]
	p.mu.Lock()
	if err = t.enter(p, now); err == nil {
		t.peek(p, id, g, now, w)
	}
	p.mu.Unlock()
	if err != nil {
		return d, 0, err
	}
	d, which = g.look(w, now, cost)
	return d, which, nil
}

// peek makes w a copy of a group's slot, under the limits of g.
func (t *Table) peek(p *partition, id bucket.ID, g *Group, now bucket.Instant, w []uint64) {
	var found []uint64
	if s := p.slab(len(g.limits)); s != nil {
		found = s.find(id)
	}
	if found == nil {
		p.fill(w, g, now)
		return
	}
	old, out := t.limits.at(unpack(found[2])), int64(0)
	p.refill(found, old, now)
	if isHot(found[2]) {
		out = p.hot.at[place(found[2])].Out()
	}
	copy(w, found)
	if old != g {
		carry(w, old, g, now)
		lower(w, g, out)
	}
}

// first decides for a group that has no slot, and makes one if something was taken: a denial, or a look, leaves the
// group as full as it was.
func (t *Table) first(p *partition, id bucket.ID, g *Group, now bucket.Instant, cost int64) (d bucket.Decision, which int, err error) {
	var room [headWords + MaxStates*stateWords]uint64
	w := room[:headWords+len(g.limits)*stateWords]
	p.fill(w, g, now)
	d, which = g.take(w, now, cost)
	if !d.Allowed || cost == 0 {
		return d, which, nil
	}
	s, ok := t.room(p, len(g.limits), now)
	if !ok {
		t.refused.Add(1)
		return bucket.Decision{}, 0, ErrFull
	}
	copy(p.insert(s, id, g)[headWords:], w[headWords:])
	return d, which, nil
}

// freshSlot makes a slot for a group that has none; nil if there is no room.
func (t *Table) freshSlot(p *partition, id bucket.ID, g *Group, now bucket.Instant) []uint64 {
	s, ok := t.room(p, len(g.limits), now)
	if !ok {
		t.refused.Add(1)
		return nil
	}
	w := p.insert(s, id, g)
	p.fill(w, g, now)
	return w
}

// adopt turns a slot over to other limits of the same number.
func (t *Table) adopt(p *partition, w []uint64, old, g *Group, now bucket.Instant) {
	if isHot(w[2]) {
		h := p.open(w, old)
		h.lender.Adopt(h.group(), g.limits, now)
		p.close(w, &h)
	} else {
		carry(w, old, g, now)
	}
	p.touch(w)
	relabel(w, old, g)
}

// relabel makes a slot one of other limits.
func relabel(w []uint64, old, g *Group) {
	g.Pin()
	w[2] = w[2]&^limitsMask | pack(g.index)
	old.Release()
}
