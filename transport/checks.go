package transport

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

// Check asks the owner of a group for tokens.
type Check struct {
	// Number names the check on its stream; the answer carries it. The sender chooses.
	Number uint64
	ID     bucket.ID
	// Limits names a group of limits that this frame or an earlier one of the stream has carried.
	Limits uint32
	// Cost is 0 to bucket.MaxTokens: that of every limit, or the largest.
	Cost int64
	// Costs are those of each limit, 0 to bucket.MaxTokens, if they differ; else nil.
	Costs []int64
	// Hold, unless zero, has the cost taken aside for a check of several keys, for Life: at most an hour.
	Hold lease.HoldID
	Life time.Duration
	// Within is how long the sender waits for the answer, from when it sent the frame.
	Within time.Duration
	// Look takes nothing.
	Look bool
	// Refund gives the cost back instead of taking it. Only to peers of RefundsVersion, who alone do not take it for a take.
	Refund bool
	// Hop counts the nodes that have passed the check on: 0 from the node that was asked. At most MaxHop; more is sent as
	// MaxHop.
	Hop uint8
	// Leases says that the sender takes leases and deny leases for the group.
	Leases bool
	// Demand is what the sender is asked for in the group, to a thousandth and up to 1e12; what is below is 0, what is
	// above is cut. The zero Demand is not sent.
	Demand lease.Demand
}

// ChecksFrame is one frame of checks. Decoding reuses its slices, so one value serves a whole stream.
type ChecksFrame struct {
	// Epoch is the sender's ring epoch.
	Epoch  uint64
	Limits []LimitsBody
	Checks []Check
}

// MaxHop is the largest Hop that a check can have.
const MaxHop = 3

// The flags of a check. Its hop is two bits of them.
const (
	flagLook   byte = 1 << 0
	hopShift        = 1
	flagLeases byte = 1 << 3
	flagDemand byte = 1 << 4
	flagCosts  byte = 1 << 5
	flagHold   byte = 1 << 6
	flagRefund byte = 1 << 7
)

// AppendChecks appends the frame to b.
func AppendChecks(b []byte, f *ChecksFrame) []byte {
	b = append(b, byte(typeChecks))
	b = binary.BigEndian.AppendUint64(b, f.Epoch)
	b = appendLimits(b, f.Limits)
	for i := range f.Checks {
		c := &f.Checks[i]
		demand := demandOf(c.Demand)
		flags := min(c.Hop, MaxHop) << hopShift
		if c.Look {
			flags |= flagLook
		}
		if c.Refund {
			flags |= flagRefund
		}
		if c.Leases {
			flags |= flagLeases
		}
		if demand != (sentDemand{}) {
			flags |= flagDemand
		}
		if c.Costs != nil {
			flags |= flagCosts
		}
		if c.Hold != (lease.HoldID{}) {
			flags |= flagHold
		}
		b = append(b, flags)
		b = appendID(b, c.ID)
		b = binary.AppendUvarint(b, c.Number)
		b = binary.AppendUvarint(b, uint64(c.Limits))
		b = binary.AppendUvarint(b, uint64(c.Cost))
		b = binary.AppendUvarint(b, uint64(c.Within.Microseconds()))
		if flags&flagDemand != 0 {
			b = appendDemand(b, demand)
		}
		if flags&flagCosts != 0 {
			b = appendCosts(b, c.Costs)
		}
		if flags&flagHold != 0 {
			b = binary.AppendUvarint(appendHoldID(b, c.Hold), uint64(c.Life))
		}
	}
	return b
}

// DecodeChecks reads a frame of checks into f. The error wraps ErrFrame; f is of no use then.
func DecodeChecks(frame []byte, f *ChecksFrame) error {
	r := open(frame, typeChecks)
	f.Epoch = r.uint64()
	f.Limits, f.Checks = r.limits(f.Limits[:0]), f.Checks[:0]
	for len(r.b) > 0 {
		flags := r.byte()
		c := Check{
			Look:   flags&flagLook != 0,
			Refund: flags&flagRefund != 0,
			Hop:    flags >> hopShift & MaxHop,
			Leases: flags&flagLeases != 0,
			ID:     r.id(),
			Number: r.uvarint(),
			Limits: r.ref(),
			Cost:   r.upTo(bucket.MaxTokens),
			Within: min(time.Duration(min(r.uvarint(), maxWithin))*time.Microsecond, time.Hour),
		}
		if flags&flagDemand != 0 {
			c.Demand = r.demand()
		}
		if flags&flagCosts != 0 {
			c.Costs = r.costs()
		}
		if flags&flagHold != 0 {
			if c.Hold, c.Life = r.holdID(), r.term(); c.Hold == (lease.HoldID{}) {
				r.fail("a hold without a name")
			}
		}
		f.Checks = append(f.Checks, c)
	}
	return r.end()
}

func appendCosts(b []byte, costs []int64) []byte {
	b = append(b, byte(len(costs)))
	for _, cost := range costs {
		b = binary.AppendUvarint(b, uint64(cost))
	}
	return b
}

// costs reads those of the limits of a group.
func (r *reader) costs() []int64 {
	n := int(r.byte())
	if n < 1 || n > maxStates {
		r.fail(fmt.Sprintf("costs of %d limits", n))
		return nil
	}
	all := make([]int64, n)
	for i := range all {
		all[i] = r.upTo(bucket.MaxTokens)
	}
	return all
}

const maxWithin = uint64(time.Hour / time.Microsecond)
