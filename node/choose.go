package node

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// check decides a request that names the policy of a rule.
func (r *rule) check(ctx context.Context, n *Node, req *policy.Request, d *policy.Decision) error {
	if r.only != nil && !(r.book.exempts && r.book.set.Exempt(req)) { // nearly always
		return r.only.check(ctx, req, d)
	}
	return n.choose(ctx, r.book, r, nil, req, d)
}

// choose finds out which plans a request is decided by, and has them decide. named is the policy that it names, nil if all that match
// apply but those replaced: what others that it is decided together with replace, and what its own do.
func (n *Node) choose(ctx context.Context, b *book, named *rule, replaced []string, req *policy.Request, d *policy.Decision) error {
	legs, err := n.legsOf(b, named, replaced, req, d)
	switch {
	case err != nil || legs == nil:
		return err
	case len(legs) == 1 && !legs[0].shadow:
		return legs[0].plan.check(ctx, &legs[0].req, d)
	}
	return legs.check(ctx, n, d)
}

// legsOf finds out whose buckets a request is about. It returns none if that is decided without any.
func (n *Node) legsOf(b *book, named *rule, replaced []string, req *policy.Request, d *policy.Decision) (all together, err error) {
	if b.exempts && b.set.Exempt(req) {
		*d = policy.Decision{Allowed: true, DecidedBy: policy.Exempt, Policy: req.Policy, Node: n.name}
		n.counters.exempt.Add(1)
		return nil, nil
	}
	var room [8]*rule
	rules, err := b.rulesOf(named, replaced, req, room[:0])
	if err != nil {
		return nil, err
	}
	attributes := req.Attributes
	if named != nil && len(rules) > 1 {
		attributes = named.attributes(req)
	}
	var unlimited, unseen *rule
	for _, r := range rules {
		one := *req
		if r != named {
			one.Key, one.Parts, one.Attributes = "", nil, attributes
		}
		of := r.plans[r.variant(&one)]
		if of == (plans{}) {
			unlimited = r
			continue
		}
		for _, pl := range [...]*plan{of.real, of.shadow} {
			if pl == nil || !pl.policy.Applies(&one) {
				continue
			}
			shadow := pl == of.shadow
			all = append(all, leg{plan: pl, req: one, shadow: shadow, q: question{shadow: shadow}})
			err := pl.read(&one, &all[len(all)-1].q)
			switch missing := errors.Is(err, policy.ErrMissingKey); {
			case err == nil:
			case shadow: // what is only tried out refuses nobody
				unseen = r
				fallthrough
			case missing && r.policy.OnMissing == policy.MissingSkip:
				all = all[:len(all)-1]
			case missing && r.policy.OnMissing == policy.MissingDeny:
				*d = policy.Decision{Allowed: req.Refund, Never: !req.Refund, DecidedBy: policy.MissingKey, Policy: pl.name, Node: n.name}
				n.counters.missing.Add(1)
				return nil, nil
			case named != nil && r != named:
				return nil, fmt.Errorf("%w (policy %s is decided with %s)", err, named.policy.Name, pl.name)
			default:
				return nil, err
			}
		}
	}
	if len(all) > 0 {
		return all, nil
	}
	*d = policy.Decision{Allowed: true, DecidedBy: policy.NoPolicy, Node: n.name}
	switch {
	case unlimited != nil:
		d.DecidedBy, d.Policy = policy.Exempt, unlimited.policy.Name
		n.counters.exempt.Add(1)
	case unseen != nil:
		d.DecidedBy, d.Policy = policy.Shadow, unseen.policy.Name
	default:
		n.counters.noPolicy.Add(1)
	}
	return nil, nil
}

// rulesOf returns the rules that a request is decided by, each once.
func (b *book) rulesOf(named *rule, replaced []string, req *policy.Request, into []*rule) ([]*rule, error) {
	if named != nil {
		return append(append(into, named), named.with...), nil
	}
	var room [8]*policy.Policy
	matched, err := b.set.Match(req, room[:0])
	if b.replaces {
		for _, p := range matched {
			replaced = append(replaced[:len(replaced):len(replaced)], p.Replaces...)
		}
		matched = slices.DeleteFunc(matched, func(p *policy.Policy) bool { return slices.Contains(replaced, p.Name) })
	}
	for _, p := range matched {
		into = append(into, b.rules[p.Name])
	}
	for _, r := range into[:len(into):len(into)] {
		for _, w := range r.with {
			if !slices.Contains(into, w) {
				into = append(into, w)
			}
		}
	}
	return into, err
}

// replaced names the policies whose place others take that any of several requests is for.
func (b *book) replaced(reqs []policy.Request) (names []string) {
	if !b.replaces {
		return nil
	}
	for i := range reqs {
		if req := &reqs[i]; req.Policy == "" && req.Limit == nil {
			matched, _ := b.set.Match(req, nil) // what is wrong with a request is told when it is decided
			for _, p := range matched {
				names = append(names, p.Replaces...)
			}
		}
	}
	return names
}

// variant returns the number of the variant that a request gets.
func (r *rule) variant(req *policy.Request) int {
	if len(r.plans) == 1 {
		return 0
	}
	number, _ := r.policy.For(req).Variant()
	return number
}

// attributes are those of a request, with those that its key gives.
func (r *rule) attributes(req *policy.Request) map[string]string {
	if req.Key == "" && req.Parts == nil {
		return req.Attributes
	}
	all := make(map[string]string, len(req.Attributes)+len(r.policy.Key))
	for name, value := range req.Attributes {
		all[name] = value
	}
	r.policy.EachPart(req, func(name, value string) { all[name] = value })
	return all
}
