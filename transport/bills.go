package transport

import (
	"encoding/binary"

	"github.com/drossel-dev/drossel/bucket"
)

// Bill is what a node has admitted by its own shares of limits in one partition, to be charged to their buckets where
// those are decided.
type Bill struct {
	// Partition is below 65,536.
	Partition int
	// Seq rises with each bill of a node for a partition, so that none is charged twice.
	Seq uint64
	// Limits are the groups of limits that Debts name.
	Limits []LimitsBody
	Debts  []Debt
}

// Debt is what one bucket is owed.
type Debt struct {
	ID     bucket.ID
	Limits uint32 // the Ref of a group of limits
	// Costs are how many tokens of each of them, 0 to bucket.MaxTokens.
	Costs []int64
}

// MaxDebts is how many debts fit into a call whatever they hold, each with a group of limits of its own.
const MaxDebts = 448

// AppendBill appends a bill to the body of a Settle call.
func AppendBill(b []byte, bill *Bill) []byte {
	b = binary.AppendUvarint(b, uint64(bill.Partition))
	b = binary.AppendUvarint(b, bill.Seq)
	b = appendLimits(b, bill.Limits)
	b = binary.AppendUvarint(b, uint64(len(bill.Debts)))
	for _, d := range bill.Debts {
		b = binary.AppendUvarint(appendID(b, d.ID), uint64(d.Limits))
		b = appendCosts(b, d.Costs)
	}
	return b
}

// DecodeBills reads the body of a Settle call. The error wraps ErrFrame.
func DecodeBills(body []byte) (bills []Bill, err error) {
	r := reader{b: body}
	for len(r.b) > 0 && r.err == nil {
		bill := Bill{Partition: int(r.upTo(1<<16 - 1)), Seq: r.uvarint(), Limits: r.limits(nil)}
		for n := r.uvarint(); n > 0 && r.err == nil; n-- {
			bill.Debts = append(bill.Debts, Debt{r.id(), r.ref(), r.costs()})
		}
		bills = append(bills, bill)
	}
	return bills, r.end()
}
