package lease

import (
	"math"
	"slices"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// Ledger is the owner's account of what it has out of one group: a token is lent from all of its limits at once. The states of the group and the ledger change
// together: whoever uses a ledger passes the same states each time, and lets nobody else refill them while anything is
// out.
//
// What is out counts against the capacity of the bucket, so that at all times b + O <= C for every state, where of a
// hold with different costs each state counts its own. That, and that a token is in one place only, is why leases
// cannot over-admit; DESIGN.md has the proof.
type Ledger struct {
	// Last is the id of the newest lease. Set it once to where ids begin, so that no ledger of the group ever used a later
	// one.
	Last ID

	out     int64 // O: what is left in all entries, and all holds
	burned  int64
	entries []entry
	holds   []hold
	settled []settlement
	soonest bucket.Instant // nothing burns before; means nothing while there is nothing to
}

// entry is what one incarnation of a holder has. A holder that has started again knows nothing of what it had, and yet
// the process before it may still be there and spend: each has an entry of its own, and the old one burns in its time.
type entry struct {
	holder string
	lease  ID
	number Number // of the last request that was answered
	answer Answer // to it
	left   int64  // granted, and not reported as spent: at least what the holder has
	spent  int64  // as last reported
	under  []int64
	burns  bucket.Instant // when left is given up for lost
}

// Out returns how many tokens are out: an over-estimate of what holders can still spend.
func (l *Ledger) Out() int64 { return l.out }

// Burned returns how many tokens were lost since the ledger began: lent, and neither reported as spent nor given back
// in time.
func (l *Ledger) Burned() int64 { return l.burned }

// Idle says that nothing is out and nothing has to be remembered at now.
func (l *Ledger) Idle(now bucket.Instant) bool {
	return len(l.entries) == 0 && len(l.holds) == 0 && !l.settling(now)
}

// Held returns what a holder may have, at the most.
func (l *Ledger) Held(holder string) (tokens int64) {
	for i := range l.entries {
		if e := &l.entries[i]; e.holder == holder {
			tokens += e.left
		}
	}
	return tokens
}

// Refill brings every state up to now, but only to what is not out. It never lowers one.
//
// What burns on the way is taken off at the instant it burns: a bucket looked at late would else have filled up where
// what was lent, and may have been spent at the last moment, still stood in the way.
func (l *Ledger) Refill(g *bucket.Group, now bucket.Instant) {
	for len(l.entries)+len(l.holds) > 0 && l.soonest <= now {
		if l.soonest = l.nextBurn(); l.soonest <= now {
			l.fill(g, l.soonest)
			l.burn(g, l.soonest)
		}
	}
	l.fill(g, now)
}

func (l *Ledger) fill(g *bucket.Group, now bucket.Instant) { g.Refill(now, l.out) }

func (l *Ledger) nextBurn() bucket.Instant {
	at := bucket.Instant(math.MaxInt64)
	for i := range l.entries {
		at = min(at, l.entries[i].burns)
	}
	for i := range l.holds {
		at = min(at, l.holds[i].ends)
	}
	return at
}

// burnsAt notes that something burns at an instant.
func (l *Ledger) burnsAt(at bucket.Instant) {
	if len(l.entries)+len(l.holds) == 1 {
		l.soonest = at
	}
	l.soonest = min(l.soonest, at)
}

// burn gives up what was due by now: its holder may have spent it, so it never comes back.
func (l *Ledger) burn(g *bucket.Group, now bucket.Instant) {
	for i := len(l.entries) - 1; i >= 0; i-- {
		if l.entries[i].burns <= now {
			l.close(i)
		}
	}
	for i := len(l.holds) - 1; i >= 0; i-- {
		if l.holds[i].ends <= now {
			l.burned += l.holds[i].cost
			l.spend(g, now, i)
		}
	}
}

// close ends a lease; what is left of it is burned.
func (l *Ledger) close(i int) {
	l.out -= l.entries[i].left
	l.burned += l.entries[i].left
	last := len(l.entries) - 1
	l.entries[i] = l.entries[last]
	l.entries[last] = entry{}
	l.entries = l.entries[:last]
}

func (l *Ledger) find(holder string, incarnation uint64) int {
	return slices.IndexFunc(l.entries, func(e entry) bool { return e.holder == holder && e.number.Incarnation == incarnation })
}

func (l *Ledger) findLease(holder string, id ID) int {
	return slices.IndexFunc(l.entries, func(e entry) bool { return e.holder == holder && e.lease == id })
}

// Request takes what a holder says, and answers it; false means that there is no answer, for it has been overtaken or
// closes its lease. size says how many tokens to lend once all that is known has been applied; as many are lent as
// every state has, at most. The lease lives for ttl. In the answer only Number, Lease, Tokens and TTL are filled in.
//
// It may come late, twice, or after ones that were sent later: the same request gets the same answer, an older one
// none.
func (l *Ledger) Request(g *bucket.Group, now bucket.Instant, holder string, r Request, ttl time.Duration, size func() int64) (*Answer, bool) {
	l.Refill(g, now)
	if r.Close {
		if i := l.findLease(holder, r.Lease); i >= 0 {
			l.giveBack(g, now, i, r)
		}
		return nil, false
	}
	i := l.find(holder, r.Number.Incarnation)
	if i >= 0 {
		e := &l.entries[i]
		switch {
		case r.Number == e.number:
			return &e.answer, true
		case r.Number.before(e.number):
			return nil, false
		case r.Lease == e.lease:
			l.report(g, now, e, r)
		default: // it has lost this lease, or its answer never came: what is left burns
			l.close(i)
			i = -1
		}
	}
	tokens := g.Lendable(size())
	if i < 0 {
		if tokens == 0 {
			return &Answer{Number: r.Number}, true
		}
		l.Last.Number++
		i = len(l.entries)
		l.entries = append(l.entries, entry{holder: holder, lease: l.Last})
	}
	g.Lend(tokens)
	e := &l.entries[i]
	e.left += tokens
	l.out += tokens
	e.burns = max(e.burns, now+burnAfter(ttl))
	l.burnsAt(e.burns)
	e.number = r.Number
	e.answer = Answer{Number: r.Number, Lease: e.lease, Tokens: tokens, TTL: ttl}
	return &e.answer, true
}

// burnAfter is how long an owner waits for a lease that lives for ttl: the holder counts from when it sent the request,
// so it ends first even if its clock is slow by more than clocks are.
func burnAfter(ttl time.Duration) bucket.Instant { return bucket.Instant(ttl + ttl/burnSlack) }

// burnSlack is the part of its life that a lease is waited for in addition: 3.1 %, where two clocks of a hundredth each
// may differ by 2.1 %.
const burnSlack = 32

// report takes in what was spent. Reports are cumulative, so a repeated or late one says nothing new.
func (l *Ledger) report(g *bucket.Group, now bucket.Instant, e *entry, r Request) {
	spent := r.Spent - e.spent
	if spent <= 0 {
		return
	}
	spent = min(spent, e.left) // more can't be: never believe it
	e.left -= spent
	l.out -= spent
	e.spent = r.Spent
	for j := range min(len(r.Under), len(g.States)) {
		if e.under == nil {
			e.under = make([]int64, len(g.States))
		}
		if under := r.Under[j] - e.under[j]; under > 0 {
			l.restore(g, now, j, min(under, spent))
			e.under[j] = r.Under[j]
		}
	}
}

// giveBack closes a lease whose holder has sent the rest. b + O does not rise: no more comes back than was counted.
func (l *Ledger) giveBack(g *bucket.Group, now bucket.Instant, i int, r Request) {
	e := &l.entries[i]
	l.report(g, now, e, r)
	if back := r.Left; back > 0 && back <= e.left {
		e.left -= back
		l.out -= back
		for j := range g.States {
			l.restore(g, now, j, back)
		}
	}
	l.close(i)
}

// restore gives a state back what was lent. One that is not lent from any more, since its limit has another algorithm, counts that
// as taken.
func (l *Ledger) restore(g *bucket.Group, now bucket.Instant, j int, tokens int64) {
	if g.Limits[j].Algorithm.Lends() {
		g.Restore(j, tokens, now)
	}
}

// Rearrange follows a group whose limits have been put in another order, as bucket.Group.Rearranged does: of a new one nothing is out,
// but all that is counts against it.
func (l *Ledger) Rearrange(from []int) {
	for i := range l.entries {
		if e := &l.entries[i]; e.under != nil {
			e.under = rearranged(e.under, from)
		}
	}
	for i := range l.holds {
		l.holds[i].costs = rearranged(l.holds[i].costs, from)
	}
}

func rearranged(tokens []int64, from []int) []int64 {
	out := make([]int64, len(from))
	for j, i := range from {
		if i >= 0 {
			out[j] = tokens[i]
		}
	}
	return out
}

// Adopt brings a ledger's group to other limits of the same number at now: what had arrived by the old rates stays, a
// smaller burst cuts at once, below zero if more than it is out, and a larger one grants nothing. Leases come back as
// they are renewed. What is held of a limit whose algorithm or windows change is spent.
func (l *Ledger) Adopt(g *bucket.Group, limits []bucket.Limit, now bucket.Instant) {
	l.Refill(g, now)
	for j := range limits {
		if !g.Limits[j].IsKindOf(&limits[j]) {
			for len(l.holds) > 0 {
				l.burned += l.holds[0].cost
				l.spend(g, now, 0)
			}
		}
	}
	g.Adopt(limits, now)
	g.Cap(l.out)
}
