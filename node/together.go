package node

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport"
)

// A check of several keys takes its cost from all of them or from none: it is held at each, wherever that is decided, all at the
// same time, and when all hold it is committed, else put back. Who holds for a check that is never heard of again has spent it in
// the end, so nothing is admitted twice, and what a crash leaks is the cost of the checks under way.

// together is one check under way, of a policy and those that it is decided with.
type together []leg

// leg is what the check asks of one key.
type leg struct {
	handle *Handle
	req    policy.Request // with its own key
	q      question
	link   *link
	call   *call // nil if none was sent
	done   bool
	d      policy.Decision
	err    error
}

const (
	// holdLife is for how much longer something is held than the check may take: whoever coordinates may be late.
	holdLife = 250 * time.Millisecond
	// holdAttempts is how often a check is tried whose holds have ended before all were there, as at the edge of a window.
	holdAttempts = 2
)

// checkAll decides a request by the policy of the handle and all that it is decided with.
func (h *Handle) checkAll(ctx context.Context, req policy.Request) (d policy.Decision, err error) {
	legs, err := h.legs(&req)
	if err != nil {
		return d, err
	}
	n := h.node
	until, inTime := n.until(ctx)
	for attempt := 1; ; attempt++ {
		n.ask(ctx, legs, until, inTime)
		d, done, err := legs.settle(n, attempt == holdAttempts || n.elapsed() >= until)
		if done || err != nil {
			return d, err
		}
	}
}

// legs finds out whose buckets a request is about.
func (h *Handle) legs(req *policy.Request) (together, error) {
	all := make(together, 1+len(h.with))
	for i := range all {
		l := &all[i]
		l.handle, l.req = h, *req
		if i > 0 {
			l.handle = h.with[i-1]
			l.req.Key, l.req.Parts, l.req.Attributes = "", nil, h.attributes(req)
		}
		if err := l.handle.read(&l.req, &l.q); err != nil {
			return nil, fmt.Errorf("%w (policy %s is decided with %s)", err, h.name, l.handle.name)
		}
	}
	return all, nil
}

// attributes are those of a request, with those that its key gives.
func (h *Handle) attributes(req *policy.Request) map[string]string {
	if req.Key == "" && req.Parts == nil {
		return req.Attributes
	}
	all := make(map[string]string, len(req.Attributes)+len(h.policy.Key))
	for name, value := range req.Attributes {
		all[name] = value
	}
	for i, name := range h.policy.Key {
		if req.Parts == nil {
			all[name] = req.Key
		} else {
			all[name] = req.Parts[i]
		}
	}
	return all
}

// ask has every leg answered: what other nodes decide at the same time.
func (n *Node) ask(ctx context.Context, legs together, until time.Duration, inTime bool) {
	id := lease.HoldID{Node: n.holder, Number: n.holds.Add(1)}
	v := n.view.Load()
	for i := range legs { // first what takes a while
		l := &legs[i]
		l.d, l.err, l.link, l.call, l.done = policy.Decision{}, nil, nil, nil, false
		if !l.q.look {
			l.q.hold = &pledge{id: id, life: min(max(until-n.elapsed(), 0)+holdLife, lease.TTL), costs: l.handle.costsOf(&l.q)}
		}
		if owner := v.owner(l.q.part); owner != v.self {
			if l.done = l.handle.borrowed(v.link(owner), &l.q, n.clock.Now(), &l.d); l.done {
				continue
			}
			if l.link = v.link(owner); l.link != nil && inTime {
				l.call = l.handle.begin(&l.q, l.link, until)
			}
		}
	}
	for i := range legs {
		if l := &legs[i]; !l.done && v.owner(l.q.part) == v.self {
			l.done = l.handle.own(&l.q, n.clock.Now(), &l.d)
		}
	}
	for i := range legs {
		if l := &legs[i]; l.call != nil {
			l.done, l.err = l.handle.finish(ctx, &l.q, &l.req, l.link, l.call, &l.d)
		}
	}
	var seeking sync.WaitGroup // seldom
	for i := range legs {
		if l := &legs[i]; !l.done && l.err == nil {
			seeking.Go(func() {
				if inTime {
					l.err = l.handle.seek(ctx, &l.q, &l.req, until, &l.d)
				} else {
					l.handle.unreachable(n.view.Load(), &l.q, &l.d)
				}
			})
		}
	}
	seeking.Wait()
}

