package node

import (
	"errors"
	"fmt"
	"hash/maphash"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/bucket/table"
)

// Handle is a policy of a node, ready for use: a check by handle matches and looks up nothing. It stays good as long as
// the node. Safe for concurrent use.
type Handle struct {
	node   *Node
	name   string
	policy *policy.Policy // nil if inline and unknown
	inline bool
	leased bool // its groups may be lent
	limits []policy.Limit
	group  *table.Group

	plain  bool      // all limits cost a request the same, and nothing is weighed
	spoken []speaker // by limit

	rules   rules
	shares  shares
	counts  *counts
	memo    *memo     // nil if inline
	sampler *sampler  // nil if every check is decided
	with    []*Handle // the policies that it is decided with
}

// speaker is what decisions say of the limit that speaks.
type speaker struct {
	name     string
	capacity int64
	overage  int64 // with less than that remaining a quota is exceeded
	window   time.Duration
}

// Handle returns the handle of a policy. The error wraps policy.ErrUnknownPolicy.
func (n *Node) Handle(name string) (*Handle, error) {
	if h := n.handles[name]; h != nil {
		return h, nil
	}
	_, err := n.policies.Policy(name)
	return nil, err
}

// policyOf returns the handle that a request is decided by; the caller calls done.
func (n *Node) policyOf(req *policy.Request) (*Handle, error) {
	if req.Limit != nil {
		return n.inlineHandle(req)
	}
	if req.Policy == "" {
		return nil, fmt.Errorf("%w: it names no policy; this node knows %s", policy.ErrInvalid, n.policyNames())
	}
	return n.Handle(req.Policy)
}

// newHandle interns the limits of a policy.
func (n *Node) newHandle(p *policy.Policy) (*Handle, error) {
	h := &Handle{
		node: n, name: p.Name, policy: p, limits: p.Limits, leased: p.Leased(),
		counts: new(counts), memo: &memo{seed: maphash.MakeSeed()}, sampler: newSampler(p),
	}
	return h, h.intern()
}

// inlineLimitName names the limit of a request that brought its own.
const inlineLimitName = "inline"

// inlineHandle makes a handle for one request with a limit of its own. Its checks are counted together: what clients
// write must not become labels.
func (n *Node) inlineHandle(req *policy.Request) (*Handle, error) {
	h := &Handle{node: n, name: req.Policy, inline: true, leased: req.Limit.Algorithm.Lends(), counts: &n.inlineCounts}
	if p, err := n.policies.Policy(req.Policy); err == nil {
		h.policy = p
	}
	h.limits = []policy.Limit{{Name: inlineLimitName, Limit: *req.Limit}}
	switch err := h.intern(); {
	case errors.Is(err, table.ErrTooManyLimits):
		return nil, fmt.Errorf("%w: %w", policy.ErrUnavailable, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", policy.ErrInvalid, err)
	}
	return h, nil
}

func (h *Handle) intern() (err error) {
	limits := make([]bucket.Limit, len(h.limits))
	h.spoken = make([]speaker, len(h.limits))
	for i, l := range h.limits {
		limits[i], h.spoken[i] = l.Limit, speaker{l.Name, l.Capacity(), l.Overage(), l.Window()}
	}
	h.plain = h.inline || h.policy.Plain()
	h.rules = rulesOf(h.limits)
	h.group, err = h.node.limits.Intern(limits)
	return err
}

// done gives back what an inline handle holds; the node's own handles stay.
func (h *Handle) done() {
	if h.inline {
		h.group.Release()
	}
}
