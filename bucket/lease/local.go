package lease

import "github.com/drossel-dev/drossel/bucket"

// The owner's own callers are one requester among the others: if they took from the bucket whenever there is a token,
// no other node would ever get one.

// localName is the owner as a holder of its own.
const localName = ""

// Local decides a check that was made at the owner itself, at costs as for Check.
func (l *Lender) Local(g *bucket.Group, now bucket.Instant, cost int64, each ...int64) (a Answered) {
	b := &l.local
	b.Terms = l.terms
	r := l.requester(now, localName)
	r.heard, r.patience = now, 0
	l.recall.watch(now)
	if l.active(now, r) == 0 || l.recall.on(now) { // nobody else wants any, or may have any: as with any bucket
		b.demand.add(now, cost)
		r.demand = b.demand.at(now)
		l.giveBackLocal(g, now)
		l.check(g, now, r, cost, each, &a)
		return a
	}
	v := b.Check(now, cost, 0, each...)
	r.demand = b.demand.at(now)
	if v != Spent && b.Due(now, 0, v == Forward) == Renewal {
		l.renewLocal(g, now)
		if b.Spend(now, cost, each...) {
			b.used, v = now, Spent
		}
	}
	switch v {
	case Forward:
		l.check(g, now, r, cost, each, &a)
		b.Told(now, g.Limits, cost, a.Decision, a.Which, a.Deny)
	default:
		l.Refill(g, now)
		b.see(g.Limits, l.level(g, now), now)
		a.Decision, a.Which = b.Decision(g.Limits, now, cost, v)
		if v == Denied {
			if a.Recall = l.wanted(g, now, cost); a.Recall {
				l.giveBackLocal(g, now)
			}
		}
	}
	return a
}

func (l *Lender) renewLocal(g *bucket.Group, now bucket.Instant) {
	l.localSeq++
	req := l.local.Renew(now, Number{Seq: l.localSeq})
	if a, ok := l.Renew(g, now, localName, req); ok {
		l.local.Answer(now, g.Limits, &a, 0)
	}
}

// tidyLocal ends the owner's own lease if nobody uses it.
func (l *Lender) tidyLocal(g *bucket.Group, now bucket.Instant) {
	if l.local.Due(now, 0, false) == Return {
		l.giveBackLocal(g, now)
	}
}

// TakeBack ends the owner's own lease at now: the group is about to move, and nobody spends from it here any more.
func (l *Lender) TakeBack(g *bucket.Group, now bucket.Instant) { l.giveBackLocal(g, now) }

// giveBackLocal ends the owner's own lease.
func (l *Lender) giveBackLocal(g *bucket.Group, now bucket.Instant) {
	if back, ok := l.local.Close(now); ok {
		l.Request(g, now, localName, back, TTL, nil)
	}
}
