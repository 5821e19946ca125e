package ownership

import (
	"encoding/binary"
	"slices"
)

// table is the members that a message names, each once. There are few: it is searched from the front.
type table []Member

// tableRoom is how many members fit before a table is allocated.
const tableRoom = 16

func (t table) with(m Member) table {
	if m.ID == "" || slices.Contains(t, m) {
		return t
	}
	return append(t, m)
}

func (t table) withMembers(all []Member) table {
	for _, m := range all {
		t = t.with(m)
	}
	return t
}

func (t table) withHeld(held []Held) table {
	for i := range held {
		t = t.with(held[i].Claim.Member())
	}
	return t
}

func (t table) withHeirs(heirs []Heir) table {
	for i := range heirs {
		t = t.with(heirs[i].Member)
	}
	return t
}

func (t table) withCopies(copies []Copy) table {
	for i := range copies {
		t = t.with(copies[i].Claim.Member())
	}
	return t
}

// append writes the table itself.
func (t table) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(t)))
	for _, m := range t {
		b = appendMember(b, m)
	}
	return b
}

// appendName names a member by its place, from 1, or nobody by 0.
func (t table) appendName(b []byte, m Member) []byte {
	return binary.AppendUvarint(b, uint64(slices.Index(t, m)+1))
}

func (t table) appendNames(b []byte, all []Member) []byte {
	b = binary.AppendUvarint(b, uint64(len(all)))
	for _, m := range all {
		b = t.appendName(b, m)
	}
	return b
}

// appendClaim ends after the name if the claim is nobody's.
func (t table) appendClaim(b []byte, c Claim) []byte {
	b = t.appendName(b, c.Member())
	if c.Owner == "" {
		return b
	}
	return binary.AppendUvarint(b, c.Term)
}

func (t table) appendHeld(b []byte, held []Held) []byte {
	b = binary.AppendUvarint(b, uint64(len(held)))
	last := -1
	for _, h := range held {
		b = t.appendClaim(binary.AppendUvarint(b, gap(last, h.Partition)), h.Claim)
		last = h.Partition
	}
	return b
}

func (t table) appendHeirs(b []byte, heirs []Heir) []byte {
	b = binary.AppendUvarint(b, uint64(len(heirs)))
	last := -1
	for _, h := range heirs {
		b = binary.AppendUvarint(binary.AppendUvarint(b, gap(last, h.Partition)), h.Term)
		b = t.appendName(b, h.Member)
		last = h.Partition
	}
	return b
}

func (t table) appendCopies(b []byte, copies []Copy) []byte {
	b = binary.AppendUvarint(b, uint64(len(copies)))
	last := -1
	for _, c := range copies {
		b = t.appendClaim(binary.AppendUvarint(b, gap(last, c.Partition)), c.Claim)
		b = binary.AppendUvarint(b, c.Seq)
		last = c.Partition
	}
	return b
}
