package transport

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

func TestLeasesRoundTrip(t *testing.T) {
	var got LeasesFrame // reused, so that what one frame leaves behind cannot leak into the next
	rapid.Check(t, func(t *rapid.T) {
		want := anyLeasesFrame().Draw(t, "frame")
		if err := DecodeLeases(AppendLeases(nil, &want), &got); err != nil {
			t.Fatal(err)
		}
		if !sameLeases(&got, &want) {
			t.Fatal(show(got, want))
		}
	})
}

func TestGrantsRoundTrip(t *testing.T) {
	var got GrantsFrame
	rapid.Check(t, func(t *rapid.T) {
		want := anyGrantsFrame().Draw(t, "frame")
		if err := DecodeGrants(AppendGrants(nil, &want), &got); err != nil {
			t.Fatal(err)
		}
		if !sameGrants(&got, &want) {
			t.Fatal(show(got, want))
		}
	})
}

// A frame cut at any byte is refused, but where a request or grant ends.
func TestCutLeases(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := anyLeasesFrame().Draw(t, "frame")
		frame := AppendLeases(nil, &whole)
		legal := map[int]int{} // length to number of requests
		for k := range len(whole.Requests) + 1 {
			legal[len(AppendLeases(nil, &LeasesFrame{Limits: whole.Limits, Requests: whole.Requests[:k]}))] = k
		}
		var got LeasesFrame
		for n := range frame {
			err := DecodeLeases(frame[:n], &got)
			k, ok := legal[n]
			want := LeasesFrame{Limits: whole.Limits, Requests: whole.Requests[:k]}
			switch {
			case !ok && !errors.Is(err, ErrFrame):
				t.Fatalf("cut to %d of %d bytes: %v, want ErrFrame", n, len(frame), err)
			case ok && (err != nil || !sameLeases(&got, &want)):
				t.Fatalf("cut to %d requests: %v\n%s", k, err, show(got, want))
			}
		}
	})
}

func TestCutGrants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := anyGrantsFrame().Draw(t, "frame")
		frame := AppendGrants(nil, &whole)
		legal := map[int]int{}
		for k := range len(whole.Grants) + 1 {
			legal[len(AppendGrants(nil, &GrantsFrame{Grants: whole.Grants[:k]}))] = k
		}
		var got GrantsFrame
		for n := range frame {
			err := DecodeGrants(frame[:n], &got)
			k, ok := legal[n]
			want := GrantsFrame{Grants: whole.Grants[:k]}
			switch {
			case !ok && !errors.Is(err, ErrFrame):
				t.Fatalf("cut to %d of %d bytes: %v, want ErrFrame", n, len(frame), err)
			case ok && (err != nil || !sameGrants(&got, &want)):
				t.Fatalf("cut to %d grants: %v\n%s", k, err, show(got, want))
			}
		}
	})
}

// What the receiver keeps is not overwritten by the next frame.
func TestUnderIsTheReceivers(t *testing.T) {
	send := func(under ...int64) []byte {
		return AppendLeases(nil, &LeasesFrame{Requests: []LeaseRequest{{Request: lease.Request{Under: under}}}})
	}
	var f LeasesFrame
	if err := DecodeLeases(send(1, 2), &f); err != nil {
		t.Fatal(err)
	}
	kept := f.Requests[0].Under
	if err := DecodeLeases(send(3, 4), &f); err != nil {
		t.Fatal(err)
	}
	if len(kept) != 2 || kept[0] != 1 || kept[1] != 2 {
		t.Errorf("%v, want 1 and 2", kept)
	}
}

// The boot of a holder is in its hello and does not cross again.
func TestIncarnationStaysHome(t *testing.T) {
	n := lease.Number{Incarnation: 42, Seq: 7}
	leases := LeasesFrame{Requests: []LeaseRequest{{Request: lease.Request{Number: n}}}}
	grants := GrantsFrame{Grants: []Grant{{Answer: lease.Answer{Number: n}}}}
	if err := DecodeLeases(AppendLeases(nil, &leases), &leases); err != nil {
		t.Fatal(err)
	}
	if err := DecodeGrants(AppendGrants(nil, &grants), &grants); err != nil {
		t.Fatal(err)
	}
	want := lease.Number{Seq: 7}
	if q, g := leases.Requests[0].Number, grants.Grants[0].Number; q != want || g != want {
		t.Errorf("read as %+v and %+v, want %+v", q, g, want)
	}
}

