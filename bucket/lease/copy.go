package lease

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/drossel-dev/drossel/bucket"
)

// A group moves to another owner with its ledger, or a copy of it is kept there: this is the ledger as bytes. Instants
// are written as how far away they are, for every node has a clock of its own.

// ErrCopy is wrapped by the errors of LenderFrom: the bytes are no copy of a ledger.
var ErrCopy = errors.New("malformed copy of a ledger")

// AppendLedger appends a copy of the ledger as of now, up to which it has been refilled, and returns the longer slice:
// about 40 bytes for each lease. Ids of leases begin anew where the copy is read, and Burned is not part of it. A lease
// of the owner's own callers is nobody's there, and burns in its time.
func (l *Ledger) AppendLedger(b []byte, now bucket.Instant) []byte {
	b = binary.AppendUvarint(b, uint64(len(l.entries)))
	for i := range l.entries {
		b = l.entries[i].append(b, now)
	}
	b = binary.AppendUvarint(b, uint64(len(l.holds)))
	for _, h := range l.holds {
		b = appendNumbers(b, h.id.Node, h.id.Number, until(h.taken, now), until(now, h.ends))
		b = appendTokens(b, h.costs)
	}
	settled := slices.DeleteFunc(slices.Clone(l.settled), func(s settlement) bool { return s.forgets <= now })
	b = binary.AppendUvarint(b, uint64(len(settled)))
	for _, s := range settled {
		b = appendNumbers(b, s.id.Node, s.id.Number, until(now, s.forgets))
	}
	return b
}

func (e *entry) append(b []byte, now bucket.Instant) []byte {
	b = binary.AppendUvarint(b, uint64(len(e.holder)))
	b = append(b, e.holder...)
	b = appendNumbers(b, uint64(e.left), until(now, e.burns))
	if e.holder == localName {
		return b
	}
	a := &e.answer
	b = appendNumbers(b, e.lease.Epoch, e.lease.Number, e.number.Incarnation, e.number.Seq,
		uint64(a.Tokens), uint64(a.TTL), uint64(a.Next), uint64(a.Deny.For), uint64(a.Deny.Cost), bit(a.Recall),
		uint64(e.spent), uint64(len(e.under)))
	return appendTokens(b, e.under)
}

// LenderFrom returns a lender with the ledger that AppendLedger has written of a group of as many limits, as of now,
// and the bytes that follow. What burns, burns as long after now as it did there: later, by the time that the bytes
// took, and so after every holder's deadline. Ids of new leases come after one that no lender of the group has reached.
// Who wants how much is not known until they say so again. The error wraps ErrCopy.
func LenderFrom(limits []bucket.Limit, b []byte, after ID, now bucket.Instant) (l *Lender, rest []byte, err error) {
	l = NewLender(limits, after, now)
	r := reader{b: b}
	for n := r.count(); n > 0 && r.err == nil; n-- {
		e := r.entry(len(limits), now)
		l.entries = append(l.entries, e)
		l.out = r.out(l.out, e.left)
	}
	for n := r.count(); n > 0 && r.err == nil; n-- {
		h := hold{id: HoldID{r.uvarint(), r.uvarint()}, taken: r.before(now), ends: r.instant(now), costs: r.tokens(len(limits))}
		h.cost = slices.Max(h.costs)
		l.holds = append(l.holds, h)
		l.out = r.out(l.out, h.cost)
	}
	for n := r.count(); n > 0 && r.err == nil; n-- {
		l.settled = append(l.settled, settlement{HoldID{r.uvarint(), r.uvarint()}, r.instant(now)})
	}
	if r.err != nil {
		return nil, nil, r.err
	}
	l.soonest = l.nextBurn()
	return l, r.b, nil
}

// until is how far away an instant is.
func until(now, at bucket.Instant) uint64 {
	if at <= now {
		return 0
	}
	return min(uint64(at)-uint64(now), math.MaxInt64)
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func appendNumbers(b []byte, all ...uint64) []byte {
	for _, v := range all {
		b = binary.AppendUvarint(b, v)
	}
	return b
}

func appendTokens(b []byte, all []int64) []byte {
	for _, v := range all {
		b = binary.AppendUvarint(b, uint64(v))
	}
	return b
}
