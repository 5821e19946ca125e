package transport

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

// sentDemand is a demand as it is sent: tokens and checks, in thousandths per second.
type sentDemand struct{ tokens, checks uint64 }

// maxDemand is the most that is sent. Up to it a double says every thousandth, so that a demand that is passed on stays
// what it was.
const maxDemand = 1e12

func demandOf(d lease.Demand) sentDemand {
	return sentDemand{thousandths(d.Tokens), thousandths(d.Checks)}
}

// thousandths makes 0 of what is no number as well: a demand sizes leases, and a node without one gets none.
func thousandths(perSecond float64) uint64 {
	if perSecond > 0 {
		return uint64(math.Round(min(perSecond, maxDemand) * 1000))
	}
	return 0
}

func appendDemand(b []byte, d sentDemand) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, d.tokens), d.checks)
}

func (r *reader) demand() lease.Demand {
	return lease.Demand{
		Tokens: float64(r.upTo(maxDemand*1000)) / 1000,
		Checks: float64(r.upTo(maxDemand*1000)) / 1000,
	}
}

// maxTerm bounds every duration in a lease or a deny lease: they live for seconds.
const maxTerm = time.Hour

// term reads how long something of a lease holds.
func (r *reader) term() time.Duration { return time.Duration(r.upTo(int64(maxTerm))) }

func appendDeny(b []byte, d lease.Deny) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(d.For)), uint64(d.Cost))
}

// deny reads a deny lease. One that denies nothing is left out by its sender.
func (r *reader) deny() lease.Deny {
	d := lease.Deny{For: r.term(), Cost: r.upTo(bucket.MaxTokens)}
	if d.For == 0 {
		r.fail("a deny lease for no time")
	}
	return d
}

// appendLeaseID appends the name of a lease. Its epoch is as long as any hash, so it is not shortened.
func appendLeaseID(b []byte, id lease.ID) []byte {
	return binary.AppendUvarint(binary.BigEndian.AppendUint64(b, id.Epoch), id.Number)
}

func (r *reader) leaseID() lease.ID { return lease.ID{Epoch: r.uint64(), Number: r.uvarint()} }
