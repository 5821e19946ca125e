package transport

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// Check asks the owner of a group for tokens.
type Check struct {
	// Number names the check on its stream; the answer carries it. The sender chooses.
	Number uint64
	ID     bucket.ID
	// Limits names a group of limits that this frame or an earlier one of the stream has carried.
	Limits uint32
	// Cost is 0 to bucket.MaxTokens.
	Cost int64
	// Within is how long the sender waits for the answer, from when it sent the frame.
	Within time.Duration
	// Look takes nothing.
	Look bool
	// Hop is 0 from the node that was asked, 1 from a node that was wrongly taken for the owner. It is never more.
	Hop uint8
}

// LimitsBody carries the limits of a group across a stream, once: checks name it by Ref from then on.
type LimitsBody struct {
	// Ref is a small number that the sender chooses; below MaxLimitsRefs. Sending it again replaces the group.
	Ref    uint32
	Limits []bucket.Limit // 1 to 16
}

// MaxLimitsRefs bounds how many groups of limits a stream names at a time.
const MaxLimitsRefs = 1 << 16

// maxStates is the largest group, as in bucket/table.
const maxStates = 16

// ChecksFrame is one frame of checks. Decoding reuses its slices, so one value serves a whole stream.
type ChecksFrame struct {
	// Epoch is the sender's ring epoch.
	Epoch  uint64
	Limits []LimitsBody
	Checks []Check
}

const (
	flagLook byte = 1 << 0
	flagHop  byte = 1 << 1
)

// AppendChecks appends the frame to b.
func AppendChecks(b []byte, f *ChecksFrame) []byte {
	b = append(b, byte(typeChecks))
	b = binary.BigEndian.AppendUint64(b, f.Epoch)
	b = binary.AppendUvarint(b, uint64(len(f.Limits)))
	for _, l := range f.Limits {
		b = binary.AppendUvarint(b, uint64(l.Ref))
		b = append(b, byte(len(l.Limits)))
		for _, l := range l.Limits {
			b = binary.AppendUvarint(b, uint64(l.Count))
			b = binary.AppendUvarint(b, uint64(l.Per))
			b = binary.AppendUvarint(b, uint64(l.Burst))
		}
	}
	for i := range f.Checks {
		c := &f.Checks[i]
		var flags byte
		if c.Look {
			flags |= flagLook
		}
		if c.Hop != 0 {
			flags |= flagHop
		}
		b = append(b, flags)
		b = binary.BigEndian.AppendUint64(b, c.ID.Hi)
		b = binary.BigEndian.AppendUint64(b, c.ID.Lo)
		b = binary.AppendUvarint(b, c.Number)
		b = binary.AppendUvarint(b, uint64(c.Limits))
		b = binary.AppendUvarint(b, uint64(c.Cost))
		b = binary.AppendUvarint(b, uint64(c.Within.Microseconds()))
	}
	return b
}

// DecodeChecks reads a frame of checks into f. The error wraps ErrFrame; f is of no use then.
func DecodeChecks(frame []byte, f *ChecksFrame) error {
	r := open(frame, typeChecks)
	f.Epoch = r.uint64()
	f.Limits, f.Checks = f.Limits[:0], f.Checks[:0]
	for n := r.uvarint(); n > 0 && r.err == nil; n-- {
		body := LimitsBody{Ref: uint32(min(r.uvarint(), MaxLimitsRefs))}
		k := int(r.byte())
		if body.Ref >= MaxLimitsRefs || k < 1 || k > maxStates {
			r.fail(fmt.Sprintf("limits %d of %d", body.Ref, k))
			break
		}
		for range k {
			l := bucket.Limit{Count: r.int63(), Per: r.duration(), Burst: r.int63()}
			if err := l.Validate(); err != nil {
				r.fail(err.Error())
			}
			body.Limits = append(body.Limits, l)
		}
		f.Limits = append(f.Limits, body)
	}
	for len(r.b) > 0 {
		flags := r.byte()
		c := Check{
			Look:   flags&flagLook != 0,
			ID:     bucket.ID{Hi: r.uint64(), Lo: r.uint64()},
			Number: r.uvarint(),
			Limits: uint32(min(r.uvarint(), MaxLimitsRefs)),
			Cost:   r.int63(),
			Within: min(time.Duration(min(r.uvarint(), maxWithin))*time.Microsecond, time.Hour),
		}
		if flags&flagHop != 0 {
			c.Hop = 1
		}
		if c.Limits >= MaxLimitsRefs || c.Cost > bucket.MaxTokens {
			r.fail("a check is out of range")
		}
		f.Checks = append(f.Checks, c)
	}
	return r.end()
}

const maxWithin = uint64(time.Hour / time.Microsecond)
