package table

import (
	"fmt"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

// Import puts the groups and entries of a blob that Export has written into a partition as of now, in place of those that are
// there, but for entries that are older: closed, as a rule. Time counts from now, so what flowed in while the blob travelled is lost, and leases end
// later than at the exporter by as long; both are on the safe side. A hot group is hot here as well, whatever bound
// there is for those. No bucket gets more than its limit allows beside what is out.
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
	table   *Table
	p       *partition
	now     bucket.Instant
	version byte
	known   []named  // limits, in the order in which they came
	texts   []string // of entries, in the order in which they came

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
	if in.version = in.byte(); (in.version < blobWithoutEntries || in.version > blobVersion) && in.err == nil {
		in.fail(fmt.Sprintf("version %d, want %d or %d: update the older node", in.version, blobWithoutEntries, blobVersion))
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

// one reads a group, or an entry, and puts it in.
func (in *importer) one() {
	n := in.uvarint()
	kind := n & (1<<kindBits(in.version) - 1)
	switch n >>= kindBits(in.version); kind {
	case blobGroup, blobLent:
	case blobEntry:
		in.entry(n)
		return
	default:
		in.fail(fmt.Sprintf("something of kind %d", kind))
		return
	}
	limits := in.named(n)
	id := in.id()
	if in.err != nil {
		return
	}
	in.p.mu.Lock()
	defer in.p.mu.Unlock()
	defer in.table.countLog(in.p)
	var room [MaxStates]bucket.State
	s := in.states(limits, &room)
	var lender *lease.Lender
	if kind == blobLent && in.err == nil {
		var err error
		if lender, in.b, err = lease.LenderFrom(limits.limits, in.b, in.table.leaseIDs(in.p), in.now); err != nil {
			in.fail(err.Error())
		}
	}
	if in.err != nil {
		s.Drop()
		return
	}
	in.groups++
	if err := in.put(id, limits, &s, lender); err != nil {
		s.Drop()
		in.missing, in.why = in.missing+1, err
	}
}

// entry reads an entry with the text of a number, which follows if it has not come yet, and puts it in. One that is older than what is
// known stays out.
func (in *importer) entry(n uint64) {
	if n == uint64(len(in.texts)) {
		in.texts = append(in.texts, in.text())
	}
	if in.err == nil && n >= uint64(len(in.texts)) {
		in.fail(fmt.Sprintf("text %d, of which there are %d", n, len(in.texts)))
	}
	e := Entry{ID: in.id(), Number: in.uvarint()}
	if in.err != nil {
		return
	}
	e.Text = in.texts[n]
	in.p.mu.Lock()
	defer in.p.mu.Unlock()
	in.groups++
	if err := in.table.setEntry(in.p, e, false); err != nil {
		in.missing, in.why = in.missing+1, err
	}
}

// states reads those of a group. They may be in the log.
func (in *importer) states(limits named, room *[MaxStates]bucket.State) bucket.Group {
	s := bucket.Group{Limits: limits.limits, States: room[:len(limits.limits)], Wall: in.table.wall.Load(), Log: new(bucket.Log)}
	if limits.group != nil {
		in.p.logged(limits.group)
		s.Log = in.p.entries()
	}
	s.Start(in.now)
	for i := range s.States {
		rest, err := s.ReadState(in.b, i, in.now)
		if in.b = rest; err != nil {
			in.fail(err.Error())
			break
		}
	}
	return s
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
	version, entry := in.uvarint(), uint64(0)
	if in.version == blobVersion {
		entry = in.uvarint()
	}
	if l.limits = in.limits(); in.err != nil {
		return l
	}
	l.group, l.why = in.table.limits.InternFor(l.limits, version, entry)
	in.known = append(in.known, l)
	return l
}

// put makes a slot what was read of it. The partition is locked.
func (in *importer) put(id bucket.ID, limits named, from *bucket.Group, lender *lease.Lender) error {
	g, p, out := limits.group, in.p, int64(0)
	switch {
	case g == nil:
		return limits.why
	case g.logs > 0 && in.table.bytes.Load() > in.table.max:
		in.table.refused.Add(1)
		return ErrFull
	}
	if name := NameOf(p.entryText(id)); g.entry != name { // the exporter's is older than what is known here
		g = in.table.limits.by(g, name)
		defer g.Release()
	}
	if lender != nil {
		out = lender.Out()
	}
	for i := range g.limits {
		if !p.loss.reserved || startsEmpty(&g.limits[i]) { // else the reserve may be in out, and was not taken from this limit
			from.CapOne(i, out)
		}
	}
	s := p.slab(len(g.limits))
	var at []uint64
	if s != nil {
		at = s.find(id)
	}
	switch {
	case at == nil && lender == nil && in.table.asNew(p, g, from, in.now):
		in.vacate(id, g)
		from.Drop()
		return nil
	case at == nil:
		var ok bool
		if s, ok = in.table.room(p, len(g.limits), in.now); !ok {
			in.table.refused.Add(1)
			return ErrFull
		}
		in.vacate(id, g)
		at = p.insert(s, id, g)
	default:
		in.vacate(id, g)
		relabel(at, in.empty(at), g)
		at[2] &= changedFlag | limitsMask
		p.touch(at)
	}
	put(at, from.States)
	if lender != nil {
		in.table.hot.Add(1)
		p.seat(at, g, lender)
	}
	return nil
}

// empty forgets all that belongs to a slot and is not in it, and returns the limits that it had.
func (in *importer) empty(at []uint64) *Group {
	p := in.p
	if isHot(at[2]) {
		in.table.unseat(p, at)
	}
	delete(p.holds, heldIDOf(at))
	old := in.table.limits.at(unpack(at[2]))
	if old.logs > 0 {
		var room [MaxStates]bucket.State
		was := in.table.take(p, at, old, &room)
		was.Drop()
	}
	return old
}

// vacate removes the slot of a key that is under another number of limits than it has now.
func (in *importer) vacate(id bucket.ID, g *Group) {
	if s, at := in.p.elsewhere(id, g); at != nil {
		in.empty(at).Release()
		s.remove(s.index(id))
	}
}
