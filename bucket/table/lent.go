package table

import (
	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

// Lent is one hot group.
type Lent struct {
	ID       bucket.ID
	Limits   []bucket.Limit
	Out      int64
	Lendable int64
	Renewals int64 // since it became hot
	Holdings []lease.Holding
}

// Lent returns all hot groups as of now. It locks each partition in turn.
func (t *Table) Lent(now bucket.Instant) (all []Lent) {
	for i := range t.parts {
		p := &t.parts[i]
		p.mu.Lock()
		t.eachHot(p, func(w []uint64, g *Group) {
			var room [MaxStates]bucket.State
			h := t.open(p, w, g, &room)
			h.refill(now)
			p.close(w, &h)
			all = append(all, Lent{
				ID: bucket.ID{Hi: w[0], Lo: w[1]}, Limits: g.limits, Out: h.lender.Out(),
				Lendable: h.lender.Lendable(), Renewals: h.lender.Renewals(), Holdings: h.lender.Holdings(now),
			})
		})
		p.mu.Unlock()
	}
	return all
}

// LeaseStats is what a table has lent.
type LeaseStats struct {
	// Hot groups have been asked for often by other nodes; Out tokens of theirs are out, of the Lendable ones.
	Hot           int
	Out, Lendable int64
	// Burned tokens were lent, and neither reported as spent nor given back in time; Recalls asked all holders of a group
	// to give back. Both since the table was made.
	Burned, Recalls int64
}

// add adds what a partition has lent.
func (st *LeaseStats) add(ls *lenders) {
	if ls == nil {
		return
	}
	st.Burned += ls.burned
	st.Recalls += ls.recalls
	for _, l := range ls.at {
		if l.Lender == nil {
			continue
		}
		st.Hot++
		st.Out += l.Out()
		st.Lendable += l.Lendable()
		st.Burned += l.Burned()
		st.Recalls += l.Recalls()
	}
}
