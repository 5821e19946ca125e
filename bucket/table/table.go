package table

import (
	"cmp"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/drossel-dev/drossel/bucket"
)

// ErrFull is returned for a key that has no slot yet when the memory bound is reached and no full group could make
// room. Keys that have a slot are decided as ever, but when the number of their limits changes, which takes another slot.
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
	wall    atomic.Int64
	refused atomic.Uint64
	saves   bool // which entries come is noted

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

// SetWall says by how many nanoseconds Unix time is ahead of the instants that the table is given: 0 until it is called. Windows
// of the clock and the calendar go by that.
func (t *Table) SetWall(ahead int64) { t.wall.Store(ahead) }

// Take asks every limit of group g for cost (0 to bucket.MaxTokens) at now, and takes it from all or from none. A key
// not seen before starts full, unless the partition's owner was lost (TakenOver). A group that was last used under other
// limits carries its levels over. The error is ErrClosed, ErrFull or nil.
//
// The answer is that of one limit of the group, and says which, as bucket.Group.Take does.
func (t *Table) Take(part int, id bucket.ID, g *Group, now bucket.Instant, cost int64) (d bucket.Decision, which int, err error) {
	p := &t.parts[part]
	p.mu.Lock()
	if s := p.slab(len(g.limits)); s != nil {
		w := s.find(id)
		// Nearly always:
		if w != nil && p.ready && g.logs == 0 && w[2]&(hotFlag|changedFlag|heldFlag|limitsMask) == changedFlag|pack(g.index) {
			if g.plain {
				d = g.takePlain(w, now, cost)
			} else {
				d, which = t.askAll(p, w, g, now, cost, nil)
			}
			p.mu.Unlock()
			return d, which, nil
		}
	}
	d, which, err = t.takeSeldom(p, id, g, now, cost, nil)
	p.mu.Unlock()
	return d, which, err
}

// TakeEach is Take with a cost for each limit, of which cost is the largest. Without any it is the same for all.
func (t *Table) TakeEach(part int, id bucket.ID, g *Group, now bucket.Instant, cost int64, each []int64) (d bucket.Decision, which int, err error) {
	p := &t.parts[part]
	p.mu.Lock()
	defer p.mu.Unlock()
	return t.takeSeldom(p, id, g, now, cost, each)
}

// takeSeldom takes from a group that costs differ for, or that is new, hot, the first to change since changes were collected, or was last used
// under other limits, and in partitions that are not ready.
func (t *Table) takeSeldom(p *partition, id bucket.ID, g *Group, now bucket.Instant, cost int64, each []int64) (d bucket.Decision, which int, err error) {
	if err := cmp.Or(t.enter(p, now), p.rightful(id, g)); err != nil {
		return d, 0, err
	}
	w, of, err := t.find(p, id, g, now)
	if err != nil {
		return d, 0, err
	}
	if w == nil {
		return t.first(p, id, g, now, cost, each)
	}
	each = of.costs(g, each)
	switch {
	case isHot(w[2]):
		var room [MaxStates]bucket.State
		h := t.open(p, w, of, &room)
		a := h.lender.Local(&h.Group, now, cost, each...)
		h.used = true
		p.close(w, &h)
		t.tellHolders(id, h.lender, a)
		return a.Decision, of.place(g, a.Which), nil
	case w[2]&heldFlag != 0:
		d, which = t.askHeld(p, w, of, now, cost, each)
	default:
		d, which = t.ask(p, w, of, now, cost, each)
	}
	p.took(w, d, cost)
	return d, of.place(g, which), nil
}

// find returns the slot of a group, or nil, and what limits it has: those of g, or of policies that are newer. If the group is not hot
// it may be taken from. The error is ErrFull if there is no memory for what a sliding window has to remember, or for other limits.
func (t *Table) find(p *partition, id bucket.ID, g *Group, now bucket.Instant) (w []uint64, of *Group, err error) {
	return t.findFor(p, id, g, now, (*Group).overrules)
}

// findFor is find where keeps says whether the slot's limits stay.
func (t *Table) findFor(
	p *partition, id bucket.ID, g *Group, now bucket.Instant, keeps func(old, g *Group) bool,
) (w []uint64, of *Group, err error) {
	s := p.slab(len(g.limits))
	if s != nil {
		w = s.find(id)
	}
	if w == nil {
		s, w = p.elsewhere(id, g)
	}
	old := g
	if w != nil && uint32(w[2]) != uint32(pack(g.index)) {
		old = t.limits.at(unpack(w[2]))
	}
	if of = g; keeps(old, g) {
		of = old
	}
	if !t.logRoom(p, of, now) {
		t.refused.Add(1)
		return nil, g, ErrFull
	}
	if w == nil {
		return nil, g, nil
	}
	if p.loss.reserved && !isHot(w[2]) { // a lender sees to it itself
		t.refill(p, w, old, now)
	}
	switch {
	case old == of:
	case len(old.limits) == len(of.limits) && old.inOrder(of):
		t.adopt(p, w, old, of, now)
	default:
		w, err = t.rearrange(p, s, w, old, of, now)
	}
	return w, of, err
}

