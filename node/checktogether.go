package node

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
)

// MaxTogether is how many requests CheckTogether decides at a time.
const MaxTogether = 64

// CheckTogether decides several requests as one, and returns as many results, in the same order. Each says what its own limits say. The
// whole is admitted if all are allowed, and only then is anything charged: else those that are allowed say what there is without
// their cost; when a window ends is then said as if it were charged. What a policy replaces, that one of them is for, counts for none that
// names no policy. Requests with CheckOnly deny like others. What a request with Refund gives back is given back first, whatever becomes of
// the others.
//
// If a request is wrong, or ctx ends, its result has the error that Check would return, no request is charged, and the results of the others
// have an error that wraps the same. More than MaxTogether are ErrInvalid. Safe for concurrent use.
func (n *Node) CheckTogether(ctx context.Context, reqs []policy.Request) []policy.Result {
	results := make([]policy.Result, len(reqs))
	if err := n.accepts(ctx); err != nil {
		return failAll(results, -1, err)
	}
	if len(reqs) > MaxTogether {
		return failAll(results, -1, fmt.Errorf("%w: %d requests together, want at most %d", policy.ErrInvalid, len(reqs), MaxTogether))
	}
	b := n.book.Load()
	replaced := b.replaced(reqs)
	all, spans, done, err := n.legsOfAll(b, replaced, reqs, results)
	defer done()
	if err != nil {
		return results
	}
	n.refundAll(ctx, b, replaced, reqs, results)
	if i := slices.IndexFunc(results, func(r policy.Result) bool { return r.Err != nil }); i >= 0 {
		return failAll(results, i, results[i].Err)
	}
	for i := range reqs { // a refund denies nobody
		if !reqs[i].Refund && results[i].Decision.DecidedBy == policy.MissingKey {
			all.onlyLook()
		}
	}
	switch {
	case len(all) == 0:
		return results
	case len(all) == 1 && !all[0].shadow: // nothing needs to be held
		i := slices.IndexFunc(spans, func(s span) bool { return s.to > s.from })
		if err := all[0].plan.check(ctx, &all[0].req, &results[i].Decision); err != nil {
			return failAll(results, i, err)
		}
		return results
	}
	came, err := all.decide(ctx, n)
	if err != nil {
		return failAll(results, -1, err)
	}
	for i, s := range spans {
		if legs := all[s.from:s.to]; len(legs) > 0 {
			d := &results[i].Decision
			legs.tell(came, d)
			if !came.admitted && d.Allowed {
				legs.uncharge(d)
			}
		}
	}
	return results
}

// span is which legs of a check are those of one request.
type span struct{ from, to int }

// legsOfAll finds out whose buckets requests are about, but for refunds, and decides those that are about none. done gives back what the
// legs hold.
func (n *Node) legsOfAll(b *book, replaced []string, reqs []policy.Request, results []policy.Result) (all together, spans []span, done func(), err error) {
	var inline []*plan
	done = func() {
		for _, pl := range inline {
			pl.done()
		}
	}
	spans = make([]span, len(reqs))
	for i := range reqs {
		req := &reqs[i]
		if req.Refund {
			continue
		}
		legs, err := n.legsOfOne(b, replaced, req, &results[i].Decision)
		if err != nil {
			failAll(results, i, err)
			return nil, nil, done, err
		}
		for j := range legs {
			if legs[j].plan.inline {
				inline = append(inline, legs[j].plan)
			}
		}
		legs.onlyStrict()
		spans[i] = span{len(all), len(all) + len(legs)}
		all = append(all, legs...)
	}
	return all, spans, done, nil
}

// legsOfOne finds out whose buckets one of several requests is about.
func (n *Node) legsOfOne(b *book, replaced []string, req *policy.Request, d *policy.Decision) (together, error) {
	if req.Limit != nil {
		pl, err := n.inlinePlan(req)
		if err != nil {
			return nil, err
		}
		l := leg{plan: pl, req: *req}
		if err := pl.read(&l.req, &l.q); err != nil {
			pl.done()
			return nil, err
		}
		return together{l}, nil
	}
	var named *rule
	if req.Policy != "" {
		var err error
		if named, err = b.rule(req.Policy); err != nil {
			return nil, err
		}
	}
	return n.legsOf(b, named, replaced, req, d)
}

// refundAll gives back what there is to give back, all at the same time.
func (n *Node) refundAll(ctx context.Context, b *book, replaced []string, reqs []policy.Request, results []policy.Result) {
	var refunding sync.WaitGroup
	for i := range reqs {
		if r := &results[i]; reqs[i].Refund {
			refunding.Go(func() {
				if reqs[i].Policy == "" && reqs[i].Limit == nil { // as it was taken
					r.Err = n.choose(ctx, b, nil, replaced, &reqs[i], &r.Decision)
				} else {
					r.Decision, r.Err = n.Check(ctx, reqs[i])
				}
			})
		}
	}
	refunding.Wait()
}

// failAll has all results fail because one has, or as a whole if that is none of them.
func failAll(results []policy.Result, which int, err error) []policy.Result {
	for i := range results {
		results[i] = policy.Result{Err: err}
		if which >= 0 && i != which {
			results[i].Err = fmt.Errorf("request %d of those that are decided together: %w", which+1, err)
		}
	}
	return results
}

// onlyLook has nothing charged, for the whole is denied already.
func (legs together) onlyLook() {
	for i := range legs {
		legs[i].q.look, legs[i].req.CheckOnly = true, true // a leg that is alone is read again
	}
}

// onlyStrict notes if nobody but Redis can tell how one request stands.
func (legs together) onlyStrict() {
	if slices.ContainsFunc(legs, func(l leg) bool { return !l.shadow && !l.plan.strict }) {
		return
	}
	for i := range legs {
		legs[i].alone = true
	}
}

// uncharge takes the cost out of what an allowed request was told, for it was put back.
func (legs together) uncharge(d *policy.Decision) {
	for i := range legs {
		l := &legs[i]
		if l.shadow || l.q.look || l.q.free || l.plan.name != d.Policy {
			continue
		}
		which := slices.IndexFunc(l.plan.spoken, func(s speaker) bool { return s.name == d.LimitName })
		if which < 0 {
			continue
		}
		cost := l.q.cost
		if len(l.q.each) > 0 {
			cost = l.q.each[which]
		}
		limit, told := &l.plan.group.Limits()[which], bucket.Decision{Remaining: d.Remaining, ResetAfter: d.ResetAfter}
		switch d.Remaining = min(d.Remaining+cost, max(d.Limit, d.Remaining)); {
		case d.Remaining == d.Limit:
			d.ResetAfter = 0
		case limit.Algorithm == bucket.TokenBucket:
			s := bucket.StateFrom(limit, told, 0)
			s.Tokens += cost
			d.ResetAfter = s.Look(limit, 0, 0).ResetAfter
		}
		return
	}
}
