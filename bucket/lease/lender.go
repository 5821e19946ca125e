package lease

import (
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// Lender is the owner's end of a group that is asked for at several nodes: the ledger, and who wants how much of it. Make
// it with NewLender.
type Lender struct {
	Ledger
	terms      Terms
	requesters []requester
	recall     recall
	local      Borrower // for checks made at the owner itself
	localSeq   uint64
	busy       bucket.Instant // when it was last worth having a lender
	renewals   int64
}

// requester is what is known of one node that asks.
type requester struct {
	name     string
	demand   Demand // as it says itself, or as counted
	counted  meter  // checks that came here, while it says nothing
	heard    bucket.Instant
	patience time.Duration  // how much longer than usual it may be silent: it was told to wait
	granted  bucket.Instant // when it last was considered for tokens
	size     int64          // what it got then
	factor   float64        // of the usual size: less after much came back unused
}

const (
	// MaxRequesters bounds the nodes that a lender knows; the one not heard of for longest makes room.
	MaxRequesters = 64
	// HotChecks is how many forwarded checks a second make a group worth a lender.
	HotChecks = 50
	coolAfter = 2 * time.Second // with less than half of it
	minFactor = 0.125
)

// NewLender returns a lender at now. The ids of its leases come after one that no lender of the group has reached.
func NewLender(limits []bucket.Limit, after ID, now bucket.Instant) *Lender {
	return &Lender{Ledger: Ledger{Last: after}, terms: TermsOf(limits), busy: now}
}

// Adopt brings a ledger's group to other limits of the same number at now: what had arrived by the old rates stays, a
// smaller burst cuts at once, below zero if more than it is out, and a larger one grants nothing. Leases come back as they
// are renewed.
func (l *Lender) Adopt(g Group, limits []bucket.Limit, now bucket.Instant) {
	l.Refill(g, now)
	for j := range g.States {
		s := &g.States[j]
		s.Adopt(g.Limits[j], limits[j], now)
		if most := limits[j].Burst - l.out; s.Tokens >= most {
			s.Tokens, s.Frac = most, 0
		}
	}
	l.terms = TermsOf(limits)
}

// Answered is what an owner says to a forwarded check, beside its decision.
type Answered struct {
	Decision bucket.Decision
	Which    int // limit of the group has spoken
	// Offer says that the requester would get a lease if it asked.
	Offer bool
	Deny  Deny
	// Recall says that every holder must be asked to give back.
	Recall bool
}

// Check decides a check that a requester has forwarded. d is the demand it reports, zero if it does not keep one.
func (l *Lender) Check(g Group, now bucket.Instant, who string, d Demand, cost int64) (a Answered) {
	r := l.requester(now, who)
	if d.Checks > 0 {
		r.demand = d
	} else {
		r.counted.add(now, cost)
		r.demand = r.counted.at(now)
		a.Offer = l.terms.worth(r.demand)
	}
	l.heard(now, r)
	l.tidyLocal(g, now)
	l.check(g, now, r, cost, &a)
	return a
}

func (l *Lender) check(g Group, now bucket.Instant, r *requester, cost int64, a *Answered) {
	l.Refill(g, now)
	l.recall.watch(now)
	a.Decision, a.Which = bucket.TakeAll(g.Limits, g.States, now, cost)
	r.patience = 0
	if a.Decision.Allowed {
		l.recall.passed(now, cost)
		return
	}
	a.Deny = Deny{For: l.denyFor(g, now, r, a.Which, a.Decision, cost), Cost: cost}
	r.patience = a.Deny.For
	if a.Recall = l.wanted(g, now, cost); a.Recall {
		l.giveBackLocal(g, now)
	}
	if l.recall.on(now) && l.terms.dear(cost) {
		a.Decision.RetryAfter = min(a.Decision.RetryAfter, TTL)
	}
}

// Look answers a check that takes nothing.
func (l *Lender) Look(g Group, now bucket.Instant, cost int64) (bucket.Decision, int) {
	l.Refill(g, now)
	return bucket.LookAll(g.Limits, g.States, now, cost)
}

// denyFor is how long a requester whose check was denied need not ask again: until the cost may fit, and not before its
// share has paid for it, so that all who wait do not come at once and one who asks often does not get all.
func (l *Lender) denyFor(g Group, now bucket.Instant, r *requester, which int, d bucket.Decision, cost int64) time.Duration {
	if d.Never() {
		return DenyMax
	}
	wait := d.RetryAfter
	if share := l.share(now, r, perSecond(g.Limits[which])); share*DenyMax.Seconds() <= float64(cost) {
		wait = DenyMax
	} else {
		wait = max(wait, time.Duration(float64(cost)/share*float64(time.Second)))
	}
	if l.terms.worth(r.demand) {
		wait = max(wait, l.terms.Pace)
	}
	return min(wait, DenyMax)
}

// Renew answers what a holder says about its lease, or that it wants one; false means that there is no answer.
func (l *Lender) Renew(g Group, now bucket.Instant, who string, req Request) (a Answer, ok bool) {
	r := l.requester(now, who)
	r.demand = req.Demand
	l.heard(now, r)
	l.recall.watch(now)
	if who != localName {
		l.tidyLocal(g, now)
	}
	var next time.Duration
	var saturated bool
	fresh := false
	answer, ok := l.Request(g, now, who, req, TTL, func() (tokens int64) {
		fresh = true
		tokens, saturated = l.size(g, now, r, req.Left)
		return tokens
	})
	if !ok {
		return a, false
	}
	l.renewals++
	if fresh { // else it is an old answer, said again
		r.granted, r.size = now, answer.Tokens
		if saturated {
			next = l.terms.Pace
		}
		answer.Next = next
		answer.Deny = l.denyRenewal(g, now, r, req, answer)
		answer.Recall = l.recall.on(now)
		r.patience = max(next, answer.Deny.For)
	}
	a = *answer
	a.Level = l.level(g, now)
	return a, true
}

// denyRenewal is the deny lease beside an answer without tokens, if there are none: not if merely no more may be lent, for
// then forwarded checks are still admitted.
func (l *Lender) denyRenewal(g Group, now bucket.Instant, r *requester, req Request, a *Answer) (deny Deny) {
	if a.Tokens > 0 || req.Left > 0 || !l.terms.lends(r.demand) {
		return deny
	}
	if d, which := bucket.LookAll(g.Limits, g.States, now, 1); !d.Allowed {
		deny = Deny{For: max(l.denyFor(g, now, r, which, d, 1), min(l.terms.Pace, DenyMax)), Cost: 1}
	}
	return deny
}

func (l *Lender) level(g Group, now bucket.Instant) Level {
	d, which := bucket.LookAll(g.Limits, g.States, now, 0)
	return Level{Which: uint8(which), Remaining: d.Remaining, ResetAfter: d.ResetAfter}
}

// size says how many tokens a requester gets on top of what it has left, and whether the bucket is so empty that it has to
// wait for the next.
func (l *Lender) size(g Group, now bucket.Instant, r *requester, left int64) (tokens int64, saturated bool) {
	if !l.terms.worth(r.demand) || l.recall.on(now) {
		return 0, false
	}
	r.adapt(now, left)
	pace, demand := l.terms.Pace, r.demand.Tokens
	for j, s := range g.States {
		rate := perSecond(g.Limits[j])
		reserve := float64(g.Limits[j].Burst) / reservePart
		saturated = saturated || float64(s.Tokens) < reserve+tokensIn(min(demand, rate), pace)
	}
	others := l.active(now, r)
	want := growth*tokensIn(demand, Target)*r.factor - float64(left)
	if saturated {
		want = growth*tokensIn(demand, pace) - float64(left)
	}
	for j, s := range g.States {
		limit := g.Limits[j]
		may := float64(limit.Burst)/lendPart - float64(l.out)
		if saturated {
			since := min(2*pace, time.Duration(now-r.granted))
			want = min(want, float64(s.Tokens), may, tokensIn(l.share(now, r, perSecond(limit)), since))
			continue
		}
		if others > 0 {
			may = may/2 + 0.5
		}
		want = min(want, (float64(s.Tokens)-float64(limit.Burst)/reservePart)/2, may)
	}
	return int64(max(want, 0)), saturated
}

// adapt makes leases smaller for a holder that comes back with much of one unused, and larger again if one is soon spent.
func (r *requester) adapt(now bucket.Instant, left int64) {
	switch {
	case r.size > 0 && left > r.size/2:
		r.factor = max(minFactor, r.factor/2)
	case r.size > 0 && left == 0 && now-r.granted < bucket.Instant(Target/2):
		r.factor = min(1, r.factor*2)
	}
}
