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
	var together sync.WaitGroup // those that need several keys
	v := n.view.Load()
	now := n.clock.Now()
	until, inTime := n.until(ctx)
	for i := range reqs {
		r := &results[i]
		h, err := n.policyOf(&reqs[i])
		if err != nil {
			r.Err = err
			continue
		}
		if h.with != nil {
			together.Go(func() { r.Decision, r.Err = h.checkAll(ctx, reqs[i]) })
			continue
		}
		var q question
		if r.Err = h.read(&reqs[i], &q); r.Err == nil && !(h.sampler != nil && h.sampler.follows(h, &q, &r.Decision)) {
			switch owner := v.owner(q.part); {
			case owner == v.self && h.own(&q, now, &r.Decision):
			case owner != v.self && h.borrowed(v.link(owner), &q, now, &r.Decision):
			default:
				a := awaited{h, q, v.link(owner), nil, &reqs[i], r}
				if a.link != nil && inTime {
					a.call = h.begin(&q, a.link, until)
				}
				away = append(away, a)
				continue
			}
			if h.sampler != nil {
				h.sampler.learn(h, &q, &r.Decision, nil)
			}
		}
		h.done()
	}
	for i := range away {
		w := &away[i]
		w.result.Err = w.finish(ctx, until, inTime)
		if s := w.handle.sampler; s != nil {
			s.learn(w.handle, &w.question, &w.result.Decision, w.result.Err)
		}
		w.handle.done()
	}
	together.Wait()
	return results
}

// finish waits for the answer, and goes on looking for one if that does not decide.
func (w *awaited) finish(ctx context.Context, until time.Duration, inTime bool) error {
	h, d := w.handle, &w.result.Decision
	if w.call != nil {
		if done, err := h.finish(ctx, &w.question, w.request, w.link, w.call, d); done || err != nil {
			return err
		}
	}
	if !inTime {
		h.unreachable(h.node.view.Load(), &w.question, d)
		return nil
	}
	return h.seek(ctx, &w.question, w.request, until, d)
}

// awaited is a check of a batch that is on its way to its owner.
type awaited struct {
	handle   *Handle
	question question
	link     *link // nil if there is no way
	call     *call // nil if it could not be sent
	request  *policy.Request
	result   *policy.Result
}
