package node

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/bucket/redis"
)

// Strict decides groups of limits in one place that all nodes ask: node/strict does, in Redis.
type Strict interface {
	// Ask does what is asked, within ctx. After an error that does not wrap redis.ErrNotDone nobody knows if it was done. Safe for
	// concurrent use.
	Ask(ctx context.Context, a *redis.Ask) (redis.Reply, error)
}

// strictPart is which part of its deadline a check gives to Redis: the rest is for whoever decides if that does not answer.
const strictPart = 2.0 / 3

// strictOp is a take of which nobody knows if it was done, or only where one would have been if its number is 0.
type strictOp struct {
	shard  shard
	number uint64
}

// strictly decides a check by limits that are strict: by what this node has fetched, by what Redis has denied a moment ago, or by Redis, and
// if that can't be asked by the limits' rules. The error is that of ctx.
func (pl *plan) strictly(ctx context.Context, q *question, req *policy.Request, d *policy.Decision) error {
	if pl.strictness.Prefetch <= 1 && pl.denied(q, d) {
		return nil
	}
	until, inTime := pl.node.until(ctx)
	return pl.askAll(ctx, q, req, until, inTime, d)
}

// denied says whether Redis has denied as much a moment ago, and decides so.
func (pl *plan) denied(q *question, d *policy.Decision) bool {
	n := pl.node
	if q.refund || pl.tooMuch(q) { // that is another answer
		return false
	}
	a, which, ok := n.denials.find(pl, q.id, q.cost, q.each, n.clock.Now())
	if ok {
		pl.tell(d, a, which, policy.Redis, n.name)
		pl.count(q, false, decidedByDenial)
	}
	return ok
}

// tooMuch says whether a question asks for more than a group in Redis ever has.
func (pl *plan) tooMuch(q *question) bool {
	n := int64(len(pl.shards))
	if n <= 1 {
		return pl.never(q) >= 0
	}
	for i, l := range pl.group.Limits() {
		cost := q.cost
		if len(q.each) > 0 {
			cost = q.each[i]
		}
		if cost > (l.Burst+n-1)/n {
			return true
		}
	}
	return false
}

// askAll asks Redis, and then goes by the rules.
func (pl *plan) askAll(ctx context.Context, q *question, req *policy.Request, until time.Duration, inTime bool, d *policy.Decision) error {
	op, decided, err := pl.askStrict(ctx, q, until, d)
	if decided || err != nil {
		return err
	}
	if q.refund { // it was taken there, and is only given back there
		pl.unreachable(pl.node.view.Load(), q, d)
		return nil
	}
	return pl.instead(ctx, q, req, op, until, inTime, d)
}

