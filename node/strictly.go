package node

import (
	"context"
	"errors"
	"fmt"
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

// strictly decides a check by limits that are strict: by what Redis has denied a moment ago, or by Redis, and if that can't be asked by the
// limits' rules. The error is that of ctx.
func (pl *plan) strictly(ctx context.Context, q *question, req *policy.Request, d *policy.Decision) error {
	if pl.denied(q, d) {
		return nil
	}
	until, inTime := pl.node.until(ctx)
	return pl.askAll(ctx, q, req, until, inTime, d)
}

// denied says whether Redis has denied as much a moment ago, and decides so.
func (pl *plan) denied(q *question, d *policy.Decision) bool {
	n := pl.node
	if !n.denials.denies(pl, q, n.clock.Now(), d) {
		return false
	}
	pl.count(q, false, decidedByDenial)
	return true
}

// askAll asks Redis, and then goes by the rules.
func (pl *plan) askAll(ctx context.Context, q *question, req *policy.Request, until time.Duration, inTime bool, d *policy.Decision) error {
	op, decided, err := pl.askStrict(ctx, q, until, d)
	if decided || err != nil {
		return err
	}
	return pl.instead(ctx, q, req, op, until, inTime, d)
}

// askStrict asks Redis. If it has not decided op is the take of which nobody knows if it was done, or 0. The error is that of ctx.
func (pl *plan) askStrict(ctx context.Context, q *question, until time.Duration, d *policy.Decision) (op uint64, decided bool, err error) {
	n := pl.node
	patience := min(until-n.elapsed(), time.Duration(strictPart*float64(n.cfg.Deadline)))
	if n.cfg.Strict == nil || patience <= 0 {
		return 0, false, nil
	}
	a := redis.Ask{Do: redis.Look, Policy: pl.name, ID: q.id, Limits: pl.group.Limits(), Costs: pl.costsOf(q)}
	if !q.look {
		a.Do, a.Op = redis.Take, n.ops.begin(q.id, n.asker)
	}
	asking, done := context.WithTimeout(ctx, patience)
	sent := n.clock.Now()
	r, err := n.cfg.Strict.Ask(asking, &a)
	done()
	if err == nil {
		if n.ops.end(q.id, a.Op.Number); !r.Decision.Allowed {
			n.denials.learn(pl, q, sent, r)
		} else if q.hold != nil {
			q.hold.at, q.hold.ends, q.hold.taken = heldInStore, never, r.At
		}
		pl.tell(d, r.Decision, r.Which, policy.Redis, n.name)
		pl.count(q, d.Allowed, decidedByRedis)
		return 0, true, nil
	}
	if ctx.Err() != nil || q.look || errors.Is(err, redis.ErrNotDone) {
		n.ops.end(q.id, a.Op.Number)
		return 0, false, ctx.Err()
	}
	return a.Op.Number, false, nil
}

// instead decides by the rules of the limits, because Redis can't be asked: of those that go on locally by the bucket that the owner of the
// key has of them in memory. What that admits is owed to Redis, unless the take op, of which nobody knows, was done.
func (pl *plan) instead(ctx context.Context, q *question, req *policy.Request, op uint64, until time.Duration, inTime bool, d *policy.Decision) error {
	n := pl.node
	if pl.rules.denies >= 0 || pl.rules.locals == 0 {
		n.ops.end(q.id, op)
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
		n.ops.end(q.id, op)
	case q.hold != nil:
		q.hold.op = op // it is owed when it is committed
	default:
		n.oweStore(pl, q, op)
	}
	if !d.Degraded && err == nil { // else it was counted
		d.Degraded = true
		n.byRule[policy.UnreachableLocal].Add(1)
	}
	return err
}

// giveBack has given back what Redis has taken for a check that others have denied.
func (pl *plan) giveBack(q *question) {
	a := &redis.Ask{Do: redis.Give, Policy: pl.name, ID: q.id, Limits: pl.group.Limits(), Costs: q.hold.costs, Taken: q.hold.taken}
	select {
	case pl.node.gives <- a:
	default: // far too many: it counts as used
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
		}
	}
}

// never is no instant that comes.
const never = bucket.Instant(1<<63 - 1)

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
		if p.IsStrict() {
			return fmt.Errorf("policy %s is strict, and this node was not told where Redis is: give it Strict (--redis redis://HOST:PORT), or the "+
				"policy another consistency", name)
		}
	}
	return nil
}
