package api

import (
	"fmt"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/api/drosselv1"
)

// request returns the request that a message asks for. It shares the message's maps. The error wraps policy.ErrInvalid
// and names the field.
func request(in *drosselv1.CheckRequest) (policy.Request, error) {
	req := policy.Request{
		Policy:     in.GetPolicy(),
		Attributes: in.GetAttributes(),
		Cost:       in.GetCost(),
		Costs:      in.GetCosts(),
		Priority:   int(in.GetPriority()),
		CheckOnly:  in.GetCheckOnly(),
		Refund:     in.GetRefund(),
	}
	if in.GetKey() != nil { // present, perhaps empty: a part is a value even then
		req.Parts = []string{string(in.GetKey())}
	}
	if len(in.GetParts()) > 0 {
		if req.Parts != nil {
			return policy.Request{}, fmt.Errorf("%w: key and parts: want one of them", policy.ErrInvalid)
		}
		for _, part := range in.GetParts() {
			req.Parts = append(req.Parts, string(part))
		}
	}
	if in != nil && in.Cost != nil && *in.Cost == 0 {
		req.CheckOnly = true
	}
	if l := in.GetLimit(); l != nil {
		limit, err := inline(l)
		if err != nil {
			return policy.Request{}, err
		}
		req.Limit = &limit
	}
	return req, nil
}

// inline returns the limit that a request brings along.
func inline(in *drosselv1.Limit) (bucket.Limit, error) {
	limit, err := policy.ParseRate(in.GetRate())
	if err != nil {
		return bucket.Limit{}, fmt.Errorf("%w: limit.rate: %w", policy.ErrInvalid, err)
	}
	if in.Burst != nil {
		limit.Burst = in.GetBurst()
	}
	if err := limit.Validate(); err != nil {
		return bucket.Limit{}, fmt.Errorf("%w: limit.burst: %w", policy.ErrInvalid, err)
	}
	return limit, nil
}
