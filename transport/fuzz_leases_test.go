package transport

import (
	"errors"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

func FuzzDecodeLeases(f *testing.F) {
	f.Add([]byte{})
	f.Add(AppendLeases(nil, &LeasesFrame{}))
	f.Add(AppendLeases(nil, hundredRequests()))
	f.Add(AppendLeases(nil, &LeasesFrame{
		Limits: []LimitsBody{{Ref: 1, Limits: []bucket.Limit{{Count: 1, Per: 1, Burst: 1}, {}}}},
		Requests: []LeaseRequest{
			{Limits: 1, Request: lease.Request{Number: lease.Number{Seq: 1}, Demand: lease.Demand{Tokens: maxDemand}}},
			{Request: lease.Request{Lease: lease.ID{Epoch: 1}, Under: make([]int64, 16), Left: bucket.MaxTokens, Close: true}},
		},
	}))
	f.Fuzz(func(t *testing.T, frame []byte) {
		var got, again LeasesFrame
		err := DecodeLeases(frame, &got)
		if held := heldByLeases(&got); held > heldPerByte*len(frame)+1024 {
			t.Errorf("%d bytes hold %d", len(frame), held)
		}
		if err != nil {
			if !errors.Is(err, ErrFrame) {
				t.Error(err)
			}
			return
		}
		if err := DecodeLeases(AppendLeases(nil, &got), &again); err != nil || !sameLeases(&got, &again) {
			t.Error(err, show(again, got))
		}
		for _, q := range got.Requests {
			if q.Spent < 0 || q.Left < 0 || q.Left > bucket.MaxTokens || q.Limits >= MaxLimitsRefs ||
				q.Number.Incarnation != 0 || len(q.Under) > maxStates {
				t.Errorf("%+v is out of range", q)
			}
			for _, u := range q.Under {
				if u < 0 {
					t.Errorf("%+v is out of range", q)
				}
			}
			inRange(t, q.Demand)
		}
		limitsInRange(t, got.Limits)
	})
}

func FuzzDecodeGrants(f *testing.F) {
	f.Add([]byte{})
	f.Add(AppendGrants(nil, &GrantsFrame{}))
	f.Add(AppendGrants(nil, hundredGrants()))
	f.Add(AppendGrants(nil, &GrantsFrame{Grants: []Grant{
		{Answer: lease.Answer{Recall: true}},
		{Answer: lease.Answer{Deny: lease.Deny{For: time.Hour, Cost: bucket.MaxTokens}, Level: lease.Level{Which: 15}}},
	}}))
	f.Fuzz(func(t *testing.T, frame []byte) {
		var got, again GrantsFrame
		err := DecodeGrants(frame, &got)
		if held := heldByGrants(&got); held > heldPerByte*len(frame)+1024 {
			t.Errorf("%d bytes hold %d", len(frame), held)
		}
		if err != nil {
			if !errors.Is(err, ErrFrame) {
				t.Error(err)
			}
			return
		}
		if err := DecodeGrants(AppendGrants(nil, &got), &again); err != nil || !sameGrants(&got, &again) {
			t.Error(err, show(again, got))
		}
		for _, g := range got.Grants {
			if min(g.Tokens, int64(g.TTL), int64(g.Next), g.Level.Remaining, int64(g.Level.ResetAfter)) < 0 ||
				max(g.Tokens, g.Level.Remaining) > bucket.MaxTokens || max(g.TTL, g.Next) > time.Hour ||
				g.Level.Which >= maxStates || g.Number.Incarnation != 0 {
				t.Errorf("%+v is out of range", g)
			}
			denyInRange(t, g.Deny)
		}
	})
}
