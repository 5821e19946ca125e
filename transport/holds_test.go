package transport

import (
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

// The bytes of holds, their answers and their ends.
func TestGoldenHolds(t *testing.T) {
	hold := lease.HoldID{Node: 0x0102030405060708, Number: 300}
	checks := ChecksFrame{Checks: []Check{{Number: 5, Cost: 2, Hold: hold, Life: 250 * time.Millisecond}}}
	answers := AnswersFrame{Answers: []Answer{{Number: 5, Decision: bucket.Decision{Allowed: true, Remaining: 7}, Life: time.Millisecond}}}
	ends := HoldsFrame{Ends: []HoldEnd{
		{ID: bucket.ID{Hi: 0x1112131415161718, Lo: 0x2122232425262728}, Hold: hold, Commit: true}, {Hold: hold},
	}}
	var gotChecks ChecksFrame
	var gotAnswers AnswersFrame
	var gotEnds HoldsFrame
	checkGolden(t, []goldenFrame{
		{
			name:    "check",
			golden:  `04 0000000000000000 00 40 0000000000000000 0000000000000000 05 00 02 00 0102030405060708 ac02 80e59a77`,
			got:     AppendChecks(nil, &checks),
			decodes: func(b []byte) bool { return DecodeChecks(b, &gotChecks) == nil && sameChecks(&gotChecks, &checks) },
		},
		{
			name:    "answer",
			golden:  `05 00 88 05 00 07 00 00 c0843d`,
			got:     AppendAnswers(nil, &answers),
			decodes: func(b []byte) bool { return DecodeAnswers(b, &gotAnswers) == nil && sameAnswers(&gotAnswers, &answers) },
		},
		{
			name: "ends",
			golden: `0b 01 1112131415161718 2122232425262728 0102030405060708 ac02
				00 0000000000000000 0000000000000000 0102030405060708 ac02`,
			got:     AppendHolds(nil, &ends),
			decodes: func(b []byte) bool { return DecodeHolds(b, &gotEnds) == nil && slices.Equal(gotEnds.Ends, ends.Ends) },
		},
	})
}

// Ends of holds cross as they are, and what is none is refused.
func TestHoldsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		end := rapid.Custom(func(t *rapid.T) HoldEnd {
			return HoldEnd{
				ID:   anyID().Draw(t, "id"),
				Hold: lease.HoldID{Node: rapid.Uint64().Draw(t, "node"), Number: rapid.Uint64().Draw(t, "number")}, Commit: rapid.Bool().Draw(t, "commit"),
			}
		})
		f := HoldsFrame{Ends: rapid.SliceOfN(end, 0, 12).Draw(t, "ends")}
		var got HoldsFrame
		b := AppendHolds(nil, &f)
		if err := DecodeHolds(b, &got); err != nil || !slices.Equal(got.Ends, f.Ends) || !IsHolds(b) {
			t.Fatal(got, err)
		}
		for n := range len(b) {
			if err := DecodeHolds(b[:n], &got); err == nil && n > 0 && len(got.Ends) == len(f.Ends) || err != nil && !errors.Is(err, ErrFrame) {
				t.Fatalf("%d bytes of %d: %v", n, len(b), err)
			}
		}
	})
	bad, err := hex.DecodeString("0b02" + strings.Repeat("00", 25))
	if err != nil {
		t.Fatal(err)
	}
	if err := DecodeHolds(bad, new(HoldsFrame)); !errors.Is(err, ErrFrame) {
		t.Error(err)
	}
	var largest HoldsFrame
	for range MaxHoldEnds {
		largest.Ends = append(largest.Ends, HoldEnd{Hold: lease.HoldID{Node: math.MaxUint64, Number: math.MaxUint64}})
	}
	if n := len(AppendHolds(nil, &largest)); n > MaxFrameBytes {
		t.Errorf("%d bytes, a frame has %d", n, MaxFrameBytes)
	}
}

func FuzzDecodeHolds(f *testing.F) {
	f.Add([]byte{})
	f.Add(AppendHolds(nil, &HoldsFrame{Ends: []HoldEnd{{Commit: true}, {Hold: lease.HoldID{Node: 1, Number: 300}}}}))
	f.Fuzz(func(t *testing.T, frame []byte) {
		var got, again HoldsFrame
		if err := DecodeHolds(frame, &got); err != nil {
			if !errors.Is(err, ErrFrame) {
				t.Error(err)
			}
			return
		}
		if err := DecodeHolds(AppendHolds(nil, &got), &again); err != nil || !slices.Equal(got.Ends, again.Ends) {
			t.Error(err, got, again)
		}
	})
}
