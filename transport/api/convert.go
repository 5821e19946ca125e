package api

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/api/drosselv1"
)

// message returns the message that asks for a request, and shares nothing with it. The error wraps policy.ErrInvalid: of what a node would
// take, only limits other than token buckets, texts that are not UTF-8, and priorities of more than 32 bits can't be sent.
func message(req *policy.Request) (*drosselv1.CheckRequest, error) {
	if !utf8.ValidString(req.Policy) {
		return nil, fmt.Errorf("%w: Policy is not UTF-8", policy.ErrInvalid)
	}
	for name, value := range req.Attributes {
		if !utf8.ValidString(name) || !utf8.ValidString(value) {
			return nil, fmt.Errorf("%w: attribute %q is not UTF-8: give the key as Key or Parts, which are any bytes", policy.ErrInvalid, name)
		}
	}
	for unit := range req.Costs {
		if !utf8.ValidString(unit) {
			return nil, fmt.Errorf("%w: Costs has the unit %q, which is not UTF-8", policy.ErrInvalid, unit)
		}
	}
	if req.Priority != int(int32(req.Priority)) {
		return nil, fmt.Errorf("%w: Priority is %d, want %d to %d", policy.ErrInvalid, req.Priority, math.MinInt32, math.MaxInt32)
	}
	out := &drosselv1.CheckRequest{
		Policy: req.Policy, Attributes: maps.Clone(req.Attributes), Costs: maps.Clone(req.Costs), Priority: int32(req.Priority),
		CheckOnly: req.CheckOnly, Refund: req.Refund,
	}
	if req.Cost != 0 {
		out.Cost = proto.Int64(req.Cost)
	}
	switch {
	case len(req.Parts) == 1:
		out.Key = []byte(req.Parts[0])
	case req.Parts != nil:
		for _, part := range req.Parts {
			out.Parts = append(out.Parts, []byte(part))
		}
	case req.Key != "":
		out.Key = []byte(req.Key)
	}
	if l := req.Limit; l != nil {
		if l.Algorithm != bucket.TokenBucket {
			return nil, fmt.Errorf("%w: a %v in Limit can't be sent: write it into a policy", policy.ErrInvalid, l.Algorithm)
		}
		out.Limit = &drosselv1.Limit{Rate: policy.FormatRate(*l), Burst: proto.Int64(l.Burst)}
	}
	return out, nil
}

// sizeOf returns how much of a call a message takes. The error, which wraps policy.ErrInvalid, is that it is too large for any.
func sizeOf(msg *drosselv1.CheckRequest) (int, error) {
	size := proto.Size(msg) + 8 // its tag and length
	if size > maxCall {
		return 0, fmt.Errorf("%w: the request has %d bytes, want at most %d", policy.ErrInvalid, size, maxCall)
	}
	return size, nil
}

// read returns what a node has answered to one check.
func read(r *drosselv1.Result) (policy.Decision, error) {
	if e := r.GetError(); e != nil {
		switch codes.Code(e.GetCode()) {
		case codes.InvalidArgument:
			return policy.Decision{}, &told{e.GetMessage(), policy.ErrInvalid}
		case codes.NotFound:
			return policy.Decision{}, &told{e.GetMessage(), policy.ErrUnknownPolicy}
		case codes.Unavailable:
			return policy.Decision{}, &told{e.GetMessage(), policy.ErrUnavailable}
		}
		return policy.Decision{}, errUndecided
	}
	if r.GetDecision() == nil {
		return policy.Decision{}, errUndecided
	}
	return decided(r.GetDecision())
}

// told is an error that a node has told.
type told struct {
	text string
	of   error
}

func (e *told) Error() string { return e.text }
func (e *told) Unwrap() error { return e.of }

// errAnswer is wrapped by the error about an answer that no node gives.
var errAnswer = errors.New("not the answer of a node")

// decided reads a decision. An error wraps errUndecided, for nobody knows what was meant.
func decided(in *drosselv1.Decision) (policy.Decision, error) {
	d := policy.Decision{
		Allowed:      in.GetAllowed(),
		Degraded:     in.GetDegraded(),
		Overage:      in.GetOverage(),
		ShadowDenied: in.GetShadowDenied(),
		Never:        in.GetNever(),
		Policy:       in.GetPolicy(),
		LimitName:    in.GetLimitName(),
		Unit:         in.GetUnit(),
		Limit:        in.GetLimit(),
		Remaining:    in.GetRemaining(),
		Node:         in.GetNode(),
	}
	if by := in.GetDecidedBy(); drosselv1.DecidedBy_name[int32(by)] != "" {
		d.DecidedBy = policy.DecidedBy(by) // the numbers are the same
	}
	wait := in.GetRetryAfter()
	if d.Allowed {
		wait = in.GetWait()
	}
	for _, of := range []struct {
		into *time.Duration
		from *durationpb.Duration
	}{{&d.RetryAfter, wait}, {&d.ResetAfter, in.GetResetAfter()}, {&d.Window, in.GetWindow()}} {
		if of.from != nil && (of.from.CheckValid() != nil || of.from.AsDuration() < 0) {
			return policy.Decision{}, fmt.Errorf("%w: %w: a time of %v", errUndecided, errAnswer, of.from)
		}
		*of.into = of.from.AsDuration()
	}
	if d.Limit < 0 || d.Remaining < 0 {
		return policy.Decision{}, fmt.Errorf("%w: %w: %d of %d are left", errUndecided, errAnswer, d.Remaining, d.Limit)
	}
	return d, nil
}
