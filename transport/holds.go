package transport

import (
	"encoding/binary"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

// HoldEnd ends a hold that a Check has asked for.
type HoldEnd struct {
	ID   bucket.ID
	Hold lease.HoldID
	// Commit spends what is held; else it is put back.
	Commit bool
}

// HoldsFrame is one frame of ends of holds, from the side that dialed. There is no answer. Decoding reuses its slice.
type HoldsFrame struct {
	Ends []HoldEnd
}

// MaxHoldEnds is how many ends of holds fit into a frame whatever they are. More go into the next frame.
const MaxHoldEnds = 8192

// AppendHolds appends the frame to b.
func AppendHolds(b []byte, f *HoldsFrame) []byte {
	b = append(b, byte(typeHolds))
	for i := range f.Ends {
		e := &f.Ends[i]
		commit := byte(0)
		if e.Commit {
			commit = 1
		}
		b = appendHoldID(appendID(append(b, commit), e.ID), e.Hold)
	}
	return b
}

// IsHolds says whether a frame that came is one of ends of holds. Where checks are due, it may come as well.
func IsHolds(frame []byte) bool { return len(frame) > 0 && frameType(frame[0]) == typeHolds }

// DecodeHolds reads a frame of ends of holds into f. The error wraps ErrFrame; f is of no use then.
func DecodeHolds(frame []byte, f *HoldsFrame) error {
	r := open(frame, typeHolds)
	f.Ends = f.Ends[:0]
	for len(r.b) > 0 {
		commit := r.byte()
		if commit > 1 {
			r.fail("an end of a hold that is neither commit nor the other")
		}
		f.Ends = append(f.Ends, HoldEnd{Commit: commit == 1, ID: r.id(), Hold: r.holdID()})
	}
	return r.end()
}

// appendHoldID appends the name of a hold. Its node is as long as any hash, so it is not shortened.
func appendHoldID(b []byte, h lease.HoldID) []byte {
	return binary.AppendUvarint(binary.BigEndian.AppendUint64(b, h.Node), h.Number)
}

func (r *reader) holdID() lease.HoldID { return lease.HoldID{Node: r.uint64(), Number: r.uvarint()} }
