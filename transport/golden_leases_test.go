package transport

import (
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

// What checks and answers say of leases, and the frames about them.
func TestGoldenLeases(t *testing.T) {
	id := bucket.ID{Hi: 0x1112131415161718, Lo: 0x2122232425262728}
	held := lease.ID{Epoch: 0x0102030405060708, Number: 300}
	checks := ChecksFrame{Checks: []Check{
		{ID: id, Number: 5, Cost: 1, Within: time.Millisecond, Look: true, Hop: 1, Leases: true,
			Demand: lease.Demand{Tokens: 0.3, Checks: 1}},
		{ID: id, Number: 6, Leases: true},
		{ID: id, Number: 7, Demand: lease.Demand{Checks: 0.001}},
	}}
	answers := AnswersFrame{Dequeued: 7, Answers: []Answer{
		{Number: 5, Offer: true, Decision: bucket.Decision{Allowed: true, Remaining: 1}},
		{Number: 6, Which: 2, Deny: lease.Deny{For: 300, Cost: 128}, Decision: bucket.Decision{RetryAfter: 9}},
		{Number: 7, Offer: true, Deny: lease.Deny{For: 1}, By: "n2"},
	}}
	leases := LeasesFrame{
		Limits: []LimitsBody{{Ref: 300, Limits: []bucket.Limit{{Count: 100, Per: time.Second, Burst: 200}}}},
		Requests: []LeaseRequest{
			{ID: id, Limits: 300, Request: lease.Request{
				Number: lease.Number{Seq: 1}, Demand: lease.Demand{Tokens: 0.3, Checks: 1},
			}},
			{ID: id, Limits: 2, Request: lease.Request{
				Number: lease.Number{Seq: 128}, Lease: held, Spent: 200, Under: []int64{0, 129}, Left: 3, Close: true,
			}},
		},
	}
	grants := GrantsFrame{Grants: []Grant{
		{ID: id, Answer: lease.Answer{Recall: true}},
		{ID: id, Answer: lease.Answer{
			Number: lease.Number{Seq: 128}, Lease: held, Tokens: 200, TTL: time.Second, Next: 300,
			Deny:  lease.Deny{For: 9, Cost: 4},
			Level: lease.Level{Which: 1, Remaining: 128, ResetAfter: 10},
		}},
		{ID: id, Answer: lease.Answer{Number: lease.Number{Seq: 2}, Next: 1}},
	}}
	var gotChecks ChecksFrame
	var gotAnswers AnswersFrame
	var gotLeases LeasesFrame
	var gotGrants GrantsFrame
	checkGolden(t, []goldenFrame{
		{
			name: "checks",
			golden: `04 0000000000000000 00
				1b 1112131415161718 2122232425262728 05 00 01 e807 ac02 e807
				08 1112131415161718 2122232425262728 06 00 00 00
				10 1112131415161718 2122232425262728 07 00 00 00 00 01`,
			got:     AppendChecks(nil, &checks),
			decodes: func(b []byte) bool { return DecodeChecks(b, &gotChecks) == nil && sameChecks(&gotChecks, &checks) },
		},
		{
			name: "answers",
			golden: `05 07
				28 05 00 01 00 00
				40 06 02 00 09 00 ac02 8001
				70 07 02 6e32 00 00 00 00 01 00`,
			got: AppendAnswers(nil, &answers),
			decodes: func(b []byte) bool {
				return DecodeAnswers(b, &gotAnswers) == nil && sameAnswers(&gotAnswers, &answers)
			},
		},
		{
			name: "leases",
			golden: `08 01 ac02 00 01 00 00 c801 8094ebdc03 64
				08 1112131415161718 2122232425262728 ac02 01 00 00 ac02 e807
				07 1112131415161718 2122232425262728 02 8001 0102030405060708 ac02 c801 03 02 00 8101`,
			got:     AppendLeases(nil, &leases),
			decodes: func(b []byte) bool { return DecodeLeases(b, &gotLeases) == nil && sameLeases(&gotLeases, &leases) },
		},
		{
			name: "grants",
			golden: `09
				01 1112131415161718 2122232425262728 00
				7e 1112131415161718 2122232425262728 8001 0102030405060708 ac02 c801 8094ebdc03 ac02 09 04 01 8001 0a
				10 1112131415161718 2122232425262728 02 01`,
			got:     AppendGrants(nil, &grants),
			decodes: func(b []byte) bool { return DecodeGrants(b, &gotGrants) == nil && sameGrants(&gotGrants, &grants) },
		},
	})
}
