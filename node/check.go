package node

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/bucket/table"
)

// Check decides one request: it takes the cost from every limit of the policy that it names, or if it names none of all policies that
// match it, or from none. A denial is a Decision and not an error. It blocks at most for the deadline, and only if another node owns the key and what that has lent here
// does not decide.
//
// The error wraps policy.ErrInvalid or policy.ErrUnknownPolicy if the request is wrong, policy.ErrUnavailable if the
// node does not run, or is the error of ctx; nothing is taken then, except that a request already under way to its
// owner when ctx ends may be charged. Safe for concurrent use.
func (n *Node) Check(ctx context.Context, req policy.Request) (d policy.Decision, err error) {
	if err := n.accepts(ctx); err != nil {
		return d, err
	}
	if req.Limit != nil {
		pl, err := n.inlinePlan(&req)
		if err != nil {
			return d, err
		}
		defer pl.done()
		err = pl.check(ctx, &req, &d)
		return d, err
	}
	b := n.book.Load()
	if req.Policy == "" {
		err = n.choose(ctx, b, nil, nil, &req, &d)
		return d, err
	}
	r, err := b.rule(req.Policy) // 1 policy: which limits apply
	if err == nil {
		err = r.check(ctx, n, &req, &d)
	}
	return d, err
}

// Check is Node.Check for the policy of the handle; Request.Policy and Request.Limit are not looked at. It does not
// allocate if this node owns the key, and key and policy name have at most 100 bytes together, but for one small entry
// in some hundred checks of keys not asked for lately, and if the policy has neither conditions nor others that are decided with it.
func (h *Handle) Check(ctx context.Context, req policy.Request) (d policy.Decision, err error) {
	if err := h.node.accepts(ctx); err != nil {
		return d, err
	}
	r, err := h.rule()
	if err == nil {
		err = r.check(ctx, h.node, &req, &d)
	}
	return d, err
}

// check decides a request by one list of limits.
func (pl *plan) check(ctx context.Context, req *policy.Request, d *policy.Decision) (err error) {
	n := pl.node
	var q question
	if err := pl.read(req, &q); err != nil { // 2 identity: whose bucket, in which partition
		return err
	}
	if pl.strict { // Redis decides
		return pl.strictly(ctx, &q, req, d)
	}
	if n.specials.count.Load() != 0 { // some keys have limits of their own
		if pl, err = pl.known(req, &q, d); pl == nil || err != nil {
			return err
		}
	}
	if pl.sampler != nil && pl.sampler.follows(pl, &q, d) {
		return nil
	}
	v := n.view.Load()
	now := n.clock.Now()
	switch owner := v.owner(q.part); { // 3 owner: one array read
	case owner == v.self && pl.own(&q, now, d): // mine: taken from the table
	case owner != v.self && pl.borrowed(v.link(owner), &q, now, d): // lent: tokens held here, or "empty until"
	default:
		err = pl.elsewhere(ctx, &q, req, d) // another's: one round trip
	}
	if q.told { // the key has limits of its own
		err = pl.heed(ctx, &q, req, d)
	}
	if pl.sampler != nil {
		pl.sampler.learn(pl, &q, d, err)
	}
	return err
}

// question is a request as the owner sees it.
type question struct {
	id   bucket.ID
	part int
	cost int64   // of every limit, or the largest
	each []int64 // the costs of all limits if they differ
	hold *pledge // if the cost is to be taken aside

	look   bool
	refund bool         // the cost is given back
	shadow bool         // it is asked for a limit in shadow mode
	leases bool         // the owner may lend
	demand lease.Demand // what is known of it here
	owed   int64        // part of cost that is not the request's own, but that of sampled ones before

	told  bool   // the owner has not decided, but said that the key's entry has the text
	entry string // that
	turns int    // how often it did
	base  *plan  // what it was asked with first; nil while that is so
	by    *plan  // what it was asked with last, then
	free  bool   // nothing limits the key

	instead bool // it is asked because Redis, which should decide, can't be
}