// askStrict asks Redis, or takes from what was fetched. The error is that of ctx.
func (pl *plan) askStrict(ctx context.Context, q *question, until time.Duration, d *policy.Decision) (op strictOp, decided bool, err error) {
	n := pl.node
	first := 0
	if len(pl.shards) > 1 {
		first = rand.IntN(len(pl.shards))
	}
	op.shard = pl.shard(q, first)
	fetches := pl.strictness.Prefetch > 1 && q.hold == nil && !q.look && !q.refund && len(q.each) == 0 && stage(n.stage.Load()) == running
	if fetches && pl.spendFetched(q, op.shard, d) {
		return op, true, nil
	}
	usual := time.Duration(strictPart * float64(n.cfg.Deadline))
	patience := min(until-n.elapsed(), usual)
	if n.cfg.Strict == nil || patience <= 0 {
		return op, false, nil
	}
	asking, done := context.WithTimeout(ctx, patience)
	defer done()
	if q.refund {
		decided, err = pl.refundStrict(asking, q, op.shard, d)
		return op, decided, err
	}
	if fetches {
		if pl.spend(asking, q, op.shard, d) {
			return op, true, nil
		}
		if pl.denied(q, d) {
			return op, true, nil
		}
	}
	life := time.Duration(0)
	if q.hold != nil {
		life = q.hold.life
	}
	shards, tooMuch := max(1, len(pl.shards)), pl.tooMuch(q)
	if tooMuch { // each would say the same
		shards = 1
	}
	var sum shardSum
	for i := range shards {
		sh := op.shard
		if i > 0 {
			sh = pl.shard(q, (first+i)%len(pl.shards))
		}
		if shards > 1 {
			now := n.clock.Now()
			if a, which, ok := n.denials.find(pl, sh.id, q.cost, q.each, now); ok {
				sum.add(asked{redis.Reply{Decision: a, Which: which}, now})
				continue
			}
		}
		r, unsure, err := pl.askShard(asking, q, sh, pl.costsOf(q), life, patience < usual)
		switch {
		case err == nil && r.Decision.Allowed && !q.look:
			if q.hold != nil {
				q.hold.at, q.hold.ends, q.hold.taken, q.hold.shard = heldInStore, r.sent+bucket.Instant(life), r.At, sh
			}
			pl.tell(d, sum.with(pl, r), r.Which, policy.Redis, n.name)
			pl.count(q, true, decidedByRedis)
			return op, true, nil
		case err == nil:
			sum.add(r)
		case ctx.Err() != nil:
			n.ops.end(sh.id, unsure)
			return op, false, ctx.Err()
		default:
			return strictOp{sh, unsure}, false, nil
		}
	}
	if !sum.told.Allowed && shards > 1 {
		n.denials.learn(pl, q.id, q.cost, q.each, sum.sent, sum.told, sum.which)
	}
	pl.tell(d, sum.told, sum.which, policy.Redis, n.name)
	pl.count(q, d.Allowed, decidedByRedis)
	return op, true, nil
}

// refundStrict gives the cost back, to one group if the key has several: false if Redis has not answered, and then nobody knows if it was done.
func (pl *plan) refundStrict(ctx context.Context, q *question, sh shard, d *policy.Decision) (decided bool, err error) {
	if pl.strictness.Approximate {
		return false, fmt.Errorf("%w: policy %s counts approximately (store: approximate), and can't give back", policy.ErrInvalid, pl.name)
	}
	windows := func(l bucket.Limit) bool { return l.Algorithm != bucket.TokenBucket }
	if pl.strictness.Prefetch > 1 && slices.ContainsFunc(sh.limits, windows) { // what was fetched of them would be there twice
		return false, fmt.Errorf("%w: policy %s has prefetch, and a window, of which nobody knows what is fetched: it can't give back", policy.ErrInvalid, pl.name)
	}
	r, err := pl.node.cfg.Strict.Ask(ctx, &redis.Ask{Do: redis.Refund, Policy: pl.name, ID: sh.id, Limits: sh.limits, Costs: pl.costsOf(q)})
	if err != nil {
		return false, nil
	}
	pl.tell(d, q.refunded(r.Decision), r.Which, policy.Redis, pl.node.name)
	return true, nil
}

// asked is what Redis has said, to what was sent at an instant of the decision clock.
type asked struct {
	redis.Reply
	sent bucket.Instant
}

// askShard asks for one group: for what may be spent or given back for that long, if that is not 0. If nobody knows if it was done unsure is its
// number, which is open.
func (pl *plan) askShard(ctx context.Context, q *question, sh shard, costs []int64, life time.Duration, hasty bool) (r asked, unsure uint64, err error) {
	n := pl.node
	r.sent = n.clock.Now()
	a := redis.Ask{
		Do: redis.Look, Policy: pl.name, ID: sh.id, Limits: sh.limits, Costs: costs, Chunk: life, Hasty: hasty,
		Approximate: pl.strictness.Approximate, Replicas: pl.strictness.WaitReplicas,
	}
	if !q.look {
		a.Do, a.Op = redis.Take, n.ops.begin(sh.id, n.asker)
	}
	if r.Reply, err = n.cfg.Strict.Ask(ctx, &a); err == nil {
		if n.ops.end(sh.id, a.Op.Number); !r.Decision.Allowed {
			n.denials.learn(pl, sh.id, slices.Max(costs), q.each, r.sent, r.Decision, r.Which)
		}
		return r, 0, nil
	}
	if q.look || errors.Is(err, redis.ErrNotDone) {
		n.ops.end(sh.id, a.Op.Number)
		return r, 0, err
	}
	return r, a.Op.Number, err
}

