package transport

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// twoGroups is a group with rules for the loss of an owner, and one without.
func twoGroups(losses bool) []LimitsBody {
	return []LimitsBody{
		{Ref: 300, Losses: losses, Limits: []bucket.Limit{
			{Count: 100, Per: time.Second, Burst: 200, OwnerLoss: bucket.LossEmpty},
			{Burst: 1},
			{Burst: 2, OwnerLoss: bucket.LossFull},
		}},
		{Ref: 1, Losses: losses, Limits: []bucket.Limit{{Burst: 3}}},
	}
}

// What version 4 has added: rules cross where a limit of the group has one, and take no byte where none has.
func TestGoldenLosses(t *testing.T) {
	checks := ChecksFrame{Limits: twoGroups(true)}
	leases := LeasesFrame{Limits: twoGroups(true)}
	var gotChecks ChecksFrame
	var gotLeases LeasesFrame
	const bodies = `02
		ac02 83 64 8094ebdc03 c801 01 00 00 01 00 00 00 02 02
		01 01 00 00 03`
	checkGolden(t, []goldenFrame{
		{
			name:    "checks",
			golden:  `04 0000000000000000 ` + bodies,
			got:     AppendChecks(nil, &checks),
			decodes: func(b []byte) bool { return DecodeChecks(b, &gotChecks) == nil && sameChecks(&gotChecks, &checks) },
		},
		{
			name:    "leases",
			golden:  `08 ` + bodies,
			got:     AppendLeases(nil, &leases),
			decodes: func(b []byte) bool { return DecodeLeases(b, &gotLeases) == nil && sameLeases(&gotLeases, &leases) },
		},
	})
	for _, got := range [][]LimitsBody{gotChecks.Limits, gotLeases.Limits} {
		if len(got) != 2 || !got[0].Losses || got[1].Losses {
			t.Errorf("read as %+v, want rules in the first group alone", got)
		}
	}
}

// To a peer of version 3 the frames are as they were, and every rule is the default there.
func TestLossesStayAtHome(t *testing.T) {
	checks := ChecksFrame{Limits: twoGroups(false)}
	leases := LeasesFrame{Limits: twoGroups(false)}
	want := twoGroups(false)
	for i := range want[0].Limits {
		want[0].Limits[i].OwnerLoss = bucket.LossReplica
	}
	var gotChecks ChecksFrame
	var gotLeases LeasesFrame
	const bodies = `02
		ac02 03 64 8094ebdc03 c801 00 00 01 00 00 02
		01 01 00 00 03`
	checkGolden(t, []goldenFrame{
		{
			name:    "checks",
			golden:  `04 0000000000000000 ` + bodies,
			got:     AppendChecks(nil, &checks),
			decodes: func(b []byte) bool { return DecodeChecks(b, &gotChecks) == nil && sameLimits(gotChecks.Limits, want) },
		},
		{
			name:    "leases",
			golden:  `08 ` + bodies,
			got:     AppendLeases(nil, &leases),
			decodes: func(b []byte) bool { return DecodeLeases(b, &gotLeases) == nil && sameLimits(gotLeases.Limits, want) },
		},
	})
}

// A count without the limits that it announces, and a rule that there is not.
func TestLossesOutOfRange(t *testing.T) {
	for name, text := range map[string]string{
		"a group of none": "04 0000000000000000 01 00 80",
		"a group of 17":   "04 0000000000000000 01 00 91" + strings.Repeat(" 00 00 00 01", 17),
		"no rule":         "04 0000000000000000 01 00 81 00 00 00",
		"an unknown rule": "04 0000000000000000 01 00 81 00 00 00 03",
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
