package transport

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// everyAlgorithm is a group of one limit of each.
var everyAlgorithm = []bucket.Limit{
	{Count: 100, Per: time.Second, Burst: 200, OwnerLoss: bucket.LossEmpty},
	{Algorithm: bucket.Pacer, Count: 5, Per: time.Second, Burst: 7, MaxWait: 250 * time.Millisecond},
	{Algorithm: bucket.SlidingWindow, Count: 10, Per: time.Minute, Burst: 10},
	{Algorithm: bucket.FixedWindow, Count: 11, Per: time.Minute, Burst: 11, OwnerLoss: bucket.LossFull},
	{Algorithm: bucket.FirstHitWindow, Count: 12, Per: time.Minute, Burst: 12},
	{Algorithm: bucket.CalendarWindow, Count: 10, Burst: 12, Calendar: bucket.Month, Zone: "Asia/Tokyo"},
	{Algorithm: bucket.CalendarWindow, Count: 9, Burst: 9, Calendar: bucket.Day},
}

// The bytes of limits of every algorithm, and of costs that differ.
func TestGoldenLimits(t *testing.T) {
	bodies := []LimitsBody{{Ref: 300, Version: 200, Limits: everyAlgorithm}, {Ref: 1, Limits: []bucket.Limit{{Burst: 3, Tag: 300}}}}
	checks := ChecksFrame{Limits: bodies, Checks: []Check{{Number: 5, Limits: 300, Cost: 300, Costs: []int64{300, 0, 1}}}}
	leases := LeasesFrame{Limits: bodies}
	bill := Bill{Partition: 9, Seq: 3, Limits: bodies[1:], Debts: []Debt{{Limits: 1, Costs: []int64{7}}}}
	var gotChecks ChecksFrame
	var gotLeases LeasesFrame
	const one = `01 00 01 00 80 ac02 03 00 00`
	const all = `02
		ac02 c801 07
		00 01 c801 8094ebdc03 64
		01 00 07 8094ebdc03 05 80e59a77
		02 00 0a 80b09dc2df01
		03 02 0b 80b09dc2df01
		04 00 0c 80b09dc2df01
		05 00 0c 0a 05 0a 417369612f546f6b796f
		05 00 09 09 03 00 ` + one
	checkGolden(t, []goldenFrame{
		{
			name:    "checks",
			golden:  `04 0000000000000000 ` + all + ` 20 0000000000000000 0000000000000000 05 ac02 ac02 00 03 ac02 00 01`,
			got:     AppendChecks(nil, &checks),
			decodes: func(b []byte) bool { return DecodeChecks(b, &gotChecks) == nil && sameChecks(&gotChecks, &checks) },
		},
		{
			name:    "leases",
			golden:  `08 ` + all,
			got:     AppendLeases(nil, &leases),
			decodes: func(b []byte) bool { return DecodeLeases(b, &gotLeases) == nil && sameLeases(&gotLeases, &leases) },
		},
		{
			name:   "bill",
			golden: `09 03 01 ` + one + ` 01 0000000000000000 0000000000000000 01 01 07`,
			got:    AppendBill(nil, &bill),
			decodes: func(b []byte) bool {
				got, err := DecodeBills(b)
				return err == nil && len(got) == 1 && sameLimits(got[0].Limits, bill.Limits) && got[0].Debts[0].Costs[0] == 7
			},
		},
	})
}

// Limits and costs that there are not.
func TestLimitsOutOfRange(t *testing.T) {
	const epoch = "04 0000000000000000 "
	const check = "20 0000000000000000 0000000000000000 00 00 00 00 "
	for name, text := range map[string]string{
		"a group of none":       epoch + "01 00 00",
		"a group of 17":         epoch + "01 00 11" + strings.Repeat(" 00 00 00 00 00", 17),
		"no rule":               epoch + "01 00 01 00",
		"an unknown rule":       epoch + "01 00 01 00 03 00 00 00",
		"an unknown algorithm":  epoch + "01 00 01 06 00 00 00 00",
		"a rate without a time": epoch + "01 00 01 00 00 01 00 01",
		"a window of no time":   epoch + "01 00 01 03 00 01 00",
		"an unknown calendar":   epoch + "01 00 01 05 00 01 01 07 00",
		"an unknown zone":       epoch + "01 00 01 05 00 01 01 03 01 78",
		"a zone that is cut":    epoch + "01 00 01 05 00 01 01 03 20 78",
		"costs of no limit":     epoch + "00 " + check + "00",
		"costs of 17":           epoch + "00 " + check + "11" + strings.Repeat(" 01", 17),
		"a cost above the most": epoch + "00 " + check + "01 81808080808080 10",
	} {
		frame, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
		if err != nil {
			t.Fatal(name, err)
		}
		if err := DecodeChecks(frame, new(ChecksFrame)); !errors.Is(err, ErrFrame) {
			t.Errorf("%s: %v, want ErrFrame", name, err)
		}
	}
}

// The largest bill that the constants allow fits into a call.
func TestLargestBillFits(t *testing.T) {
	limits, costs := make([]bucket.Limit, maxStates), make([]int64, maxStates)
	for i := range limits {
		limits[i] = bucket.Limit{
			Algorithm: bucket.CalendarWindow, Count: bucket.MaxTokens, Burst: bucket.MaxTokens,
			Calendar: bucket.Year, Zone: "America/Argentina/ComodRivadavia", // none is longer
		}
		costs[i] = bucket.MaxTokens
	}
	bill := Bill{Partition: 1<<16 - 1, Seq: 1<<64 - 1}
	for range MaxDebts {
		bill.Limits = append(bill.Limits, LimitsBody{Ref: MaxLimitsRefs - 1, Limits: limits})
		bill.Debts = append(bill.Debts, Debt{Limits: MaxLimitsRefs - 1, Costs: costs})
	}
	if b := AppendBill(nil, &bill); len(b) > MaxCallBody {
		t.Errorf("%d bytes, a call has %d", len(b), MaxCallBody)
	}
}
