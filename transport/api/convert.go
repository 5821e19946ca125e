package api

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/api/drosselv1"
)

// message returns the message that asks for a request. The error wraps policy.ErrInvalid: of what a node would take, only limits other than
// token buckets, and texts that are not UTF-8, can't be sent.
func message(req *policy.Request) (*drosselv1.CheckRequest, error) {
	out := &drosselv1.CheckRequest{
		Policy: req.Policy, Attributes: req.Attributes, Costs: req.Costs, Priority: int32(req.Priority), CheckOnly: req.CheckOnly,
		Refund: req.Refund,
	}
	if req.Cost != 0 {
		out.Cost = &req.Cost
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
		out.Limit = &drosselv1.Limit{Rate: policy.FormatRate(*l), Burst: &l.Burst}
	}
	if !utf8.ValidString(req.Policy) {
		return nil, fmt.Errorf("%w: Policy is not UTF-8", policy.ErrInvalid)
	}
	for name, value := range req.Attributes {
		if !utf8.ValidString(name) || !utf8.ValidString(value) {
			return nil, fmt.Errorf("%w: attribute %q is not UTF-8: give the key as Key or Parts, which are any bytes", policy.ErrInvalid, name)
		}
	}
	return out, nil
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
