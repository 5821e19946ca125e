package lease

import (
	"math"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// size says how many tokens a requester gets on top of what it has left, and whether the bucket is so empty that it
// then has to wait.
func (l *Lender) size(g *bucket.Group, now bucket.Instant, r *requester, left int64) (tokens int64, saturated bool) {
	r.unpaid = 0
	if !l.terms.worth(r.demand) || l.recall.on(now) {
		return 0, false
	}
	r.adapt(now, left)
	if l.saturated(g, r) {
		return l.ration(g, now, r, left), true
	}
	want := growth*tokensIn(r.demand.Tokens, Target)*r.factor - float64(left)
	for j, s := range g.States {
		burst := float64(g.Limits[j].Burst)
		may := burst/lendPart - float64(l.out)
		if l.active(now, r) > 0 {
			may = may/2 + 0.5 // something is left for whoever comes next
		}
		want = min(want, may, (float64(s.Tokens)-burst/reservePart)/2)
	}
	return int64(max(want, 0)), false
}

// saturated says whether some state has no more than the reserve and what this requester could use up in a pace period:
// from there on it is rationed.
func (l *Lender) saturated(g *bucket.Group, r *requester) bool {
	for j, s := range g.States {
		limit := g.Limits[j]
		soon := tokensIn(min(r.demand.Tokens, perSecond(limit)), l.terms.Pace)
		if float64(s.Tokens) < float64(limit.Burst)/reservePart+soon {
			return true
		}
	}
	return false
}

// ration is a requester's share of the rate since it last got some. What can't be paid now is owed.
func (l *Lender) ration(g *bucket.Group, now bucket.Instant, r *requester, left int64) int64 {
	gets := growth*tokensIn(r.demand.Tokens, l.terms.Pace) - float64(left)
	since := min(2*l.terms.Pace, time.Duration(now-r.granted))
	due, least := gets, math.Inf(1)
	for j, s := range g.States {
		limit := g.Limits[j]
		rate := perSecond(limit)
		if rate == 0 {
			return 0 // what is there is for forwarded checks
		}
		share := l.share(now, r, rate, visible*r.demand.Tokens)
		due = min(due, tokensIn(share, since)*steer(float64(s.Tokens), tokensIn(rate, l.terms.Pace)))
		gets = min(gets, due, float64(s.Tokens), float64(limit.Burst)/lendPart-float64(l.out))
		least = min(least, share)
	}
	tokens := int64(max(gets, 0))
	if least > 0 {
		r.unpaid = time.Duration(max(due-float64(tokens), 0) / least * float64(time.Second))
	}
	return tokens
}

// steer is by how much shares are paid short or over, so that the level of a rationed bucket stays about half of what
// comes in a pace period. If each were paid exactly what is due, the level would stay wherever it once fell, and near
// zero who finds something would be luck.
func steer(level, period float64) float64 {
	const most = 0.05
	return 1 - most + 2*most*min(1, level/period)
}

// adapt makes leases smaller for a holder that after some time still has much of one, and larger again if one is soon
// spent.
func (r *requester) adapt(now bucket.Instant, left int64) {
	switch took := now - r.granted; {
	case r.size > 0 && left > r.size/2 && took >= bucket.Instant(Target):
		r.factor = max(minFactor, r.factor/2)
	case r.size > 0 && left == 0 && took < bucket.Instant(Target/2):
		r.factor = min(1, r.factor*2)
	}
}
