package node

import (
	"context"

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
	v := n.view.Load()
	now := n.clock.Now()
	for i := range reqs {
		r := &results[i]
		h, err := n.policyOf(&reqs[i])
		if err != nil {
			r.Err = err
			continue
		}
		var q question
		if r.Err = h.read(&reqs[i], &q); r.Err == nil && !(h.sampler != nil && h.sampler.follows(h, &q, &r.Decision)) {
			switch owner := v.owner(q.part); {
			case owner == v.self:
				h.own(&q, now, &r.Decision)
			case owner == nobody:
				h.unreachable(v, &q, &r.Decision)
			case h.borrowed(v.links[owner], &q, now, &r.Decision):
			default:
				if c := h.begin(ctx, &q, v.links[owner]); c != nil {
					away = append(away, awaited{h, q, v.links[owner], c, &reqs[i], r})
					continue
				}
				h.unreachable(v, &q, &r.Decision)
			}
			if h.sampler != nil {
				h.sampler.learn(h, &q, &r.Decision, nil)
			}
		}
		h.done()
	}
	for i := range away {
		w := &away[i]
		w.result.Err = w.handle.finish(ctx, v, &w.question, w.request, w.link, w.call, &w.result.Decision)
		if s := w.handle.sampler; s != nil {
			s.learn(w.handle, &w.question, &w.result.Decision, w.result.Err)
		}
		w.handle.done()
	}
	return results
}

// awaited is a check of a batch that is on its way to its owner.
type awaited struct {
	handle   *Handle
	question question
	link     *link
	call     *call
	request  *policy.Request
	result   *policy.Result
}
