package lease

import (
	"math"
	"slices"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// Lender is the owner's end of a group that is asked for at several nodes: the ledger, and who wants how much of it.
// Make it with NewLender.
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
	size     int64          // what it had after that
	unpaid   time.Duration  // how much of its time since then it was not paid for
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

// Adopt is Ledger.Adopt for a group that is lent from.
func (l *Lender) Adopt(g *bucket.Group, limits []bucket.Limit, now bucket.Instant) {
	l.Ledger.Adopt(g, limits, now)
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

// Check decides a check that a requester has forwarded. d is the demand it reports, zero if it does not keep one. If costs differ,
// each has those of all limits, and cost is the largest of them.
func (l *Lender) Check(g *bucket.Group, now bucket.Instant, who string, d Demand, cost int64, each ...int64) (a Answered) {
	a.Offer = l.hear(now, who, d, cost)
	l.tidyLocal(g, now)
	l.check(g, now, l.requester(now, who), cost, each, &a)
	return a
}

func (l *Lender) check(g *bucket.Group, now bucket.Instant, r *requester, cost int64, each []int64, a *Answered) {
	l.Refill(g, now)
	l.recall.watch(now)
	a.Decision, a.Which = g.TakeEach(now, cost, each)
	r.patience = 0
	if a.Decision.Allowed {
		l.recall.passed(now, cost)
		return
	}
	if len(each) > 0 { // other costs may fit though one of them is higher
		return
	}
	a.Deny = Deny{For: l.denyFor(g, now, r, a.Which, a.Decision, cost), Cost: cost}
	if len(l.holds) > 0 { // any of which may be put back
		a.Deny.For = min(a.Deny.For, HeldDeny)
	}
	r.patience = a.Deny.For
	if a.Recall = l.wanted(g, now, cost); a.Recall {
		l.giveBackLocal(g, now)
	}
	if l.recall.on(now) && l.terms.dear(cost) {
		a.Decision.RetryAfter = min(a.Decision.RetryAfter, TTL)
	}
}

// denyFor is how long a requester whose check was denied need not ask again: until the cost may fit, and not before its
// share has paid for it, so that all who wait do not come at once and one who asks often does not get all. The share is
// what it would get if it asked for all it can: who asks for less does not have to wait for longer.
func (l *Lender) denyFor(g *bucket.Group, now bucket.Instant, r *requester, which int, d bucket.Decision, cost int64) time.Duration {
	if d.Never() {
		return DenyMax
	}
	wait := d.RetryAfter
	if g.Limits[which].Algorithm != bucket.TokenBucket { // nothing flows into a window
		return min(wait, DenyMax)
	}
	if share := l.share(now, r, perSecond(g.Limits[which]), math.Inf(1)); share*DenyMax.Seconds() <= float64(cost) {
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
func (l *Lender) Renew(g *bucket.Group, now bucket.Instant, who string, req Request) (a Answer, ok bool) {
	return l.renew(g, now, who, req, false)
}

// Wind is Renew for a lease of limits that are not those of the group any more: the holder gets no more, and is asked for what it has.
func (l *Lender) Wind(g *bucket.Group, now bucket.Instant, who string, req Request) (a Answer, ok bool) {
	return l.renew(g, now, who, req, true)
}

func (l *Lender) renew(g *bucket.Group, now bucket.Instant, who string, req Request, winds bool) (a Answer, ok bool) {
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
	life := l.life(g, now)
	answer, ok := l.Request(g, now, who, req, life, func() (tokens int64) {
		fresh = true
		if life < minLife || winds {
			return 0
		}
		tokens, saturated = l.size(g, now, r, req.Left)
		return tokens
	})
	if !ok {
		return a, false
	}
	l.renewals++
	if fresh { // else it is an old answer, said again
		r.granted, r.size = now-bucket.Instant(min(r.unpaid, l.terms.Pace)), req.Left+answer.Tokens
		if saturated {
			next = l.spread(l.terms.Pace)
		}
		answer.Next = next
		answer.Deny = l.denyRenewal(g, now, r, req, answer)
		answer.Recall = winds || l.recall.on(now)
		r.patience = max(next, answer.Deny.For)
	}
	a = *answer
	a.Level = l.level(g, now)
	return a, true
}

// life is how long a lease lives: it dies with the first window of the group, and burns before that ends, so that nothing of it is
// left in the next one.
func (l *Lender) life(g *bucket.Group, now bucket.Instant) time.Duration {
	return HoldLife(g, now, TTL)
}

// Hold is Ledger.Hold for a group that is lent from, for a requester as in Check, or, if who is "", for the owner's own callers. What
// these have on lease comes back for it, and what others have is asked for.
func (l *Lender) Hold(
	g *bucket.Group, now bucket.Instant, who string, d Demand, id HoldID, life time.Duration, costs []int64,
) (a Answered) {
	if who != "" && len(costs) > 0 {
		a.Offer = l.hear(now, who, d, slices.Max(costs))
	}
	a.Decision, a.Which = l.Ledger.Hold(g, now, id, life, costs)
	if !a.Decision.Allowed && l.local.Left(now) > 0 {
		l.giveBackLocal(g, now)
		a.Decision, a.Which = l.Ledger.Hold(g, now, id, life, costs)
	}
	if l.recall.watch(now); !a.Decision.Allowed && len(costs) > 0 {
		a.Recall = l.wanted(g, now, slices.Max(costs))
	}
	return a
}

// hear takes in what a requester asks for, and says whether it is to be offered a lease.
func (l *Lender) hear(now bucket.Instant, who string, d Demand, cost int64) (offer bool) {
	r := l.requester(now, who)
	if d.Checks > 0 {
		r.demand = d
	} else {
		r.counted.add(now, cost)
		r.demand = r.counted.at(now)
		offer = l.terms.worth(r.demand)
	}
	l.heard(now, r)
	return offer
}

// spread varies a pace period by an eighth, so that holders whose renewals have come to arrive together, where the last
// of them finds nothing left time and again, come apart. Successive ones land far from each other.
func (l *Lender) spread(pace time.Duration) time.Duration {
	const golden = 0x9E3779B97F4A7C15 // 2^64 / the golden ratio
	turn := uint64(l.renewals) * golden >> 32
	return pace - pace/8 + time.Duration(uint64(pace/4)*turn>>32)
}

// denyRenewal is the deny lease beside an answer without tokens, if there are none: not if merely no more may be lent,
// for then forwarded checks are still admitted.
func (l *Lender) denyRenewal(g *bucket.Group, now bucket.Instant, r *requester, req Request, a *Answer) (deny Deny) {
	if a.Tokens > 0 || req.Left > 0 || !l.terms.lends(r.demand) {
		return deny
	}
	if d, which := g.Look(now, 1); !d.Allowed {
		deny = Deny{For: max(l.denyFor(g, now, r, which, d, 1), min(l.terms.Pace, DenyMax)), Cost: 1}
	}
	return deny
}

func (l *Lender) level(g *bucket.Group, now bucket.Instant) Level {
	d, which := g.Look(now, 0)
	return Level{Which: uint8(which), Remaining: d.Remaining, ResetAfter: d.ResetAfter}
}
