package lease

import "github.com/drossel-dev/drossel/bucket"

// recall asks all leases back for a cost that only all tokens together can pay. Lending stops meanwhile.
type recall struct {
	until bucket.Instant // 0 if there is none
	cost  int64          // it ends when as much has passed
	again bucket.Instant // none starts before
	count int64          // since the ledger began
}

func (r *recall) on(now bucket.Instant) bool { return ahead(now, r.until) }

// watch notes that a recall has had its time: the next has to wait, or a cost that never passes would keep everything
// from being lent for ever.
func (r *recall) watch(now bucket.Instant) {
	if r.until != 0 && now >= r.until {
		r.again = r.until + bucket.Instant(TTL)
		r.until = 0
	}
}

// passed ends the recall once its cost has been admitted.
func (r *recall) passed(now bucket.Instant, cost int64) {
	if r.on(now) && cost >= r.cost {
		r.until = 0
	}
}

// wanted starts a recall if it helps a cost that was denied, and says whether the holders have to be told.
func (l *Lender) wanted(g *bucket.Group, now bucket.Instant, cost int64) bool {
	if !l.terms.dear(cost) || l.out < 1 {
		return false
	}
	for _, s := range g.States {
		if cost > s.Tokens+l.out {
			return false
		}
	}
	if l.recall.on(now) {
		l.recall.cost = max(l.recall.cost, cost)
		return false
	}
	if ahead(now, l.recall.again) {
		return false
	}
	l.recall = recall{until: now + bucket.Instant(TTL), cost: cost, again: l.recall.again, count: l.recall.count + 1}
	return true
}

// Recalls returns how many recalls there were since the lender was made.
func (l *Lender) Recalls() int64 { return l.recall.count }