// A demand is a measurement: whatever it is, something sensible is sent, and what was read is sent on unchanged.
func TestDemand(t *testing.T) {
	sent := func(v float64) float64 {
		f := ChecksFrame{Checks: []Check{{Demand: lease.Demand{Tokens: 1, Checks: v}}}}
		if err := DecodeChecks(AppendChecks(nil, &f), &f); err != nil {
			t.Fatal(v, err)
		}
		return f.Checks[0].Demand.Checks
	}
	for _, c := range []struct{ demand, want float64 }{
		{0, 0}, {-1, 0}, {math.NaN(), 0}, {math.Inf(-1), 0}, {0.0004, 0}, {0.0006, 0.001}, {1.0 / 3, 0.333}, {250, 250},
		{maxDemand, maxDemand}, {1e13, maxDemand}, {1 << 62, maxDemand}, {math.MaxFloat64, maxDemand},
		{math.Inf(1), maxDemand},
	} {
		if got := sent(c.demand); got != c.want {
			t.Errorf("a demand of %v is read as %v, want %v", c.demand, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		once := sent(rapid.Float64().Draw(t, "demand"))
		if again := sent(once); again != once {
			t.Fatalf("%v is passed on as %v", once, again)
		}
	})
}

// Nothing of leases takes no byte: what is zero, or rounds to it, is not sent.
func TestNothingOfLeasesTakesNoByte(t *testing.T) {
	small := lease.Demand{Tokens: 0.0001, Checks: 0.0004}
	plain := AppendChecks(nil, &ChecksFrame{Checks: []Check{{}}})
	if b := AppendChecks(nil, &ChecksFrame{Checks: []Check{{Demand: small}}}); string(b) != string(plain) {
		t.Errorf("a demand of nothing: % x, want % x", b, plain)
	}
	for _, status := range []Status{Decided, NotOwner, Full, Unreachable} {
		a := Answer{Status: status}
		plain := AppendAnswers(nil, &AnswersFrame{Answers: []Answer{a}})
		a.Deny.Cost = 5
		if status != Decided {
			a.Offer, a.Deny.For = true, 1
		}
		if b := AppendAnswers(nil, &AnswersFrame{Answers: []Answer{a}}); string(b) != string(plain) {
			t.Errorf("%+v: % x, want % x", a, b, plain)
		}
	}
}

// The largest frames that the constants allow fit, whatever they hold.
func TestLargestLeasesAndGrantsFit(t *testing.T) {
	id := lease.ID{Epoch: math.MaxUint64, Number: math.MaxUint64}
	number := lease.Number{Seq: math.MaxUint64}
	var leases LeasesFrame
	limits, under := make([]bucket.Limit, maxStates), make([]int64, maxStates)
	for i := range maxStates {
		limits[i] = bucket.Limit{
			Algorithm: bucket.CalendarWindow, Count: bucket.MaxTokens, Burst: bucket.MaxTokens, OwnerLoss: bucket.LossFull,
			Calendar: bucket.Year, Zone: "America/Argentina/ComodRivadavia", // none is longer
		}
		under[i] = math.MaxInt64
	}
	for range MaxLeaseRequests {
		leases.Limits = append(leases.Limits, LimitsBody{Ref: MaxLimitsRefs - 1, Limits: limits})
		leases.Requests = append(leases.Requests, LeaseRequest{Limits: MaxLimitsRefs - 1, Request: lease.Request{
			Number: number, Lease: id, Spent: math.MaxInt64, Under: under, Left: bucket.MaxTokens, Close: true,
			Demand: lease.Demand{Tokens: maxDemand, Checks: maxDemand},
		}})
	}
	var grants GrantsFrame
	for range MaxGrants {
		grants.Grants = append(grants.Grants, Grant{Answer: lease.Answer{
			Number: number, Lease: id, Tokens: bucket.MaxTokens, TTL: maxTerm, Next: maxTerm, Recall: true,
			Deny:  lease.Deny{For: maxTerm, Cost: bucket.MaxTokens},
			Level: lease.Level{Which: maxStates - 1, Remaining: bucket.MaxTokens, ResetAfter: math.MaxInt64},
		}})
	}
	l, g := AppendLeases(nil, &leases), AppendGrants(nil, &grants)
	t.Logf("leases %d, grants %d of %d bytes", len(l), len(g), MaxFrameBytes)
	if len(l) > MaxFrameBytes || len(g) > MaxFrameBytes {
		t.Errorf("a frame of %d or %d bytes, want at most %d", len(l), len(g), MaxFrameBytes)
	}
	if err := errors.Join(DecodeLeases(l, new(LeasesFrame)), DecodeGrants(g, new(GrantsFrame))); err != nil {
		t.Error(err)
	}
}

// Values outside their ranges are refused, not clamped: each would lend, or take back, what is not there.
func TestLeasesOutOfRange(t *testing.T) {
	leases := func(q lease.Request) error {
		return DecodeLeases(AppendLeases(nil, &LeasesFrame{Requests: []LeaseRequest{{Request: q}}}), new(LeasesFrame))
	}
	grants := func(a lease.Answer) error {
		return DecodeGrants(AppendGrants(nil, &GrantsFrame{Grants: []Grant{{Answer: a}}}), new(GrantsFrame))
	}
	answers := func(d lease.Deny) error {
		return DecodeAnswers(AppendAnswers(nil, &AnswersFrame{Answers: []Answer{{Deny: d}}}), new(AnswersFrame))
	}
	ref := LeasesFrame{Requests: []LeaseRequest{{Limits: MaxLimitsRefs}}}
	group := LeasesFrame{Limits: []LimitsBody{{Limits: make([]bucket.Limit, 17)}}}
	// The last bytes of a frame are those of what is at its end, so they can be set to what no sender says.
	ending := func(frame []byte, cut int, end ...byte) []byte { return append(frame[:len(frame)-cut], end...) }
	demand := binary.AppendUvarint(nil, maxDemand*1000+1)
	check := AppendChecks(nil, &ChecksFrame{Checks: []Check{{Demand: lease.Demand{Tokens: 1}}}})
	request := AppendLeases(nil, &LeasesFrame{Requests: []LeaseRequest{{Request: lease.Request{Under: []int64{1}}}}})
	plain := AppendLeases(nil, &LeasesFrame{Requests: make([]LeaseRequest, 1)})
	plain[2] = requestUnknown
	grant := AppendGrants(nil, &GrantsFrame{Grants: make([]Grant, 1)})
	grant[1] = grantUnknown
	deny := AppendAnswers(nil, &AnswersFrame{Answers: []Answer{{Deny: lease.Deny{For: 1, Cost: 1}}}})
	for name, err := range map[string]error{
		"a check's demand":        DecodeChecks(ending(check, 1, demand...), new(ChecksFrame)),
		"a request's limits":      DecodeLeases(AppendLeases(nil, &ref), new(LeasesFrame)),
		"a group of 17":           DecodeLeases(AppendLeases(nil, &group), new(LeasesFrame)),
		"negative spent":          leases(lease.Request{Spent: -1}),
		"negative left":           leases(lease.Request{Left: -1}),
		"left above MaxTokens":    leases(lease.Request{Left: bucket.MaxTokens + 1}),
		"negative under":          leases(lease.Request{Under: []int64{-1}}),
		"under of 17":             leases(lease.Request{Under: make([]int64, 17)}),
		"under of none":           DecodeLeases(ending(request, 2, 0), new(LeasesFrame)),
		"a request's flags":       DecodeLeases(plain, new(LeasesFrame)),
		"negative tokens":         grants(lease.Answer{Tokens: -1}),
		"tokens above MaxTokens":  grants(lease.Answer{Tokens: bucket.MaxTokens + 1}),
		"negative ttl":            grants(lease.Answer{TTL: -1}),
		"ttl above an hour":       grants(lease.Answer{TTL: time.Hour + 1}),
		"negative next":           grants(lease.Answer{Next: -1}),
		"next above an hour":      grants(lease.Answer{Next: time.Hour + 1}),
		"which above 15":          grants(lease.Answer{Level: lease.Level{Which: 16}}),
		"negative remaining":      grants(lease.Answer{Level: lease.Level{Remaining: -1}}),
		"remaining above":         grants(lease.Answer{Level: lease.Level{Remaining: bucket.MaxTokens + 1}}),
		"negative reset after":    grants(lease.Answer{Level: lease.Level{ResetAfter: -1}}),
		"a grant's flags":         DecodeGrants(grant, new(GrantsFrame)),
		"a grant's deny":          grants(lease.Answer{Deny: lease.Deny{For: time.Hour + 1}}),
		"a grant's deny cost":     grants(lease.Answer{Deny: lease.Deny{For: 1, Cost: bucket.MaxTokens + 1}}),
		"deny above an hour":      answers(lease.Deny{For: time.Hour + 1}),
		"deny of a negative cost": answers(lease.Deny{For: 1, Cost: -1}),
		"deny cost above":         answers(lease.Deny{For: 1, Cost: bucket.MaxTokens + 1}),
		"deny for no time":        DecodeAnswers(ending(deny, 2, 0, 1), new(AnswersFrame)),
	} {
		if !errors.Is(err, ErrFrame) {
			t.Errorf("%s: %v, want ErrFrame", name, err)
		}
	}
}