// costsOf returns what a question costs each limit.
func (h *Handle) costsOf(q *question) []int64 {
	if len(q.each) > 0 {
		return q.each
	}
	return slices.Repeat([]int64{q.cost}, len(h.limits))
}

// settle ends all holds of a check, and returns its decision. done is false if some hold has ended too early and it should be tried
// again.
func (legs together) settle(n *Node, last bool) (d policy.Decision, done bool, err error) {
	now := n.clock.Now()
	admit, stand := true, true
	speaks := 0
	for i := range legs {
		l := &legs[i]
		err = cmp.Or(err, l.err)
		admit = admit && l.d.Allowed && l.err == nil
		stand = stand && (l.q.hold == nil || l.q.hold.stands(now))
		if i > 0 && legs.speaksFor(i, speaks) {
			speaks = i
		}
	}
	commit := legs.end(n, now, admit && stand)
	if admit && !commit && !legs[0].q.look && !last {
		return d, false, err
	}
	d = legs[speaks].d
	for i := range legs {
		d.Degraded = d.Degraded || legs[i].d.Degraded
		if d.Allowed {
			d.RetryAfter = max(d.RetryAfter, legs[i].d.Wait())
		}
	}
	if admit && !commit && !legs[0].q.look { // all would have admitted, but not at a time
		d.Allowed, d.Overage, d.RetryAfter = false, false, retryHolds
	}
	for i := range legs {
		l := &legs[i]
		if h := l.q.hold; h != nil && err == nil && (i == 0 || d.Allowed || !l.d.Allowed) {
			l.handle.add(l.q.part, d.Allowed, h.by)
		}
	}
	return d, true, err
}

// end commits all that is held, or puts it back, and says which. First comes what is held in purses, whose leases may have ended.
func (legs together) end(n *Node, now bucket.Instant, commit bool) bool {
	for _, purses := range []bool{true, false} {
		for i := range legs {
			l := &legs[i]
			if h := l.q.hold; h != nil && (h.at == heldInPurse) == purses && !n.end(l.handle, &l.q, now, commit) {
				commit = false // what another purse has paid is spent for nothing
			}
		}
	}
	return commit
}

// retryHolds is what a caller is told to wait whose check could not hold all that it needs at a time.
const retryHolds = time.Millisecond

// speaksFor says whether leg i rather than leg j has the answer of all, as with the limits of a group.
func (legs together) speaksFor(i, j int) bool {
	a, b := &legs[i], &legs[j]
	switch {
	case a.d.Allowed != b.d.Allowed:
		return b.d.Allowed
	case !a.d.Allowed && a.d.Never != b.d.Never:
		return a.d.Never
	case !a.d.Allowed:
		return a.d.RetryAfter > b.d.RetryAfter
	case (a.q.cost == 0) != (b.q.cost == 0):
		return b.q.cost == 0
	case a.d.Overage != b.d.Overage:
		return a.d.Overage
	}
	hi, lo := bits.Mul64(uint64(a.d.Remaining), uint64(max(b.q.cost, 1)))
	hisHi, hisLo := bits.Mul64(uint64(b.d.Remaining), uint64(max(a.q.cost, 1)))
	return hi < hisHi || hi == hisHi && lo < hisLo
}

// forget has what an owner may hold put back, of which no answer came in time. Whoever is asked next is asked for another hold: this
// one may be put back after that.
func (q *question) forget(l *link) {
	if q.hold != nil {
		l.end(transport.HoldEnd{ID: q.id, Hold: q.hold.id})
		q.hold.id.Number = l.node.holds.Add(1)
	}
}
