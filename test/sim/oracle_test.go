package sim

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"sync"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// reference is the bucket of one limit as it would be in one place. Unlike a real one it may run negative. It is
// written for clarity, with numbers of any size, and shares no code with what it judges. Levels are in Per-ths of a
// token.
type reference struct {
	limit   bucket.Limit
	per     *big.Int
	full    *big.Int
	level   *big.Int
	low     *big.Int // the lowest level so far
	allowed *big.Int // how far below zero injected faults may have brought the level since it was last full
	last    bucket.Instant
}

// newReference returns a full bucket.
func newReference(l bucket.Limit, now bucket.Instant) *reference {
	per := big.NewInt(int64(max(l.Per, 1))) // a limit without a rate may have no period
	full := new(big.Int).Mul(big.NewInt(l.Burst), per)
	return &reference{
		limit: l, per: per, full: full, last: now,
		level: new(big.Int).Set(full), low: new(big.Int).Set(full), allowed: new(big.Int),
	}
}

// admit takes the cost, whatever the level, and says whether the level is lower than faults allow.
func (r *reference) admit(now bucket.Instant, cost, allowed int64) (excess bool) {
	r.refill(now)
	r.level.Sub(r.level, r.tokens(cost))
	r.allowed.Add(r.allowed, r.tokens(allowed))
	if r.level.Cmp(r.low) < 0 {
		r.low.Set(r.level)
	}
	return new(big.Int).Add(r.level, r.allowed).Sign() < 0
}

// refill brings the level up to now. A bucket that is full again remembers nothing, so faults before that allow nothing
// after it.
func (r *reference) refill(now bucket.Instant) {
	if now > r.last {
		arrived := new(big.Int).Mul(big.NewInt(r.limit.Count), big.NewInt(int64(now-r.last)))
		r.level.Add(r.level, arrived)
		r.last = now
	}
	if r.level.Cmp(r.full) >= 0 {
		r.level.Set(r.full)
		r.allowed.SetInt64(0)
	}
}

// holds returns the whole tokens that the bucket would hold at now.
func (r *reference) holds(now bucket.Instant) int64 {
	r.refill(now)
	return new(big.Int).Div(r.level, r.per).Int64()
}

func (r *reference) tokens(n int64) *big.Int { return new(big.Int).Mul(big.NewInt(n), r.per) }

// over is the over-admission in whole tokens, rounded up: the most by which any span of time had more than burst and
// rate.
func (r *reference) over() int64 {
	if r.low.Sign() >= 0 {
		return 0
	}
	up := new(big.Int).Add(new(big.Int).Neg(r.low), new(big.Int).Sub(r.per, big.NewInt(1)))
	return up.Quo(up, r.per).Int64()
}

// admission is one check that was admitted by whoever had the right to: the owner, or the holder of a lease.
type admission struct {
	at      time.Duration  // true time since the run began
	now     bucket.Instant // by the owner's clock
	node    string         // where
	by      string
	cost    int64
	allowed int64 // how much of the cost an injected fault may have made too much
}

// oracle holds all admissions of all groups against their references. Safe for concurrent use.
type oracle struct {
	mu         sync.Mutex
	references map[*group][]*reference
	fed        int
	forgiven   int64 // tokens that injected faults allow
	excess     []string
	early      map[*group]int64 // the most that was held when a cost was denied that it could have paid
}

// watch begins to judge a group, whose buckets are full now.
func (o *oracle) watch(g *group, now bucket.Instant) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.references == nil {
		o.references = make(map[*group][]*reference)
	}
	refs := make([]*reference, len(g.limits))
	for i, l := range g.limits {
		refs[i] = newReference(l, now)
	}
	o.references[g] = refs
}

const maxExcess = 5 // told of a run; the first matters most

// admit feeds an admission to every limit of its group. Admissions of one group come in true order; within an instant
// their order changes nothing.
func (o *oracle) admit(g *group, a admission) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.fed++
	o.forgiven += a.allowed
	for i, r := range o.references[g] {
		if r.admit(a.now, a.cost, a.allowed) && len(o.excess) < maxExcess {
			o.excess = append(o.excess, fmt.Sprintf("at %v %s: %d tokens at %s by %s are more than limit %d and faults allow, "+
				"%d too much so far: %+v", a.at, g, a.cost, a.node, a.by, i, r.over(), r.limit))
		}
	}
}

// deny notes that a cost was denied. If every limit, with the same admissions behind it, would have held it in one
// place, the denial came early: by the least that any of them held.
func (o *oracle) deny(g *group, now bucket.Instant, cost int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	least := int64(math.MaxInt64)
	for _, r := range o.references[g] {
		least = min(least, r.holds(now))
	}
	if least < cost || least == math.MaxInt64 {
		return
	}
	if o.early == nil {
		o.early = make(map[*group]int64)
	}
	o.early[g] = max(o.early[g], least)
}

func (o *oracle) earliest(g *group) int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.early[g]
}

// verdict is what an oracle has found.
type verdict struct {
	fed      int      // admissions
	over     int64    // the largest over-admission of all limits in tokens, faults or not
	forgiven int64    // tokens that faults allow, in all
	excess   []string // what was more
}

func (o *oracle) verdict() verdict {
	o.mu.Lock()
	defer o.mu.Unlock()
	v := verdict{fed: o.fed, forgiven: o.forgiven, excess: slices.Clone(o.excess)}
	for _, refs := range o.references {
		for _, r := range refs {
			v.over = max(v.over, r.over())
		}
	}
	return v
}
