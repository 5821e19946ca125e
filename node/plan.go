package node

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/bucket/table"
)

// plan is one list of limits of a policy, ready for use: its own, a tier's, an override's, a key's, or of one of these what is in shadow mode. It
// is good for as long as anybody uses it.
type plan struct {
	node   *Node
	name   string
	policy *policy.Policy // nil if inline and unknown
	inline bool
	// version is that of the policies; 0 if inline.
	version uint64
	entry   uint64 // of the limits store, that the limits are by; 0 if they are not
	rule    *rule  // of the policy; nil if inline or in shadow mode
	leased  bool   // its groups may be lent
	strict  bool   // Redis decides

	strictness policy.Strictness // how
	shards     [][]bucket.Limit  // the limits of each of the groups in Redis that a key has, if there are several
	limits     []policy.Limit
	group      *table.Group

	plain  bool      // all limits cost a request the same, and nothing is weighed
	spoken []speaker // by limit

	rules   rules
	shares  *shares
	counts  *counts
	memo    *memo    // nil if inline, or if the key is a secret
	sampler *sampler // nil if every check is decided
}

// speaker is what decisions say of the limit that speaks.
type speaker struct {
	name     string
	unit     string
	capacity int64
	overage  int64 // with less than that remaining a quota is exceeded
	window   time.Duration
}

// newPlan interns the limits of a variant of a policy, or, by the name of an entry, those of keys that have it.
func (n *Node) newPlan(p *policy.Policy, version uint64, c *counts, m *memo, entry uint64) (*plan, error) {
	pl := &plan{
		node: n, version: version, entry: entry, name: p.Name, policy: p, limits: p.Limits, leased: p.Leased(), strict: p.IsStrict(), strictness: p.Strict,
		counts: c, memo: m,
	}
	if entry == 0 {
		pl.sampler = newSampler(p)
	}
	if err := pl.intern(); err != nil {
		return nil, err
	}
	if n := pl.strictness.Shards; n > 1 {
		pl.shards = sharded(pl.group.Limits(), n)
	}
	pl.shares = new(shares)
	runtime.AddCleanup(pl, pinned.release, pinned{pl.group, pl.shares}) // checks under way may outlive the set of policies
	return pl, nil
}

// pinned are the limits that a plan uses.
type pinned struct {
	group  *table.Group
	shares *shares
}

func (p pinned) release() {
	p.group.Release()
	p.shares.release()
}

// inlineLimitName names the limit of a request that brought its own.
const inlineLimitName = "inline"

// inlinePlan makes a plan for one request with a limit of its own. Its checks are counted together: what clients
// write must not become labels. The caller calls done.
func (n *Node) inlinePlan(req *policy.Request) (*plan, error) {
	pl := &plan{node: n, name: req.Policy, inline: true, leased: req.Limit.Algorithm.Lends(), counts: &n.inlineCounts}
	if r := n.book.Load().rules[req.Policy]; r != nil {
		pl.policy = r.policy
	}
	pl.limits = []policy.Limit{{Name: inlineLimitName, Limit: *req.Limit}}
	switch err := pl.intern(); {
	case errors.Is(err, table.ErrTooManyLimits):
		return nil, fmt.Errorf("%w: %w", policy.ErrUnavailable, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", policy.ErrInvalid, err)
	}
	return pl, nil
}

func (pl *plan) intern() (err error) {
	limits := make([]bucket.Limit, len(pl.limits))
	pl.spoken = make([]speaker, len(pl.limits))
	for i, l := range pl.limits {
		limits[i], pl.spoken[i] = l.Limit, speaker{l.Name, cmp.Or(l.Unit, policy.Requests), l.Capacity(), l.Overage(), l.Window()}
		if !pl.inline {
			limits[i].Tag = tagOf(pl.name, l.Name)
		}
	}
	pl.plain = pl.inline || pl.policy.Plain()
	lacks := func(int) bool { return false }
	if !pl.inline {
		lacks = pl.policy.Lacks
	}
	pl.rules = rulesOf(pl.limits, lacks)
	pl.group, err = pl.node.limits.InternFor(limits, pl.version, pl.entry)
	return err
}

// tagOf tells a limit from all others, on all nodes.
func tagOf(policy, limit string) uint64 {
	return max(1, xxhash.Sum64String(policy+"\x00"+limit)) // neither has a zero byte in it
}

// done gives back what an inline plan holds; others are given up when nobody uses them any more.
func (pl *plan) done() {
	if pl.inline {
		pl.group.Release()
	}
}