// instead decides by the rules of the limits, because Redis can't be asked: of those that go on locally by the bucket that the owner of the
// key has of them in memory. What that admits is owed to Redis, unless the take op, of which nobody knows, was done.
func (pl *plan) instead(ctx context.Context, q *question, req *policy.Request, op strictOp, until time.Duration, inTime bool, d *policy.Decision) error {
	n := pl.node
	if pl.rules.denies >= 0 || pl.rules.locals == 0 {
		n.ops.end(op.shard.id, op.number)
		pl.unreachable(n.view.Load(), q, d)
		return nil
	}
	if q.instead = true; pl.rules.locals < len(pl.limits) { // what goes on whatever happens is not counted
		costs := make([]int64, len(pl.limits))
		of := pl.costsOf(q)
		for _, i := range pl.rules.local[:pl.rules.locals] {
			costs[i] = of[i]
		}
		if q.cost, q.each = slices.Max(costs), costs; q.hold != nil {
			q.hold.costs = costs
		}
	}
	var err error
	if inTime {
		err = pl.seek(ctx, q, req, until, d)
	} else {
		pl.unreachable(n.view.Load(), q, d)
	}
	switch {
	case err != nil || !d.Allowed || q.look:
		n.ops.end(op.shard.id, op.number)
	case q.hold != nil:
		q.hold.op = op // it is owed when it is committed
	default:
		n.oweStore(pl, op, pl.costsOf(q))
	}
	if !d.Degraded && err == nil { // else it was counted
		d.Degraded = true
		n.byRule[policy.UnreachableLocal].Add(1)
	}
	return err
}

// giveBack has given back what Redis has taken for a check that others have denied.
func (pl *plan) giveBack(q *question) {
	pl.give(q.hold.shard, q.hold.costs, q.hold.taken, q.hold.life)
}

func (pl *plan) give(sh shard, costs []int64, taken bucket.Instant, life time.Duration) {
	a := &redis.Ask{
		Do: redis.Give, Policy: pl.name, ID: sh.id, Limits: sh.limits, Costs: costs, Taken: taken, Chunk: life,
		Approximate: pl.strictness.Approximate,
	}
	pl.node.giving.Add(1)
	select {
	case pl.node.gives <- a:
	default: // far too many: it counts as used
		pl.node.giving.Add(-1)
	}
}

// maxGives bounds what waits to be given back.
const maxGives = 4096

// giveAllBack gives back until ctx ends.
func (n *Node) giveAllBack(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case a := <-n.gives:
			asking, done := context.WithTimeout(ctx, settleTimeout)
			if _, err := n.cfg.Strict.Ask(asking, a); err != nil {
				n.log.Debug("what a check has not used was not given back to redis", "policy", a.Policy, "error", err)
			}
			done()
			n.giving.Add(-1)
		}
	}
}

// never is no instant that comes.
const never = bucket.Instant(math.MaxInt64)

// checkStrict says what is in the way of policies that are strict.
func (n *Node) checkStrict(set *policy.Set) error {
	if n.cfg.Strict != nil || set == nil {
		return nil
	}
	for _, name := range set.Names() {
		p, err := set.Policy(name)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(p.Variants(), (*policy.Policy).IsStrict) {
			return fmt.Errorf("policy %s is strict, and this node was not told where Redis is: give it Strict (--redis redis://HOST:PORT), or the "+
				"policy another consistency", name)
		}
	}
	return nil
}
