package node

import (
	"sync/atomic"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
)

// localShare is which part of the memory for owned buckets failure rules may use for theirs: one in so many.
const localShare = 8

// retryUnreachable is what a caller is told to wait whom no share can ever admit, or who may have none: only the owner
// can say yes, and by then it may be reachable, or lost and replaced.
const retryUnreachable = time.Second

// rules say what the limits of a handle do when the owner of a key can't be asked.
type rules struct {
	least  int // the limit that admits the least at a time
	denies int // the first limit that denies, or -1

	locals int                     // how many limits have shares
	local  [policy.MaxLimits]uint8 // which
}

func rulesOf(limits []policy.Limit, lacks func(i int) bool) rules {
	r := rules{denies: -1, least: -1}
	for i, l := range limits {
		if lacks(i) { // requests take nothing of it, and it has no say
			continue
		}
		if r.least < 0 || l.Most() < limits[r.least].Most() {
			r.least = i
		}
		switch l.OnUnreachable {
		case policy.UnreachableAllow:
		case policy.UnreachableDeny:
			if r.denies < 0 {
				r.denies = i
			}
		default:
			r.local[r.locals] = uint8(i)
			r.locals++
		}
	}
	return r
}

// ruleCounts are the checks that failure rules decided, by the rule of the limit that spoke, a policy.Unreachable.
type ruleCounts [policy.UnreachableAllow + 1]atomic.Uint64

// unreachable decides by the rules of the limits, because the owner can't be asked. Nothing is taken but from shares,
// and from these none if the check is denied or only looks.
func (pl *plan) unreachable(v *view, q *question, d *policy.Decision) {
	if pl.wasFree(q, d) {
		return
	}
	which := pl.byRule(v, q, d)
	d.Degraded = true
	if !q.shadow {
		pl.node.byRule[pl.limits[which].OnUnreachable].Add(1)
	}
	pl.count(q, d.Allowed, decidedByRule)
}

// byRule decides, and returns the limit that spoke.
func (pl *plan) byRule(v *view, q *question, d *policy.Decision) (which int) {
	var a bucket.Decision
	by := policy.Timeout
	switch r := &pl.rules; {
	case pl.never(q) >= 0 && !q.refund: // no owner admits it ever, so no rule does: this is no fault of ours
		which, by = pl.never(q), policy.Local
	case r.denies >= 0:
		which, a.RetryAfter = r.denies, retryUnreachable
	case r.locals == 0:
		which = r.least
		a.Allowed, a.Remaining = true, pl.spoken[which].capacity
	default:
		by = policy.Local
		if a, which = pl.askShare(v, q); a.Never() { // in this share; but the owner may admit it
			a.RetryAfter = retryUnreachable
		}
	}
	pl.tell(d, q.refunded(a), which, by, pl.node.name)
	return which
}

// never is the first limit that never admits as much as it is asked for, or -1.
func (pl *plan) never(q *question) int {
	if len(q.each) == 0 {
		if least := pl.rules.least; q.cost > pl.limits[least].Most() {
			return least
		}
		return -1
	}
	for i, cost := range q.each {
		if cost > pl.limits[i].Most() {
			return i
		}
	}
	return -1
}

// askShare asks this node's own buckets of the limits that have shares. Without memory for them the first denies, and
// knows of no wait that helps.
func (pl *plan) askShare(v *view, q *question) (a bucket.Decision, which int) {
	n, r := pl.node, &pl.rules
	g, err := pl.share(v.rankOf(q.id))
	if err != nil {
		return bucket.Decision{}, int(r.local[0])
	}
	defer g.Release()
	cost, each := q.cost, []int64(nil)
	if len(q.each) > 0 {
		cost = 0
		for _, i := range r.local[:r.locals] {
			cost, each = max(cost, q.each[i]), append(each, q.each[i])
		}
	}
	now := n.clock.Now()
	if q.hold != nil {
		costs := each
		if costs == nil {
			costs = q.hold.costs[:r.locals]
		}
		if a, which, err = n.hold(n.local, heldInShare, g, q, now, costs); err != nil {
			return bucket.Decision{}, int(r.local[0])
		}
		return a, int(r.local[which])
	}
	if q.look || q.refund { // of which nobody here knows if it was taken from the share
		a, which, err = n.local.Look(q.part, q.id, g, now, cost, each...)
	} else {
		a, which, err = n.local.TakeEach(q.part, q.id, g, now, cost, each)
	}
	if err != nil {
		return bucket.Decision{}, int(r.local[0])
	}
	if a.Allowed && !q.look && !q.refund {
		n.owe(q.part, q.id, pl.group, q.cost, q.each...)
	}
	return a, int(r.local[which])
}
