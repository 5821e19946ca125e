package table

import (
	"errors"
	"fmt"
	"sync"
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

// partition is padded to a cache line, so that two cores at work on neighbours do not slow each other.
type partition struct {
	mu   sync.Mutex
	one  *slab    // groups of one limit, nearly all
	more []*slab  // groups of 2 to MaxStates, by size-2
	hot  *lenders // nil before the first
	_    [16]byte
}

// New returns an empty table of that many partitions, whose arrays take maxBytes at most, at least
// MinBytesPerPartition for each partition. While one partition grows, its old array stands beside the new one for a
// moment and is not counted. Groups of limits are interned in limits, which several tables may share. The zero
// Lending serves a table that never lends.
func New(partitions int, maxBytes int64, limits *Limits, lending Lending) (*Table, error) {
	if least := int64(partitions) * MinBytesPerPartition; partitions < 1 || maxBytes < least {
		return nil, fmt.Errorf("table of %d partitions in %d bytes: want at least 1 partition and %d bytes",
			partitions, maxBytes, least)
	}
	return &Table{limits: limits, parts: make([]partition, partitions), max: maxBytes, lending: lending}, nil
}

// Take asks every limit of group g for cost (0 to bucket.MaxTokens) at now, and takes it from all or from none. A key
// not seen before starts full. A group that was last used under other limits carries its levels over. The error is
// ErrFull or nil.
//
// The answer is that of one limit of the group, and says which: the limit that denied (of several, the one with the
// longest wait), else the one with the fewest tokens left.
func (t *Table) Take(part int, id bucket.ID, g *Group, now bucket.Instant, cost int64) (d bucket.Decision, which int, err error) {
	p := &t.parts[part]
	p.mu.Lock()
	if s := p.slab(len(g.limits)); s != nil {
		if w := s.find(id); w != nil && w[2]&(hotFlag|limitsMask) == pack(g.index) { // nearly always
			d, which = g.take(w, now, cost)
			p.mu.Unlock()
			return d, which, nil
		}
	}
	d, which, err = t.takeSeldom(p, id, g, now, cost)
	p.mu.Unlock()
	return d, which, err
}

// takeSeldom takes from a group that is new, hot, or was last used under other limits.
func (t *Table) takeSeldom(p *partition, id bucket.ID, g *Group, now bucket.Instant, cost int64) (d bucket.Decision, which int, err error) {
	w := t.find(p, id, g, now)
	if w == nil {
		return t.first(p, id, g, now, cost)
	}
	if !isHot(w[2]) {
		d, which = g.take(w, now, cost)
		return d, which, nil
	}
	h := p.open(w, g)
	a := h.lender.Local(h.group(), now, cost)
	h.close(w)
	t.tellHolders(id, h.lender, a)
	return a.Decision, a.Which, nil
}

// find returns the slot of a group under the limits of g, or nil.
func (t *Table) find(p *partition, id bucket.ID, g *Group, now bucket.Instant) []uint64 {
	s := p.slab(len(g.limits))
	if s == nil {
		return nil
	}
	w := s.find(id)
	if w != nil && uint32(w[2]) != uint32(pack(g.index)) {
		t.adopt(p, w, g, now)
	}
	return w
}

// Look answers what Take would, and takes nothing: no slot is made, and no level but by the time that has passed.
func (t *Table) Look(part int, id bucket.ID, g *Group, now bucket.Instant, cost int64) (d bucket.Decision, which int) {
	var room [headWords + MaxStates*stateWords]uint64
	w := room[:headWords+len(g.limits)*stateWords]
	p := &t.parts[part]
	p.mu.Lock()
	var found []uint64
	if s := p.slab(len(g.limits)); s != nil {
		found = s.find(id)
	}
	if found != nil {
		old := t.limits.at(unpack(found[2]))
		out := int64(0)
		if isHot(found[2]) {
			h := p.open(found, old)
			h.lender.Refill(h.group(), now)
			h.close(found)
			out = h.lender.Out()
		}
		copy(w, found)
		if old != g {
			carry(w, old, g, now)
			lower(w, g, out)
		}
	}
	p.mu.Unlock()
	if found == nil {
		g.fill(w, now)
	}
	return g.look(w, now, cost)
}

// first decides for a group that has no slot, and makes one if something was taken: a denial, or a look, leaves the
// group as full as it was.
func (t *Table) first(p *partition, id bucket.ID, g *Group, now bucket.Instant, cost int64) (d bucket.Decision, which int, err error) {
	var room [headWords + MaxStates*stateWords]uint64
	w := room[:headWords+len(g.limits)*stateWords]
	g.fill(w, now)
	d, which = g.take(w, now, cost)
	if !d.Allowed || cost == 0 {
		return d, which, nil
	}
	s, ok := t.room(p, len(g.limits), now)
	if !ok {
		t.refused.Add(1)
		return bucket.Decision{}, 0, ErrFull
	}
	g.Pin()
	copy(s.insert(id, pack(g.index))[headWords:], w[headWords:])
	return d, which, nil
}

// fullSlot makes a slot for a group that has none; nil if there is no room.
func (t *Table) fullSlot(p *partition, id bucket.ID, g *Group, now bucket.Instant) []uint64 {
	s, ok := t.room(p, len(g.limits), now)
	if !ok {
		t.refused.Add(1)
		return nil
	}
	g.Pin()
	w := s.insert(id, pack(g.index))
	g.fill(w, now)
	return w
}

// adopt turns a slot over to other limits of the same number.
func (t *Table) adopt(p *partition, w []uint64, g *Group, now bucket.Instant) {
	old := t.limits.at(unpack(w[2]))
	if isHot(w[2]) {
		h := p.open(w, old)
		h.lender.Adopt(h.group(), g.limits, now)
		h.close(w)
	} else {
		carry(w, old, g, now)
	}
	g.Pin()
	w[2] = w[2]&^limitsMask | pack(g.index)
	old.Release()
}

func (p *partition) slab(states int) *slab {
	if states == 1 {
		return p.one
	}
	if states-2 < len(p.more) {
		return p.more[states-2]
	}
	return nil
}

// Stats is what a table holds.
type Stats struct {
	Groups  int    // in all partitions
	Bytes   int64  // of all arrays
	Refused uint64 // takes that got ErrFull

	Leases LeaseStats
}

// Stats counts. It locks each partition in turn, for a moment.
func (t *Table) Stats() Stats {
	st := Stats{Bytes: t.bytes.Load(), Refused: t.refused.Load()}
	for i := range t.parts {
		p := &t.parts[i]
		p.mu.Lock()
		p.each(func(s *slab) { st.Groups += s.used })
		st.Leases.add(p.hot)
		p.mu.Unlock()
	}
	return st
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
