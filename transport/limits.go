package transport

import (
	"encoding/binary"
	"fmt"

	"github.com/drossel-dev/drossel/bucket"
)

// LimitsBody carries the limits of a group across a stream, once: checks and lease requests name it by Ref from then
// on.
type LimitsBody struct {
	// Version is that of the policies that have these limits, or had them last; 0 if they have none.
	Version uint64
	// Entry names the entry of the limits store that these limits are by, as table.NameOf does; 0 if they are not. Only to peers of
	// EntriesVersion.
	Entry uint64
	// Ref is a small number that the sender chooses; below MaxLimitsRefs. Sending it again replaces the group.
	Ref    uint32
	Limits []bucket.Limit // 1 to 16
}

// MaxLimitsRefs bounds how many groups of limits a stream names at a time.
const MaxLimitsRefs = 1 << 16

// byEntry is set in the count of limits that are by an entry, whose name follows.
const byEntry = 0x80

// maxStates is the largest group, as in bucket/table.
const maxStates = 16

func appendLimits(b []byte, bodies []LimitsBody) []byte {
	b = binary.AppendUvarint(b, uint64(len(bodies)))
	for i := range bodies {
		body := &bodies[i]
		b = binary.AppendUvarint(b, uint64(body.Ref))
		b = binary.AppendUvarint(b, body.Version)
		if body.Entry == 0 {
			b = append(b, byte(len(body.Limits)))
		} else {
			b = append(b, byte(len(body.Limits))|byEntry)
			b = binary.BigEndian.AppendUint64(b, body.Entry)
		}
		for _, l := range body.Limits {
			b = l.Append(b)
		}
	}
	return b
}

// limits appends the groups that are due to bodies. Each has limits of its own, for the receiver keeps them.
func (r *reader) limits(bodies []LimitsBody) []LimitsBody {
	for n := r.uvarint(); n > 0 && r.err == nil; n-- {
		body := LimitsBody{Ref: r.ref(), Version: r.uvarint()}
		k := int(r.byte())
		if k&byEntry != 0 {
			k &^= byEntry
			if body.Entry = r.uint64(); body.Entry == 0 {
				r.fail(fmt.Sprintf("limits %d are by an entry without a name", body.Ref))
			}
		}
		if k < 1 || k > maxStates {
			r.fail(fmt.Sprintf("limits %d of %d", body.Ref, k))
			break
		}
		for range k {
			l, rest, err := bucket.ReadLimit(r.b)
			if err != nil {
				r.fail(err.Error())
				break
			}
			r.b = rest
			body.Limits = append(body.Limits, l)
		}
		bodies = append(bodies, body)
	}
	return bodies
}

// ref reads the number of a group of limits.
func (r *reader) ref() uint32 { return uint32(r.upTo(MaxLimitsRefs - 1)) }
