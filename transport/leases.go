package transport

import (
	"encoding/binary"
	"fmt"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

// LeaseRequest is what a holder of leases, or of none yet, says to the owner of a group.
type LeaseRequest struct {
	ID bucket.ID
	// Limits names a group of limits as in a Check; the numbers are those of the stream's checks.
	Limits uint32
	// Request is sent but for Number.Incarnation, which is the sender's boot and so is known from its hello: decoding
	// leaves it 0. Spent and Under are never negative, Left is 0 to bucket.MaxTokens, Under has at most 16 states,
	// Demand is as in a Check.
	lease.Request
}

// LeasesFrame is one frame of lease requests, from the side that dialed. Decoding reuses its slices, so one value
// serves a whole stream; the limits and each Under are the receiver's to keep.
type LeasesFrame struct {
	Limits   []LimitsBody
	Requests []LeaseRequest
}

// MaxLeaseRequests is how many requests fit into a frame whatever they hold, each with a group of limits that is new to
// the stream. More go into the next frame.
const MaxLeaseRequests = 448

// The flags of a lease request.
const (
	requestLease byte = 1 << iota
	requestUnder
	requestClose
	requestDemand
	requestUnknown
)

// AppendLeases appends the frame to b.
func AppendLeases(b []byte, f *LeasesFrame) []byte {
	b = append(b, byte(typeLeases))
	b = appendLimits(b, f.Limits)
	for i := range f.Requests {
		q := &f.Requests[i]
		demand := demandOf(q.Demand)
		var flags byte
		if q.Lease != (lease.ID{}) {
			flags |= requestLease
		}
		if len(q.Under) > 0 {
			flags |= requestUnder
		}
		if q.Close {
			flags |= requestClose
		}
		if demand != (sentDemand{}) {
			flags |= requestDemand
		}
		b = append(b, flags)
		b = appendID(b, q.ID)
		b = binary.AppendUvarint(b, uint64(q.Limits))
		b = binary.AppendUvarint(b, q.Number.Seq)
		if flags&requestLease != 0 {
			b = appendLeaseID(b, q.Lease)
		}
		b = binary.AppendUvarint(b, uint64(q.Spent))
		b = binary.AppendUvarint(b, uint64(q.Left))
		if flags&requestUnder != 0 {
			b = append(b, byte(len(q.Under)))
			for _, u := range q.Under {
				b = binary.AppendUvarint(b, uint64(u))
			}
		}
		if flags&requestDemand != 0 {
			b = appendDemand(b, demand)
		}
	}
	return b
}

// IsLeases says whether a frame that came is one of lease requests. Where checks are due, it is that or checks.
func IsLeases(frame []byte) bool { return len(frame) > 0 && frameType(frame[0]) == typeLeases }

// DecodeLeases reads a frame of lease requests into f. The error wraps ErrFrame; f is of no use then.
func DecodeLeases(frame []byte, f *LeasesFrame) error {
	r := open(frame, typeLeases)
	f.Limits, f.Requests = r.limits(f.Limits[:0]), f.Requests[:0]
	for len(r.b) > 0 {
		flags := r.byte()
		q := LeaseRequest{ID: r.id(), Limits: r.ref()}
		q.Number.Seq = r.uvarint()
		if flags&requestLease != 0 {
			q.Lease = r.leaseID()
		}
		q.Spent, q.Left = r.int63(), r.upTo(bucket.MaxTokens)
		if flags&requestUnder != 0 {
			q.Under = r.under()
		}
		q.Close = flags&requestClose != 0
		if flags&requestDemand != 0 {
			q.Demand = r.demand()
		}
		if flags >= requestUnknown {
			r.fail("a lease request has unknown flags")
		}
		f.Requests = append(f.Requests, q)
	}
	return r.end()
}

func (r *reader) under() []int64 {
	k := int(r.byte())
	if k < 1 || k > maxStates {
		r.fail(fmt.Sprintf("a lease of %d states", k))
		return nil
	}
	under := make([]int64, k)
	for i := range under {
		under[i] = r.int63()
	}
	return under
}
