package ownership

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
)

// ErrMessage is wrapped when the bytes of a message cannot be decoded: they were cut or changed, or their sender is of
// a build that speaks otherwise. Drop the message: whatever matters is said again.
var ErrMessage = errors.New("malformed message about ownership")

// messageType is the first byte of every message. The numbers are what nodes of other builds send and expect.
type messageType byte

const (
	typeHeartbeat  messageType = 1
	typeAck        messageType = 2
	typeLostYou    messageType = 3
	typeListIs     messageType = 4
	typeWho        messageType = 5
	typeNoList     messageType = 6
	typeJoin       messageType = 7
	typePropose    messageType = 8
	typeSecond     messageType = 9
	typeAsk        messageType = 10
	typeConfirm    messageType = 11
	typeStillHeard messageType = 12
	typeOwners     messageType = 13
	typeInherit    messageType = 14
	typeCopiesOf   messageType = 15
	typeCopies     messageType = 16
	typePrepare    messageType = 17
	typeFinal      messageType = 18
	typeMemory     messageType = 19
	typeCanvass    messageType = 20
	typePromise    messageType = 21
)

const (
	// partitionBound is above every partition that a message may name.
	partitionBound = 1 << 16
	// maxIDBytes bounds a stable id.
	maxIDBytes = 120
	// maxListed bounds what a list may say: ids that were added, and those that were removed.
	maxListed = 4096
	// stateDeaf is the highest bit of the state in a heartbeat.
	stateDeaf = 0x80
	// claimElsewhere, claimFrom and claimLive are the lowest bits of the partition that a heartbeat names.
	claimElsewhere, claimFrom, claimLive, claimFlags = 1, 2, 4, 3
	// leastMember is the bytes of the shortest member: a length, an id, an incarnation.
	leastMember = 1 + 1 + 8
)

// Append appends a message to b, as Decode reads it. The partitions of a message must ascend, as those of a Machine's
// messages do, and its lists must be short enough: what breaks a bound of Decode is refused there. A Claim or Member
// without an id is written as the zero one. It keeps nothing of the message, and allocates nothing beyond b, but for a
// ListIs or a Memory and for messages that name more than 16 members. A nil Message appends nothing.
//
// A message is its type, then its fields in the order of the struct. Terms, sequences and counts are uvarints,
// incarnations and digests 8 bytes. Where members recur, a table of them follows the type, and fields name them by
// their place in it, from 1; 0 is nobody. A partition is its distance from the one before, less 1.
func Append(b []byte, m Message) []byte {
	switch m := m.(type) {
	case *Heartbeat:
		b = appendUint64(append(b, byte(typeHeartbeat)), m.Incarnation)
		b = binary.AppendUvarint(b, m.Seq)
		state := byte(m.State)
		if m.Deaf {
			state |= stateDeaf
		}
		b = appendUint64(append(b, state), m.Digest)
		return appendClaims(b, m.Claims)
	case *Ack:
		t := make(table, 0, tableRoom).withHeld(m.Refused)
		b = appendUint64(t.append(append(b, byte(typeAck))), m.Incarnation)
		return t.appendHeld(binary.AppendUvarint(b, m.Seq), m.Refused)
	case *LostYou:
		return appendUint64(append(b, byte(typeLostYou)), m.Incarnation)
	case *ListIs:
		return appendList(append(b, byte(typeListIs)), m.List)
	case *Memory:
		t := make(table, 0, tableRoom).withMembers(m.Lost).withHeld(m.Claims)
		b = t.append(appendList(append(b, byte(typeMemory)), m.List))
		b = t.appendHeld(t.appendNames(b, m.Lost), m.Claims)
		return appendSeconded(appendBallot(b, m.Promised), m.Seconded)
	case *Who:
		return append(b, byte(typeWho))
	case *NoList:
		return appendUint64(append(b, byte(typeNoList)), m.Incarnation)
	case *Join:
		return appendUint64(append(b, byte(typeJoin)), m.Incarnation)
	case *Propose:
		b = appendChange(binary.AppendUvarint(append(b, byte(typePropose)), m.N), m.Change)
		return appendUint64(b, m.Digest)
	case *Second:
		return appendUint64(binary.AppendUvarint(append(b, byte(typeSecond)), m.N), m.Digest)
	case *Canvass:
		b = appendFlag(appendChange(binary.AppendUvarint(append(b, byte(typeCanvass)), m.N), m.Change), m.Begun)
		return appendUint64(b, m.Digest)
	case *Promise:
		b = appendSeconded(appendBallot(append(b, byte(typePromise)), m.To), m.Said)
		return appendUint64(b, m.Digest)
	case *Ask:
		return appendLoss(append(b, byte(typeAsk)), m.Lost, m.Digest, m.Heirs)
	case *Confirm:
		return appendLoss(append(b, byte(typeConfirm)), m.Lost, m.Digest, m.Heirs)
	case *StillHeard:
		return appendMember(append(b, byte(typeStillHeard)), m.Member)
	case *Owners:
		t := make(table, 0, tableRoom).withHeld(m.Held)
		return t.appendHeld(t.append(append(b, byte(typeOwners))), m.Held)
	case *Inherit:
		t := make(table, 0, tableRoom).with(m.Lost).withHeirs(m.Heirs)
		b = t.appendName(t.append(append(b, byte(typeInherit))), m.Lost)
		return t.appendHeirs(b, m.Heirs)
	case *CopiesOf:
		return appendPartitions(append(b, byte(typeCopiesOf)), m.Partitions)
	case *Copies:
		t := make(table, 0, tableRoom).withCopies(m.Copies)
		return t.appendCopies(t.append(append(b, byte(typeCopies))), m.Copies)
	case *Prepare:
		b = appendUint64(append(b, byte(typePrepare)), m.Incarnation)
		return appendPartitions(appendUint64(b, m.Digest), m.Partitions)
	case *Final:
		t := make(table, 0, tableRoom).withHeld(m.Moves)
		b = appendUint64(t.append(append(b, byte(typeFinal))), m.Incarnation)
		return t.appendHeld(b, m.Moves)
	}
	return b
}

