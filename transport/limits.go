package transport

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/drossel-dev/drossel/bucket"
)

// LimitsBody carries the limits of a group across a stream, once: checks and lease requests name it by Ref from then
// on.
type LimitsBody struct {
	// Ref is a small number that the sender chooses; below MaxLimitsRefs. Sending it again replaces the group.
	Ref    uint32
	Limits []bucket.Limit // 1 to 16
	// Losses has the OwnerLoss of each limit cross as well; without it, it is LossReplica at the other end. Only to peers
	// of LossVersion. Decoding sets it if a limit came with one.
	Losses bool
}

// MaxLimitsRefs bounds how many groups of limits a stream names at a time.
const MaxLimitsRefs = 1 << 16

// maxStates is the largest group, as in bucket/table.
const maxStates = 16

// groupLosses is set in the count of a group's limits if the OwnerLoss of each follows it.
const groupLosses byte = 1 << 7

func (l *LimitsBody) sendsLosses() bool {
	special := func(l bucket.Limit) bool { return l.OwnerLoss != bucket.LossReplica }
	return l.Losses && slices.ContainsFunc(l.Limits, special)
}

func appendLimits(b []byte, bodies []LimitsBody) []byte {
	b = binary.AppendUvarint(b, uint64(len(bodies)))
	for i := range bodies {
		body := &bodies[i]
		count, losses := byte(len(body.Limits)), body.sendsLosses()
		if losses {
			count |= groupLosses
		}
		b = binary.AppendUvarint(b, uint64(body.Ref))
		b = append(b, count)
		for _, l := range body.Limits {
			b = binary.AppendUvarint(b, uint64(l.Count))
			b = binary.AppendUvarint(b, uint64(l.Per))
			b = binary.AppendUvarint(b, uint64(l.Burst))
			if losses {
				b = append(b, byte(l.OwnerLoss))
			}
		}
	}
	return b
}

// limits appends the groups that are due to bodies. Each has limits of its own, for the receiver keeps them.
func (r *reader) limits(bodies []LimitsBody) []LimitsBody {
	for n := r.uvarint(); n > 0 && r.err == nil; n-- {
		body := LimitsBody{Ref: r.ref()}
		count := r.byte()
		body.Losses = count&groupLosses != 0
		k := int(count &^ groupLosses)
		if k < 1 || k > maxStates {
			r.fail(fmt.Sprintf("limits %d of %d", body.Ref, k))
			break
		}
		for range k {
			l := bucket.Limit{Count: r.int63(), Per: r.duration(), Burst: r.int63()}
			if body.Losses {
				l.OwnerLoss = bucket.OwnerLoss(r.byte())
			}
			if err := l.Validate(); err != nil {
				r.fail(err.Error())
			}
			body.Limits = append(body.Limits, l)
		}
		bodies = append(bodies, body)
	}
	return bodies
}

// ref reads the number of a group of limits.
func (r *reader) ref() uint32 { return uint32(r.upTo(MaxLimitsRefs - 1)) }
