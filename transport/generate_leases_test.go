package transport

import (
	"math"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

func anyDemand() *rapid.Generator[lease.Demand] {
	return rapid.Custom(func(t *rapid.T) lease.Demand {
		return lease.Demand{
			Tokens: float64(numbers(maxDemand*1000).Draw(t, "tokens")) / 1000,
			Checks: float64(numbers(maxDemand*1000).Draw(t, "checks")) / 1000,
		}
	})
}

func anyTerm() *rapid.Generator[time.Duration] {
	return rapid.Map(numbers(int64(maxTerm)), func(n int64) time.Duration { return time.Duration(n) })
}

func anyDeny() *rapid.Generator[lease.Deny] {
	return rapid.Custom(func(t *rapid.T) (d lease.Deny) {
		if d.For = anyTerm().Draw(t, "for"); d.For > 0 {
			d.Cost = numbers(bucket.MaxTokens).Draw(t, "cost")
		}
		return d
	})
}

func anyLeaseID() *rapid.Generator[lease.ID] {
	return rapid.Custom(func(t *rapid.T) lease.ID {
		if rapid.Bool().Draw(t, "none") {
			return lease.ID{}
		}
		return lease.ID{Epoch: rapid.Uint64().Draw(t, "epoch"), Number: rapid.Uint64().Draw(t, "number")}
	})
}

func anyLeasesFrame() *rapid.Generator[LeasesFrame] {
	request := rapid.Custom(func(t *rapid.T) LeaseRequest {
		return LeaseRequest{
			ID:     anyID().Draw(t, "id"),
			Limits: anyRef().Draw(t, "limits"),
			Request: lease.Request{
				Number: lease.Number{Seq: rapid.Uint64().Draw(t, "seq")},
				Lease:  anyLeaseID().Draw(t, "lease"),
				Spent:  numbers(math.MaxInt64).Draw(t, "spent"),
				Under:  rapid.SliceOfN(numbers(math.MaxInt64), 0, maxStates).Draw(t, "under"),
				Left:   numbers(bucket.MaxTokens).Draw(t, "left"),
				Close:  rapid.Bool().Draw(t, "close"),
				Demand: anyDemand().Draw(t, "demand"),
			},
		}
	})
	return rapid.Custom(func(t *rapid.T) LeasesFrame {
		return LeasesFrame{
			Limits:   anyLimits().Draw(t, "bodies"),
			Requests: rapid.SliceOfN(request, 0, 12).Draw(t, "requests"),
		}
	})
}

func anyGrantsFrame() *rapid.Generator[GrantsFrame] {
	grant := rapid.Custom(func(t *rapid.T) Grant {
		return Grant{
			ID: anyID().Draw(t, "id"),
			Answer: lease.Answer{
				Number: lease.Number{Seq: rapid.Uint64().Draw(t, "seq")},
				Lease:  anyLeaseID().Draw(t, "lease"),
				Tokens: numbers(bucket.MaxTokens).Draw(t, "tokens"),
				TTL:    anyTerm().Draw(t, "ttl"),
				Next:   anyTerm().Draw(t, "next"),
				Deny:   anyDeny().Draw(t, "deny"),
				Recall: rapid.Bool().Draw(t, "recall"),
				Level: lease.Level{
					Which:      uint8(rapid.IntRange(0, maxStates-1).Draw(t, "which")),
					Remaining:  numbers(bucket.MaxTokens).Draw(t, "remaining"),
					ResetAfter: time.Duration(numbers(math.MaxInt64).Draw(t, "reset after")),
				},
			},
		}
	})
	return rapid.Custom(func(t *rapid.T) GrantsFrame {
		return GrantsFrame{Grants: rapid.SliceOfN(grant, 0, 12).Draw(t, "grants")}
	})
}

// sameLeases says whether two frames carry the same; nil and empty slices are alike.
func sameLeases(a, b *LeasesFrame) bool {
	return sameLimits(a.Limits, b.Limits) && slices.EqualFunc(a.Requests, b.Requests, func(a, b LeaseRequest) bool {
		return a.ID == b.ID && a.Limits == b.Limits && a.Number == b.Number && a.Lease == b.Lease &&
			a.Spent == b.Spent && slices.Equal(a.Under, b.Under) && a.Left == b.Left && a.Close == b.Close &&
			a.Demand == b.Demand
	})
}

func sameGrants(a, b *GrantsFrame) bool { return slices.Equal(a.Grants, b.Grants) }

// hundredRequests is an ordinary frame of renewals: no new limits, no costs that differ.
func hundredRequests() *LeasesFrame {
	f := &LeasesFrame{}
	for i := range uint64(100) {
		f.Requests = append(f.Requests, LeaseRequest{
			ID: bucket.ID{Hi: i << 32, Lo: ^i}, Limits: uint32(i % 3),
			Request: lease.Request{
				Number: lease.Number{Seq: i + 1}, Lease: lease.ID{Epoch: 1 << 60, Number: i}, Spent: int64(i) << 10,
				Left: int64(i), Close: i%10 == 9, Demand: lease.Demand{Tokens: float64(i) / 8, Checks: float64(i)},
			},
		})
	}
	return f
}

func hundredGrants() *GrantsFrame {
	f := &GrantsFrame{}
	for i := range uint64(100) {
		f.Grants = append(f.Grants, Grant{
			ID: bucket.ID{Hi: i << 32, Lo: ^i},
			Answer: lease.Answer{
				Number: lease.Number{Seq: i + 1}, Lease: lease.ID{Epoch: 1 << 60, Number: i}, Tokens: int64(i),
				TTL: 2 * time.Second, Next: time.Duration(i%2) * 25 * time.Millisecond, Recall: i%20 == 0,
				Level: lease.Level{Remaining: int64(i), ResetAfter: time.Second},
			},
		})
	}
	return f
}