func appendUint64(b []byte, v uint64) []byte { return binary.BigEndian.AppendUint64(b, v) }

func appendID(b []byte, id string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(id))), id...)
}

func appendMember(b []byte, m Member) []byte { return appendUint64(appendID(b, m.ID), m.Incarnation) }

func appendChange(b []byte, c Change) []byte {
	return appendFlag(appendMember(b, c.Member), c.Remove)
}

func appendFlag(b []byte, flag bool) []byte {
	if flag {
		return append(b, 1)
	}
	return append(b, 0)
}

// appendBallot writes the zero Ballot, or one without an id, in a byte.
func appendBallot(b []byte, of Ballot) []byte {
	if of.N == 0 || of.ID == "" {
		return append(b, 0)
	}
	return appendID(binary.AppendUvarint(b, of.N), of.ID)
}

func appendSeconded(b []byte, s Seconded) []byte {
	b = appendBallot(b, s.At)
	if s.At.N == 0 || s.At.ID == "" {
		return b
	}
	return appendChange(b, s.Change)
}

func appendLoss(b []byte, lost Member, digest uint64, heirs []Heir) []byte {
	t := make(table, 0, tableRoom).with(lost).withHeirs(heirs)
	return t.appendHeirs(appendUint64(t.appendName(t.append(b), lost), digest), heirs)
}

// appendList writes ids in order, so that equal lists have equal bytes.
func appendList(b []byte, l List) []byte {
	b = binary.AppendUvarint(b, uint64(len(l.added)))
	for _, id := range slices.Sorted(maps.Keys(l.added)) {
		b = appendMember(b, Member{id, l.added[id]})
	}
	b = binary.AppendUvarint(b, uint64(len(l.removed)))
	for _, id := range slices.Sorted(maps.Keys(l.removed)) {
		b = appendMember(b, Member{id, l.removed[id].incarnation})
		b = binary.AppendUvarint(b, l.removed[id].stamp)
	}
	return b
}

// gap is how far a partition is from the next one after the last. One that does not ascend becomes a number that no
// receiver takes.
func gap(last, part int) uint64 { return uint64(part - last - 1) }

func appendPartitions(b []byte, parts []int) []byte {
	b = binary.AppendUvarint(b, uint64(len(parts)))
	last := -1
	for _, part := range parts {
		b = binary.AppendUvarint(b, gap(last, part))
		last = part
	}
	return b
}

// appendClaims writes most claims in two bytes: the gap with three flags, and the term.
func appendClaims(b []byte, claims []Named) []byte {
	b = binary.AppendUvarint(b, uint64(len(claims)))
	last := -1
	for _, n := range claims {
		flagged := gap(last, n.Partition) << claimFlags
		if n.Elsewhere {
			flagged |= claimElsewhere
		}
		if n.Live {
			flagged |= claimLive
		}
		if n.From.ID != "" {
			flagged |= claimFrom
		}
		b = binary.AppendUvarint(binary.AppendUvarint(b, flagged), n.Term)
		if n.From.ID != "" {
			b = appendMember(b, n.From)
		}
		last = n.Partition
	}
	return b
}
