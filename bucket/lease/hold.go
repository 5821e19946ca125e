package lease

import (
	"slices"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// A check over several keys holds its cost at every owner first, and commits when all of them hold it. A hold is in O
// until it is committed, put back, or its life has ended: then it burns, for it may have been committed.

// HoldID names a hold. The node that coordinates the check chooses it and never uses it twice.
type HoldID struct{ Node, Number uint64 }

type hold struct {
	id    HoldID
	costs []int64 // by state
	cost  int64   // the largest of them: what counts in O
	taken bucket.Instant
	ends  bucket.Instant
}

// Hold takes costs, one for each limit, aside for life; the answer is that of a take, which is an admission if they are held. Asked
// again with the same id it holds nothing more, and says so again; for no time, or for other costs than there are limits, it holds
// nothing. life is what the coordinator may count on from when it first sent: the caller has cut it at the edge of a window.
func (l *Ledger) Hold(g *bucket.Group, now bucket.Instant, id HoldID, life time.Duration, costs []int64) (d bucket.Decision, which int) {
	l.Refill(g, now)
	if l.findHold(id) >= 0 {
		return g.Look(now, 0)
	}
	if life <= 0 || len(costs) != len(g.States) || slices.Min(costs) < 0 {
		return d, 0
	}
	if d, which = g.TakeEach(now, 0, costs); !d.Allowed {
		return d, which
	}
	h := hold{id: id, costs: slices.Clone(costs), cost: slices.Max(costs), taken: now, ends: now + burnAfter(life)}
	for _, s := range g.States { // which may have seen a later instant, and count it as taken then
		h.taken = max(h.taken, s.Last)
	}
	l.out += h.cost
	l.holds = append(l.holds, h)
	l.burnsAt(h.ends)
	return d, which
}

// HoldLife is for how long a group can hold something at now that is asked for as long as life: it dies with the first window.
func HoldLife(g *bucket.Group, now bucket.Instant, life time.Duration) time.Duration {
	edge := g.Edge(now)
	return min(life, edge-edge/(burnSlack+1)-1)
}

// Commit spends a hold for good. An unknown one, which was put back or has burned, is ignored: false.
func (l *Ledger) Commit(g *bucket.Group, now bucket.Instant, id HoldID) bool {
	l.Refill(g, now)
	i := l.findHold(id)
	if i < 0 {
		return false
	}
	l.spend(g, now, i)
	return true
}

// PutBack undoes a hold. An unknown one is ignored: false.
func (l *Ledger) PutBack(g *bucket.Group, now bucket.Instant, id HoldID) bool {
	l.Refill(g, now)
	i := l.findHold(id)
	if i < 0 {
		return false
	}
	for j, cost := range l.holds[i].costs {
		g.Restore(j, cost, l.holds[i].taken)
	}
	l.drop(i)
	return true
}

func (l *Ledger) findHold(id HoldID) int {
	return slices.IndexFunc(l.holds, func(h hold) bool { return h.id == id })
}

// spend ends a hold whose cost has been used, or may have been, until now.
func (l *Ledger) spend(g *bucket.Group, now bucket.Instant, i int) {
	for j, cost := range l.holds[i].costs {
		g.Settle(j, cost, l.holds[i].taken, now)
	}
	l.drop(i)
}

func (l *Ledger) drop(i int) {
	l.out -= l.holds[i].cost
	l.holds = slices.Delete(l.holds, i, i+1)
}

// Pledge is a hold as its coordinator sees it.
type Pledge struct {
	// Sent is when it was asked for, the first time.
	Sent bucket.Instant
	// Life is what the owner granted.
	Life time.Duration
}

// Stands says whether the coordinator may still commit at now.
func (p Pledge) Stands(now bucket.Instant) bool { return now < p.Sent+bucket.Instant(p.Life) }

// settlement is one that was applied.
type settlement struct {
	id      HoldID
	forgets bucket.Instant
}

// Settle gives tokens back to every state, or takes them if negative, once for each id: the actual cost of a check that
// was admitted at an estimate. What was reported as spent goes this way and never back into a purse. It is remembered
// for keep; false means that it was applied before.
func (l *Ledger) Settle(g *bucket.Group, now bucket.Instant, id HoldID, tokens int64, keep time.Duration) bool {
	l.Refill(g, now)
	l.settled = slices.DeleteFunc(l.settled, func(s settlement) bool { return s.forgets <= now })
	if slices.ContainsFunc(l.settled, func(s settlement) bool { return s.id == id }) {
		return false
	}
	l.settled = append(l.settled, settlement{id, now + bucket.Instant(keep)})
	for j := range g.States {
		s := &g.States[j]
		if room := g.Limits[j].Burst - l.out - s.Tokens; tokens < room {
			s.Tokens += tokens
		} else if room >= 0 {
			s.Tokens, s.Frac = s.Tokens+room, 0
		}
	}
	return true
}

func (l *Ledger) settling(now bucket.Instant) bool {
	return slices.ContainsFunc(l.settled, func(s settlement) bool { return s.forgets > now })
}
