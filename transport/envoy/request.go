package envoy

import (
	"fmt"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
)

const (
	// MaxDescriptors bounds the descriptors of one request. Routes have a handful.
	MaxDescriptors = 64
	// MaxEntries bounds the entries of one descriptor.
	MaxEntries = 64
)

// asked is what the limiter is asked about a request, and of which descriptor each question is.
type asked struct {
	reqs   []policy.Request
	places []int
}

// requests says what the limiter is asked about a request. A descriptor that gives back nothing is not asked about. Errors wrap
// policy.ErrInvalid.
func requests(in *rls.RateLimitRequest) (a asked, err error) {
	descriptors := in.GetDescriptors()
	switch {
	case in.GetDomain() == "":
		return a, fmt.Errorf("%w: domain is empty: name one, which is the domain of the filter in Envoy", policy.ErrInvalid)
	case len(descriptors) == 0:
		return a, fmt.Errorf("%w: descriptors is empty: send at least one", policy.ErrInvalid)
	case len(descriptors) > MaxDescriptors:
		return a, fmt.Errorf("%w: %d descriptors, want at most %d", policy.ErrInvalid, len(descriptors), MaxDescriptors)
	}
	a = asked{make([]policy.Request, 0, len(descriptors)), make([]int, 0, len(descriptors))}
	for i, d := range descriptors {
		hits := uint64(max(in.GetHitsAddend(), 1)) // 0 can't be told from absent
		if own := d.GetHitsAddend(); own != nil {
			hits = own.GetValue()
		}
		if hits == 0 && d.GetIsNegativeHits() {
			continue
		}
		req := policy.Request{
			Cost:      int64(min(hits, bucket.MaxTokens)), // what is above fits into no limit, and neither does this but into the largest
			CheckOnly: hits == 0,
			Refund:    d.GetIsNegativeHits(),
		}
		if err := describe(&req, in.GetDomain(), d); err != nil {
			return a, fmt.Errorf("%w: descriptor %d: %w", policy.ErrInvalid, i+1, err)
		}
		a.reqs, a.places = append(a.reqs, req), append(a.places, i)
	}
	return a, nil
}

// describe says in the request what a descriptor says of it.
func describe(req *policy.Request, domain string, d *common.RateLimitDescriptor) error {
	entries := d.GetEntries()
	if len(entries) > MaxEntries {
		return fmt.Errorf("%d entries, want at most %d", len(entries), MaxEntries)
	}
	for i, e := range entries {
		if e.GetKey() == "" {
			return fmt.Errorf("entry %d: key is empty: name one", i+1)
		}
	}
	if d.GetLimit() != nil {
		return override(req, domain, d)
	}
	req.Attributes = attributes(domain, entries)
	return nil
}

func attributes(domain string, entries []*common.RateLimitDescriptor_Entry) map[string]string {
	var room [8]string
	keys := room[:0]
	for _, e := range entries {
		keys = append(keys, e.GetKey())
	}
	all := reserved(make(map[string]string, len(entries)+3))
	for _, e := range entries {
		all[fresh(escaped(e.GetKey()), all)] = AttributeValue(e.GetValue())
	}
	all[DomainAttribute], all[DescriptorAttribute] = domain, DescriptorText(keys)
	delete(all, notAttribute)
	return all
}
