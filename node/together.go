package node

import (
	"cmp"
	"context"
	"errors"
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

// together is one check under way, of all that it is decided by.
type together []leg

// leg is what the check asks of one key. What one in shadow mode answers is told, and does not count.
type leg struct {
	plan   *plan
	req    policy.Request // with its own key
	shadow bool
	alone  bool // nothing but Redis decides its request, among others that are decided with it
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

// check has all legs decide, and tells what they say together.
func (legs together) check(ctx context.Context, n *Node, d *policy.Decision) error {
	came, err := legs.decide(ctx, n)
	if err == nil {
		legs.tell(came, d)
	}
	return err
}

// decide has all legs decide.
func (legs together) decide(ctx context.Context, n *Node) (came outcome, err error) {
	until, inTime := n.until(ctx)
	if n.specials.count.Load() != 0 {
		for i := range legs {
			if err := legs[i].know(); err != nil {
				return came, err
			}
		}
	}
	for attempt := 1; ; attempt++ {
		n.ask(ctx, legs, until, inTime)
		came, done, err := legs.settle(n, attempt == holdAttempts || n.elapsed() >= until)
		if done || err != nil {
			return came, err
		}
	}
}

// ask has every leg answered: what other nodes decide at the same time.
func (n *Node) ask(ctx context.Context, legs together, until time.Duration, inTime bool) {
	id := lease.HoldID{Node: n.holder, Number: n.holds.Add(1)}
	v := n.view.Load()
	for i := range legs { // first what takes a while
		l := &legs[i]
		if l.q.free {
			continue
		}
		l.d, l.err, l.link, l.call, l.done = policy.Decision{}, nil, nil, nil, false
		if l.q.instead { // it was asked for a part
			l.q.instead = false
			if l.err = l.plan.cost(&l.req, &l.q); l.err != nil {
				continue
			}
		}
		if !l.q.look && !l.q.refund {
			l.q.hold = &pledge{id: legs.holdID(n, id, i), life: min(max(until-n.elapsed(), 0)+holdLife, lease.TTL), costs: l.plan.costsOf(&l.q)}
		}
		if owner := v.owner(l.q.part); owner != v.self && !l.plan.strict {
			if l.done = l.plan.borrowed(v.link(owner), &l.q, n.clock.Now(), &l.d); l.done {
				continue
			}
			if l.link = v.link(owner); l.link != nil && inTime {
				l.call = l.plan.begin(&l.q, l.link, until)
			}
		}
	}
	for i := range legs {
		if l := &legs[i]; !l.done && !l.plan.strict && v.owner(l.q.part) == v.self {
			l.done = l.plan.own(&l.q, n.clock.Now(), &l.d)
		}
	}
	for i := range legs {
		if l := &legs[i]; l.call != nil && !l.shadow {
			l.done, l.err = l.plan.finish(ctx, &l.q, &l.req, l.link, l.call, &l.d)
		}
	}
	legs.finishShadows(ctx, n)
	for i := range legs {
		if l := &legs[i]; l.q.told {
			l.turn()
		}
	}
	var seeking sync.WaitGroup // seldom
	for i := range legs {
		if l := &legs[i]; !l.done && l.err == nil && !l.plan.strict {
			seeking.Go(func() {
				if inTime {
					l.err = l.plan.seek(ctx, &l.q, &l.req, until, &l.d)
					l.turned()
				} else {
					l.plan.unreachable(n.view.Load(), &l.q, &l.d)
				}
			})
		}
	}
	seeking.Wait()
	legs.askStrict(ctx, until, inTime)
}

// holdID names what leg i holds. Holds of one bucket have different names.
func (legs together) holdID(n *Node, id lease.HoldID, i int) lease.HoldID {
	for j := range legs[:i] {
		if legs[j].q.id == legs[i].q.id {
			id.Number = n.holds.Add(1)
			break
		}
	}
	return id
}

// askStrict has the legs answered that Redis decides, at the same time. If another has denied, it is only asked how those stand of which
// nothing else could tell.
func (legs together) askStrict(ctx context.Context, until time.Duration, inTime bool) {
	denied := false
	for i := range legs {
		l := &legs[i]
		denied = denied || !l.plan.strict && !l.shadow && (l.err != nil || !l.d.Allowed)
	}
	var asking sync.WaitGroup
	for i := range legs {
		switch l := &legs[i]; {
		case !l.plan.strict:
		case denied && !(l.alone && !l.shadow): // so it is not asked, and does not speak
			l.done, l.q.hold, l.d = true, nil, policy.Decision{Allowed: true, Remaining: bucket.MaxTokens}
		case l.shadow:
			asking.Go(func() { l.askShadow(ctx, until) })
		default:
			if denied {
				l.q.hold, l.q.look = nil, true
			}
			asking.Go(func() {
				if l.done = true; !l.plan.denied(&l.q, &l.d) {
					l.err = l.plan.askAll(ctx, &l.q, &l.req, until, inTime, &l.d)
				}
			})
		}
	}
	asking.Wait()
}

// askShadow asks Redis for a leg in shadow mode, for a moment at most.
func (l *leg) askShadow(ctx context.Context, until time.Duration) {
	n := l.plan.node
	op, decided, err := l.plan.askStrict(ctx, &l.q, min(until, n.elapsed()+shadowPatience), &l.d)
	n.ops.end(op.shard.id, op.number)
	if l.done, l.err = decided, err; !decided && err == nil {
		l.err = errUnseen
	}
}

// know turns to the limits that the key is known to have of its own.
func (l *leg) know() error {
	_, err := l.plan.known(&l.req, &l.q, &l.d)
	l.turned()
	return err
}

// turn turns to the limits that the owner of the key has said it has.
func (l *leg) turn() {
	var by *plan
	by, l.err = l.plan.turn(&l.req, &l.q, &l.d)
	l.done = by == nil
	l.turned()
}

// turned takes in that a question was asked with other limits, or that nothing limits its key. Then it is no leg that denies, or speaks if
// another can.
func (l *leg) turned() {
	switch {
	case l.q.free:
		l.done, l.d.Remaining = true, bucket.MaxTokens
	case l.q.by != nil:
		l.plan = l.q.by
	}
}

// errUnseen is the error of a leg in shadow mode that nobody has answered soon enough.
var errUnseen = errors.New("a limit in shadow mode was not asked in time")

// finishShadows waits for the legs in shadow mode as long as an answer usually takes, since they were asked, and no longer: what is only
// tried out holds nobody up.
func (legs together) finishShadows(ctx context.Context, n *Node) {
	for i := range legs {
		l := &legs[i]
		if !l.shadow || l.done || l.plan.strict {
			continue
		}
		if l.call != nil {
			waiting, cancel := context.WithTimeout(ctx, max(0, l.call.begun+max(shadowPatience, shadowTrips*l.link.trip.get())-n.elapsed()))
			l.done, l.err = l.plan.finish(waiting, &l.q, &l.req, l.link, l.call, &l.d)
			cancel()
		}
		if !l.done {
			l.err = errUnseen
		}
	}
}

// A leg in shadow mode is waited for as long as shadowTrips round trips take, and for shadowPatience at least: how long one takes is only
// learnt from those that were waited for.
const (
	shadowTrips    = 2
	shadowPatience = 5 * time.Millisecond
)

// costsOf returns what a question costs each limit.
func (pl *plan) costsOf(q *question) []int64 {
	if len(q.each) > 0 {
		return q.each
	}
	return slices.Repeat([]int64{q.cost}, len(pl.limits))
}

// settle ends all holds of a check, and says what comes of it. done is false if some hold has ended too early and it should be tried
// again.
func (legs together) settle(n *Node, last bool) (came outcome, done bool, err error) {
	now := n.clock.Now()
	admit, stand := true, true
	for i := range legs {
		l := &legs[i]
		if l.shadow {
			continue
		}
		err = cmp.Or(err, l.err)
		admit = admit && l.d.Allowed && l.err == nil
		stand = stand && (l.q.hold == nil || l.q.hold.stands(now))
	}
	commit := legs.end(n, now, admit && stand)
	if admit && !commit && !last {
		return came, false, err
	}
	came = outcome{admitted: admit && commit, late: admit && !commit}
	legs.count(came.admitted, err)
	return came, true, err
}

// outcome is what comes of a check.
type outcome struct {
	admitted bool
	late     bool // all would have admitted, but not at a time
}

// tell puts what legs of a check say into one decision: that of all legs, or, of a check of several requests, of those of one.
func (legs together) tell(came outcome, d *policy.Decision) {
	speaks := 0
	for i := range legs {
		if i > 0 && legs.speaksFor(i, speaks) {
			speaks = i
		}
	}
	if *d = legs[speaks].d; legs[speaks].q.free { // so all are
		d.Remaining = 0
	}
	for i := range legs {
		l := &legs[i]
		if l.shadow {
			d.ShadowDenied = d.ShadowDenied || l.err == nil && !l.d.Allowed
			continue
		}
		d.Degraded = d.Degraded || l.d.Degraded
		if d.Allowed {
			d.RetryAfter = max(d.RetryAfter, l.d.Wait())
		}
	}
	switch {
	case legs[speaks].shadow: // so all are
		d.Allowed, d.Degraded, d.Overage, d.Never, d.RetryAfter = true, false, false, false, 0
		d.DecidedBy, d.Policy = policy.Shadow, legs[speaks].plan.name
	case came.late:
		d.Allowed, d.Overage, d.RetryAfter = false, false, retryHolds
	}
}

// count counts what came of a check.
func (legs together) count(admitted bool, err error) {
	for i := range legs {
		l := &legs[i]
		switch h := l.q.hold; {
		case h == nil || err != nil:
		case l.shadow:
			if l.err == nil && admitted {
				l.plan.add(l.q.part, l.d.Allowed, decidedInShadow)
			}
		case i == 0 || admitted || !l.d.Allowed:
			l.plan.add(l.q.part, admitted, h.by)
		}
	}
}

// end commits all that is held, or puts it back, and says which. First comes what is held in purses, whose leases may have ended.
func (legs together) end(n *Node, now bucket.Instant, commit bool) bool {
	for _, purses := range []bool{true, false} {
		for i := range legs {
			l := &legs[i]
			if h := l.q.hold; h != nil && !l.shadow && (h.at == heldInPurse) == purses && !n.end(l.plan, &l.q, now, commit) {
				commit = false // what another purse has paid is spent for nothing
			}
		}
	}
	for i := range legs {
		if l := &legs[i]; l.shadow && l.q.hold != nil {
			n.end(l.plan, &l.q, now, commit && l.q.hold.stands(now))
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
	case a.shadow != b.shadow:
		return b.shadow
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
