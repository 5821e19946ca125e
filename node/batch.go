package node

import (
	"context"
	"sync"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// CheckBatch decides many requests at once, as Check does each, and returns the results in the same order. Requests for
// the same owner travel together. One bad request does not touch the others, and each is charged for itself. Safe for
// concurrent use.
func (n *Node) CheckBatch(ctx context.Context, reqs []policy.Request) []policy.Result {
	results := make([]policy.Result, len(reqs))
	if err := n.accepts(ctx); err != nil {
		for i := range results {
			results[i].Err = err
		}
		return results
	}
	var away []awaited
	var together sync.WaitGroup // those that need several keys, or Redis
	v := n.view.Load()
	now := n.clock.Now()
	until, inTime := n.until(ctx)
	for i := range reqs {
		r := &results[i]
		pl, req, err := n.alone(&reqs[i], &r.Decision)
		switch {
		case err != nil:
			r.Err = err
			continue
		case pl == nil && r.Decision.DecidedBy == policy.Unknown, pl != nil && pl.strict:
			together.Go(func() { r.Decision, r.Err = n.Check(ctx, reqs[i]) })
			continue
		case pl == nil:
			continue
		}
		var q question
		r.Err = pl.read(req, &q)
		if r.Err == nil && n.specials.count.Load() != 0 { // some keys have limits of their own
			if pl, r.Err = pl.known(req, &q, &r.Decision); pl == nil {
				continue
			}
		}
		if r.Err == nil && !(pl.sampler != nil && pl.sampler.follows(pl, &q, &r.Decision)) {
			switch owner := v.owner(q.part); {
			case owner == v.self && pl.own(&q, now, &r.Decision) && !q.told:
			case owner != v.self && pl.borrowed(v.link(owner), &q, now, &r.Decision):
			default:
				a := awaited{pl, q, v.link(owner), nil, req, r}
				if a.link != nil && inTime && !q.told {
					a.call = pl.begin(&q, a.link, until)
				}
				away = append(away, a)
				continue
			}
			if pl.sampler != nil {
				pl.sampler.learn(pl, &q, &r.Decision, nil)
			}
		}
		pl.done()
	}
	for i := range away {
		w := &away[i]
		w.result.Err = w.finish(ctx, until, inTime)
		if s := w.plan.sampler; s != nil {
			s.learn(w.plan, &w.question, &w.result.Decision, w.result.Err)
		}
		w.plan.done()
	}
	together.Wait()
	return results
}

// alone returns the only plan that decides a request of a batch, and what that is asked; nil if there are several, or none and the
// decision is made.
func (n *Node) alone(req *policy.Request, d *policy.Decision) (*plan, *policy.Request, error) {
	if req.Limit != nil {
		pl, err := n.inlinePlan(req)
		return pl, req, err
	}
	b := n.book.Load()
	var named *rule
	if req.Policy != "" {
		var err error
		if named, err = b.rule(req.Policy); err != nil {
			return nil, nil, err
		}
		if named.only != nil && !(b.exempts && b.set.Exempt(req)) {
			return named.only, req, nil
		}
	}
	legs, err := n.legsOf(b, named, nil, req, d)
	if err != nil || len(legs) != 1 || legs[0].shadow {
		return nil, nil, err
	}
	return legs[0].plan, &legs[0].req, nil
}

// finish waits for the answer, and goes on looking for one if that does not decide.
func (w *awaited) finish(ctx context.Context, until time.Duration, inTime bool) error {
	pl, d := w.plan, &w.result.Decision
	if w.call != nil {
		if done, err := pl.finish(ctx, &w.question, w.request, w.link, w.call, d); done && !w.question.told || err != nil {
			return err
		}
	}
	if w.question.told {
		return pl.heed(ctx, &w.question, w.request, d)
	}
	if !inTime {
		pl.unreachable(pl.node.view.Load(), &w.question, d)
		return nil
	}
	return pl.seek(ctx, &w.question, w.request, until, d)
}

// awaited is a check of a batch that is on its way to its owner.
type awaited struct {
	plan     *plan
	question question
	link     *link // nil if there is no way
	call     *call // nil if it could not be sent
	request  *policy.Request
	result   *policy.Result
}
