package table

import (
	"fmt"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

// Import puts the groups of a blob that Export has written into a partition as of now, in place of those that are
// there: closed, as a rule. Time counts from now, so what flowed in while the blob travelled is lost, and leases end
// later than at the exporter by as long; both are on the safe side. A hot group is hot here as well, whatever bound
// there is for those. No bucket gets more than its limit allows beside what is out, nor less than its burst below zero.
//
// The error wraps ErrBlob if the bytes are no blob: what came before is in the partition then, and the rest is not. It
// wraps ErrFull or ErrTooManyLimits if some groups found no room, and says how many; all others are in. A group that is
// missing is one that was never seen, with its leases unknown: what was taken from it, and is out, may be admitted once
// more.
func (t *Table) Import(part int, blob []byte, now bucket.Instant) error {
	in := importer{table: t, p: &t.parts[part], now: now, reader: reader{b: blob}}
	defer in.release()
	in.begin()
	for len(in.b) > 0 {
		in.one()
	}
	switch {
	case in.err != nil:
		return in.err
	case in.missing > 0:
		return fmt.Errorf("%d of %d groups are missing: %w", in.missing, in.groups, in.why)
	}
	return nil
}

// importer reads one blob.
type importer struct {
	reader
	table *Table
	p     *partition
	now   bucket.Instant
	known []named // limits, in the order in which they came

	groups, missing int
	why             error
}

// named are limits that later groups of the blob name by number.
type named struct {
	limits []bucket.Limit
	group  *Group // nil if there is no room for it
	why    error  // then
}

func (in *importer) release() {
	for _, n := range in.known {
		if n.group != nil {
			n.group.Release()
		}
	}
}

func (in *importer) begin() {
	if v := in.byte(); v != blobVersion && in.err == nil {
		in.fail(fmt.Sprintf("version %d, want %d: update the older node", v, blobVersion))
	}
	switch in.byte() {
	case 0:
	case 1:
		ago := in.instant()
		if in.err == nil {
			in.p.mu.Lock()
			in.p.learn(in.now-ago, in.now)
			in.p.mu.Unlock()
		}
	default:
		in.fail("no word if an owner was lost")
	}
}

// one reads a group and puts it in.
func (in *importer) one() {
	n := in.uvarint()
	limits := in.named(n / 2)
	id := in.id()
	var room [headWords + MaxStates*stateWords]uint64
	w := room[:headWords+len(limits.limits)*stateWords]
	for i, l := range limits.limits {
		store(w, i, bucket.State{Tokens: in.varint(), Frac: in.frac(l), Last: in.now})
	}
	if in.err != nil {
		return
	}
	in.p.mu.Lock()
	defer in.p.mu.Unlock()
	var lender *lease.Lender
	if n%2 == 1 {
		var err error
		if lender, in.b, err = lease.LenderFrom(limits.limits, in.b, in.table.leaseIDs(in.p), in.now); err != nil {
			in.fail(err.Error())
			return
		}
	}
	in.groups++
	if err := in.put(id, limits, w, lender); err != nil {
		in.missing, in.why = in.missing+1, err
	}
}

// named returns limits by number; if none have come with it, they follow.
func (in *importer) named(n uint64) (l named) {
	switch {
	case n < uint64(len(in.known)):
		return in.known[n]
	case n > uint64(len(in.known)):
		in.fail(fmt.Sprintf("limits %d, of which there are %d", n, len(in.known)))
		return l
	}
	if l.limits = in.limits(); in.err != nil {
		return l
	}
	l.group, l.why = in.table.limits.Intern(l.limits)
	in.known = append(in.known, l)
	return l
}

// put makes a slot what was read of it. The partition is locked.
func (in *importer) put(id bucket.ID, limits named, w []uint64, lender *lease.Lender) error {
	g, p, out := limits.group, in.p, int64(0)
	if g == nil {
		return limits.why
	}
	if lender != nil {
		out = lender.Out()
	}
	for i := range g.limits {
		l := &g.limits[i]
		if p.loss.reserved && !startsEmpty(l) { // the reserve may be in out, and was not taken from this limit
			store(w, i, within(load(w, i), l, 0))
		} else {
			store(w, i, within(load(w, i), l, out))
		}
	}
	s := p.slab(len(g.limits))
	var at []uint64
	if s != nil {
		at = s.find(id)
	}
	switch {
	case at == nil && lender == nil && p.asNew(w, g, in.now):
		return nil
	case at == nil:
		var ok bool
		if s, ok = in.table.room(p, len(g.limits), in.now); !ok {
			in.table.refused.Add(1)
			return ErrFull
		}
		at = p.insert(s, id, g)
	default:
		if isHot(at[2]) {
			in.table.unseat(p, at)
		}
		relabel(at, in.table.limits.at(unpack(at[2])), g)
		at[2] &= changedFlag | limitsMask
		p.touch(at)
	}
	copy(at[headWords:], w[headWords:])
	if lender != nil {
		in.table.hot.Add(1)
		p.seat(at, g, lender)
	}
	return nil
}

// within keeps a level to what there can be beside what is out.
func within(s bucket.State, l *bucket.Limit, out int64) bucket.State {
	s.Tokens = max(s.Tokens, -l.Burst)
	if most := l.Burst - out; s.Tokens >= most {
		s.Tokens, s.Frac = most, 0
	}
	return s
}
