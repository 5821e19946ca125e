package node

import (
	"math"
	"math/bits"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/bucket/table"
)

// localShare is which part of the memory for owned buckets failure rules may use for theirs: one in so many.
const localShare = 8

// retryUnreachable is what a denied caller is told to wait if its cost is more than a share of the burst: only the
// owner can admit it, and by then the owner may be reachable, or lost and replaced.
const retryUnreachable = time.Second

// unreachable decides by the failure rule, because the owner can't be asked: from this node's own bucket of the N-th
// part of the rate and the burst, so that all N nodes together admit what one owner would.
func (h *Handle) unreachable(v *view, q *question, d *policy.Decision) {
	if a, which, ok := h.takeShare(v, q); ok {
		h.tell(d, a, which, policy.Local, h.node.name)
		if d.Never && q.cost <= d.Limit { // never in this share, but not never
			d.Never, d.RetryAfter = false, retryUnreachable
		}
	} else { // not even memory for the rule's bucket: denied
		h.tell(d, bucket.Decision{RetryAfter: retryUnreachable}, 0, policy.Local, h.node.name)
	}
	d.Degraded = true
	h.count(q.part, d.Allowed, decidedByRule)
}

// takeShare asks this node's own bucket. It is false if there is no memory for it.
func (h *Handle) takeShare(v *view, q *question) (a bucket.Decision, which int, ok bool) {
	n := h.node
	g, err := h.share(v, q.id)
	if err != nil {
		return a, 0, false
	}
	defer g.Release()
	if q.look {
		a, which = n.local.Look(q.part, q.id, g, n.clock.Now(), q.cost)
		return a, which, true
	}
	a, which, err = n.local.Take(q.part, q.id, g, n.clock.Now(), q.cost)
	return a, which, err == nil
}

// share returns this node's part of the limits for one key; the caller releases it.
func (h *Handle) share(v *view, id bucket.ID) (*table.Group, error) {
	nodes, rank := v.rank(id)
	limits := make([]bucket.Limit, len(h.limits))
	for i, l := range h.limits {
		limits[i] = part(l.Limit, nodes, rank)
	}
	return h.node.limits.Intern(limits)
}

// part returns what the node of a rank gets of a limit: the N-th part of the rate, and of the burst whole tokens that
// sum up to it over all ranks.
func part(l bucket.Limit, nodes, rank int) bucket.Limit {
	upTo := func(rank int) int64 {
		hi, lo := bits.Mul64(uint64(l.Burst), uint64(rank))
		q, _ := bits.Div64(hi, lo, uint64(nodes)) // rank <= nodes, so the quotient is at most the burst
		return int64(q)
	}
	out := bucket.Limit{Count: l.Count, Per: l.Per, Burst: upTo(rank+1) - upTo(rank)}
	if l.Per > math.MaxInt64/time.Duration(nodes) {
		return bucket.Limit{Burst: out.Burst} // one token in more than 292 years
	}
	out.Per *= time.Duration(nodes)
	return out
}

// rank returns how many nodes share a key, and this node's place among them, which differs from key to key so that the
// remainders of bursts are spread.
func (v *view) rank(id bucket.ID) (nodes, rank int) {
	if v.ring == nil {
		return 1, 0
	}
	members := v.ring.Members()
	if v.self == outside {
		return len(members) + 1, len(members)
	}
	key := id.Bytes()
	weight := func(i int) uint64 {
		h := xxhash.New()
		h.Write(key[:])
		h.WriteString(members[i].ID)
		return h.Sum64()
	}
	own := weight(v.self)
	for i := range members {
		if w := weight(i); w < own || w == own && i < v.self {
			rank++
		}
	}
	return len(members), rank
}