// read finds out whose bucket a request is about.
func (pl *plan) read(req *policy.Request, q *question) (err error) {
	if err = pl.cost(req, q); err != nil {
		return err
	}
	if q.look, q.refund = req.CheckOnly, req.Refund; q.look && q.refund {
		return fmt.Errorf("%w: CheckOnly and Refund: leave one out", policy.ErrInvalid)
	}
	byKey := req.Parts == nil && pl.memo != nil
	if byKey {
		if k := pl.memo.find(req.Key); k != nil {
			q.id, q.part = k.id, k.part
			return nil
		}
	}
	var room [128]byte
	var key []byte
	if pl.inline {
		key, err = policy.AppendInlineKey(room[:0], pl.policy, req)
	} else {
		key, err = pl.policy.AppendKey(room[:0], req)
	}
	if err != nil {
		return err
	}
	q.id = pl.node.secrets.name(key)
	q.part = pl.node.partitions.Partition(q.id.Bytes())
	if byKey && rand.Uint32()%memoSample == 0 {
		pl.memo.learn(req.Key, q)
	}
	return nil
}

// cost finds out what a request costs.
func (pl *plan) cost(req *policy.Request, q *question) error {
	if pl.isFlat(req) { // nearly every request
		q.cost, q.each = max(req.Cost, 1), nil
		return nil
	}
	return pl.price(req, q)
}

// isFlat says whether a request costs all limits the same, and nothing is wrong with that.
func (pl *plan) isFlat(req *policy.Request) bool {
	return pl.plain && req.Costs == nil && 0 <= req.Cost && req.Cost <= bucket.MaxTokens
}

// price finds out what a request costs each limit.
func (pl *plan) price(req *policy.Request, q *question) (err error) {
	if pl.inline {
		q.cost, err = req.Tokens()
		return err
	}
	q.cost, q.each, err = pl.policy.Costs(req)
	return err
}

// own decides with the bucket in this node's memory, or tells the question that the key has other limits. It is false if this node may
// not decide: the partition is on its way here or away, or no majority of the members acknowledges the node.
func (pl *plan) own(q *question, now bucket.Instant, d *policy.Decision) bool {
	n := pl.node
	if !n.hasAuthority(now) {
		return false
	}
	switch a, which, err := n.take(pl.group, q, now); {
	case err == nil:
		pl.tell(d, a, which, policy.Owner, n.name)
		pl.count(q, d.Allowed, decidedHere)
	case errors.Is(err, table.ErrClosed):
		return false
	default:
		if other, ok := errors.AsType[*table.OtherLimits](err); ok {
			q.toldOf(n, other.Text)
			return true
		}
		pl.unreachable(n.view.Load(), q, d) // no memory for one more key
	}
	return true
}

// take asks the table.
func (n *Node) take(g *table.Group, q *question, now bucket.Instant) (a bucket.Decision, which int, err error) {
	if q.hold != nil {
		return n.hold(n.owned, heldHere, g, q, now, q.hold.costs)
	}
	if q.look {
		return n.owned.Look(q.part, q.id, g, now, q.cost, q.each...)
	}
	if q.refund {
		a, which, err = n.owned.Refund(q.part, q.id, g, now, q.cost, q.each...)
		return q.refunded(a), which, err
	}
	if len(q.each) > 0 {
		return n.owned.TakeEach(q.part, q.id, g, now, q.cost, q.each)
	}
	return n.owned.Take(q.part, q.id, g, now, q.cost)
}

// refunded makes the answer of a limit that of a refund, which none denies. A look and a take it leaves as it is.
func (q *question) refunded(a bucket.Decision) bucket.Decision {
	if q.refund {
		a.Allowed, a.RetryAfter = true, 0
	}
	return a
}

// tell puts the answer of a group, given by one of its limits, into the words of the policy.
func (pl *plan) tell(d *policy.Decision, a bucket.Decision, which int, by policy.DecidedBy, node string) {
	s := &pl.spoken[which]
	*d = policy.Decision{
		Allowed:    a.Allowed,
		Never:      a.Never(),
		DecidedBy:  by,
		Policy:     pl.name,
		LimitName:  s.name,
		Unit:       s.unit,
		Overage:    a.Allowed && a.Remaining < s.overage,
		Limit:      s.capacity,
		Remaining:  a.Remaining,
		Window:     s.window,
		RetryAfter: a.RetryAfter,
		ResetAfter: a.ResetAfter,
		Node:       node,
	}
}

// accepts says whether a check may be decided now.
func (n *Node) accepts(ctx context.Context) error {
	if s := stage(n.stage.Load()); s != running && s != leaving {
		return fmt.Errorf("%w: node %s %s", policy.ErrUnavailable, n.name, s)
	}
	return ctx.Err()
}
