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
}

// partition is padded to a cache line, so that two cores at work on neighbours do not slow each other.
type partition struct {
	mu   sync.Mutex
	one  *slab   // groups of one limit, nearly all
	more []*slab // groups of 2 to MaxStates, by size-2
	_    [24]byte
}

// New returns an empty table of that many partitions, whose arrays take maxBytes at most, at least
// MinBytesPerPartition for each partition. While one partition grows, its old array stands beside the new one for a
// moment and is not counted. Groups of limits are interned in limits, which several tables may share.
func New(partitions int, maxBytes int64, limits *Limits) (*Table, error) {
	if least := int64(partitions) * MinBytesPerPartition; partitions < 1 || maxBytes < least {
		return nil, fmt.Errorf("table of %d partitions in %d bytes: want at least 1 partition and %d bytes",
			partitions, maxBytes, least)
	}
	return &Table{limits: limits, parts: make([]partition, partitions), max: maxBytes}, nil
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
	s := p.slab(len(g.limits))
	var w []uint64
	if s != nil {
		w = s.find(id)
	}
	if w == nil {
		d, which, err = t.first(p, id, g, now, cost)
		p.mu.Unlock()
		return d, which, err
	}
	if w[2] != pack(g.index) {
		t.adopt(w, g, now)
	}
	d, which = g.take(w, now, cost)
	p.mu.Unlock()
	return d, which, nil
}

// Look answers what Take would, and takes nothing: no slot is made, and none is changed.
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
		copy(w, found)
		if w[2] != pack(g.index) {
			old := t.limits.at(unpack(w[2]))
			carry(w, old, g, now)
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

// adopt turns a slot over to other limits of the same number.
func (t *Table) adopt(w []uint64, g *Group, now bucket.Instant) {
	old := t.limits.at(unpack(w[2]))
	carry(w, old, g, now)
	g.Pin()
	w[2] = pack(g.index)
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
}

// Stats counts. It locks each partition in turn, for a moment.
func (t *Table) Stats() Stats {
	st := Stats{Bytes: t.bytes.Load(), Refused: t.refused.Load()}
	for i := range t.parts {
		p := &t.parts[i]
		p.mu.Lock()
		p.each(func(s *slab) { st.Groups += s.used })
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
