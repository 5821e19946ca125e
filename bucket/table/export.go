package table

import (
	"encoding/binary"

	"github.com/drossel-dev/drossel/bucket"
)

// A blob is some groups of a partition as bytes, as of one instant and without a word about the instant itself:
//
//	version, 4
//	0, or 1 and how long ago the partition's owner was lost, in ns
//	and for each entry of the limits store, before the group of its key
//		4n + 2; n counts the different texts of the blob, as they first come
//		the first time: the text, after its length
//		id, 16 bytes, and the entry's number
//	and for each group
//		its limits: 4n, or 4n + 1 if the group is hot, or something of it is held; n counts the different ones of the blob, as they first come
//		the first time: of which version of the policies they are, by which entry, how many, and each as bucket.Limit.Append writes it
//		id, 16 bytes
//		the state of each limit, as bucket.Group.AppendState writes it
//		of a hot group its ledger, as lease.AppendLedger writes it
//
// Numbers are varints but for version, flag and counts below 256, which are bytes.
const blobVersion = 4

// blobWithoutEntries is the version before: without entries, and with 2n and 2n + 1 in place of 4n and 4n + 1.
const blobWithoutEntries = 3

func kindBits(version byte) int { return int(version) - 2 }

// What comes next in a blob, in the lowest bits of the number that it begins with.
const (
	blobGroup uint64 = 0
	blobLent  uint64 = 1 // with a ledger
	blobEntry uint64 = 2
)

// exportAtOnce is how many groups are written under one lock: takes wait for some 10 µs at most.
const exportAtOnce = 64

// Export appends a blob of some groups of a partition, and entries, as of now, for Import, and says how many of the ids are done;
// unknown ones are passed over. The blob ends before a group with which it would exceed maxBytes, but has one at least:
// a group of one limit takes 20 to 40 bytes, its limits about 10 once, and a hot one about 40 for each lease. Ids that
// are not done have to be exported again. Without ids the blob just says if the partition's owner was lost, which an
// importer has to know of an empty partition too.
//
// Groups that are full are written like others: Sweep first if they are many. The partition is locked for a moment at a
// time; to have all groups as of one instant, Close it first.
func (t *Table) Export(part int, ids []bucket.ID, now bucket.Instant, b []byte, maxBytes int) (blob []byte, taken int) {
	return t.export(part, ids, now, b, maxBytes, exporter{version: blobVersion})
}

// ExportDurable is Export of those groups of which some limit is durable (bucket.Limit.IsDurable), without entries. groups is how many the
// blob has.
func (t *Table) ExportDurable(part int, ids []bucket.ID, now bucket.Instant, b []byte, maxBytes int) (blob []byte, taken, groups int) {
	x := exporter{version: blobVersion, durable: true, groups: &groups}
	blob, taken = t.export(part, ids, now, b, maxBytes, x)
	return blob, taken, groups
}

// ExportWithoutEntries is Export in the form that importers read who do not know of the limits store.
func (t *Table) ExportWithoutEntries(part int, ids []bucket.ID, now bucket.Instant, b []byte, maxBytes int) (blob []byte, taken int) {
	return t.export(part, ids, now, b, maxBytes, exporter{version: blobWithoutEntries})
}

func (t *Table) export(part int, ids []bucket.ID, now bucket.Instant, b []byte, maxBytes int, x exporter) (blob []byte, taken int) {
	p := &t.parts[part]
	x.table, x.now, x.blob, x.refs, x.texts = t, now, b, make(map[*Group]uint64), make(map[string]uint64)
	p.mu.Lock()
	defer p.mu.Unlock()
	x.begin(p)
	for _, id := range ids {
		end := len(x.blob)
		x.add(p, id)
		if taken > 0 && len(x.blob)-len(b) > maxBytes {
			return x.blob[:end], taken
		}
		if taken++; taken%exportAtOnce == 0 {
			p.mu.Unlock()
			p.mu.Lock()
		}
	}
	return x.blob, taken
}

// exporter writes one blob.
type exporter struct {
	table   *Table
	now     bucket.Instant
	blob    []byte
	version byte
	refs    map[*Group]uint64
	texts   map[string]uint64
	durable bool // only what is
	groups  *int // if not nil, counts
}

func (x *exporter) begin(p *partition) {
	x.blob = append(x.blob, x.version)
	if !p.loss.known {
		x.blob = append(x.blob, 0)
		return
	}
	x.blob = append(x.blob, 1)
	x.blob = binary.AppendUvarint(x.blob, uint64(max(0, x.now-p.loss.at)))
}

// add writes the entry of an id and its group, if there are such: more than one if its limits have no tags and were more or fewer before.
func (x *exporter) add(p *partition, id bucket.ID) {
	if p.stored != nil && x.version == blobVersion && !x.durable {
		if e, ok := p.stored.by[id]; ok {
			x.entry(id, e)
		}
	}
	p.each(func(s *slab) {
		if w := s.find(id); w != nil {
			x.slot(p, w)
		}
	})
}

func (x *exporter) slot(p *partition, w []uint64) {
	g := x.table.limits.at(unpack(w[2]))
	if x.durable && !g.durable {
		return
	}
	if x.groups != nil {
		*x.groups++
	}
	x.table.refill(p, w, g, x.now)
	lent := w[2]&(hotFlag|heldFlag) != 0
	x.limits(g, lent)
	id := bucket.ID{Hi: w[0], Lo: w[1]}.Bytes()
	x.blob = append(x.blob, id[:]...)
	var room [MaxStates]bucket.State
	s := x.table.take(p, w, g, &room)
	if !lent {
		s.Refill(x.now, 0)
		put(w, s.States)
	}
	for i := range g.limits {
		x.blob = s.AppendState(x.blob, i, x.now)
	}
	if lent {
		x.blob = p.ledger(w).AppendLedger(x.blob, x.now)
	}
}

func (x *exporter) entry(id bucket.ID, e entry) {
	n, known := x.texts[e.text]
	if !known {
		n = uint64(len(x.texts))
		x.texts[e.text] = n
	}
	x.blob = binary.AppendUvarint(x.blob, n<<kindBits(x.version)|blobEntry)
	if !known {
		x.blob = binary.AppendUvarint(x.blob, uint64(len(e.text)))
		x.blob = append(x.blob, e.text...)
	}
	key := id.Bytes()
	x.blob = append(x.blob, key[:]...)
	x.blob = binary.AppendUvarint(x.blob, e.number)
}

func (x *exporter) limits(g *Group, hot bool) {
	n, known := x.refs[g]
	if !known {
		n = uint64(len(x.refs))
		x.refs[g] = n
	}
	kind := blobGroup
	if hot {
		kind = blobLent
	}
	x.blob = binary.AppendUvarint(x.blob, n<<kindBits(x.version)|kind)
	if known {
		return
	}
	x.blob = binary.AppendUvarint(x.blob, g.version.Load())
	if x.version == blobVersion {
		x.blob = binary.AppendUvarint(x.blob, g.entry)
	}
	x.blob = append(x.blob, byte(len(g.limits)))
	for _, l := range g.limits {
		x.blob = l.Append(x.blob)
	}
}