// Look answers what Take would, and takes nothing: no slot is made, and no level but by the time that has passed. The
// error is ErrClosed or nil.
func (t *Table) Look(part int, id bucket.ID, g *Group, now bucket.Instant, cost int64, each ...int64) (d bucket.Decision, which int, err error) {
	p := &t.parts[part]
	p.mu.Lock()
	defer p.mu.Unlock()
	if err = cmp.Or(t.enter(p, now), p.rightful(id, g)); err != nil {
		return d, 0, err
	}
	var room [MaxStates]bucket.State
	s, of, mine := t.peek(p, id, g, now, &room)
	d, which = s.LookEach(now, cost, of.costs(g, each))
	if mine {
		s.Drop()
	}
	return d, of.place(g, which), nil
}

// peek takes the states of a group out under the limits that find returns, to look at and not to store. Of one that has no slot they
// are the caller's, who drops them.
func (t *Table) peek(
	p *partition, id bucket.ID, g *Group, now bucket.Instant, room *[MaxStates]bucket.State,
) (s bucket.Group, of *Group, mine bool) {
	var w []uint64
	if s := p.slab(len(g.limits)); s != nil {
		w = s.find(id)
	}
	if w == nil {
		_, w = p.elsewhere(id, g)
	}
	if w == nil {
		return t.start(p, g, room, now), g, true
	}
	old := t.limits.at(unpack(w[2]))
	t.refill(p, w, old, now)
	s = t.take(p, w, old, room)
	if old == g || old.overrules(g) {
		return s, old, false
	}
	s = s.Clone()
	if len(old.limits) != len(g.limits) || !old.inOrder(g) {
		if s.Log == nil {
			s.Log = new(bucket.Log)
		}
		from := old.from(g)
		s = s.Rearranged(from, g.limits, make([]bucket.State, len(g.limits)), now)
		p.begin(&s, g, from, p.out(w), now)
	}
	s.Adopt(g.limits, now)
	s.Cap(p.out(w))
	return s, g, false
}

// first decides for a group that has no slot, and makes one if something was taken: a denial, or a look, leaves the
// group as full as it was.
func (t *Table) first(p *partition, id bucket.ID, g *Group, now bucket.Instant, cost int64, each []int64) (d bucket.Decision, which int, err error) {
	if g.plain && !p.loss.known { // without more than it needs
		l := &g.limits[0]
		s := bucket.Full(l, now)
		if d = s.Take(l, now, cost); !d.Allowed || cost == 0 {
			return d, 0, nil
		}
		w, err := t.newSlot(p, id, g, now)
		if err != nil {
			return bucket.Decision{}, 0, err
		}
		store(w, 0, s)
		return d, 0, nil
	}
	var room [MaxStates]bucket.State
	s := t.start(p, g, &room, now)
	d, which = s.TakeEach(now, cost, each)
	if !d.Allowed || cost == 0 {
		s.Drop()
		return d, which, nil
	}
	w, err := t.newSlot(p, id, g, now)
	if err != nil {
		s.Drop()
		return bucket.Decision{}, 0, err
	}
	put(w, s.States)
	return d, which, nil
}

// newSlot makes a slot for a group that has none. The error is ErrFull.
func (t *Table) newSlot(p *partition, id bucket.ID, g *Group, now bucket.Instant) ([]uint64, error) {
	s, ok := t.room(p, len(g.limits), now)
	if !ok {
		t.refused.Add(1)
		return nil, ErrFull
	}
	return p.insert(s, id, g), nil
}

// freshSlot makes a slot of a group that was never seen. The error is ErrFull.
func (t *Table) freshSlot(p *partition, id bucket.ID, g *Group, now bucket.Instant) ([]uint64, error) {
	w, err := t.newSlot(p, id, g, now)
	if err != nil {
		return nil, err
	}
	var room [MaxStates]bucket.State
	s := t.start(p, g, &room, now)
	put(w, s.States)
	return w, nil
}

// adopt turns a slot over to other limits of the same number.
func (t *Table) adopt(p *partition, w []uint64, old, g *Group, now bucket.Instant) {
	if isHot(w[2]) {
		var room [MaxStates]bucket.State
		h := t.open(p, w, old, &room)
		h.lender.Adopt(&h.Group, g.limits, now)
		p.close(w, &h)
	} else {
		var room [MaxStates]bucket.State
		p.logged(g)
		s := t.take(p, w, old, &room)
		if l := p.holds[heldIDOf(w)]; l != nil {
			l.Adopt(&s, g.limits, now)
		} else {
			s.Adopt(g.limits, now)
		}
		put(w, s.States)
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
