package lease

import (
	"slices"

	"github.com/drossel-dev/drossel/bucket"
)

// Purse is what a holder has of one lease: tokens left to spend, tokens held for checks that are not decided yet, and
// what was spent. The zero Purse is empty and holds no lease.
type Purse struct {
	lease    ID
	left     int64
	held     int64
	spent    int64
	under    []int64        // by state; nil while no costs differed
	deadline bucket.Instant // nothing is spent from here on
	life     uint64         // counts how often what was in the purse was lost or given back

	asked   Number         // the newest request
	sent    bucket.Instant // when it was sent first
	waiting bool           // for its answer
	epoch   uint64         // the highest seen
}

// alive says whether there is a lease that may be spent at now.
func (p *Purse) alive(now bucket.Instant) bool { return p.lease != ID{} && now < p.deadline }

// Left returns how many tokens may be spent at now.
func (p *Purse) Left(now bucket.Instant) int64 {
	if !p.alive(now) {
		return 0
	}
	return p.left
}

// Lease returns the lease held at now, or the zero ID.
func (p *Purse) Lease(now bucket.Instant) ID {
	if !p.alive(now) {
		return ID{}
	}
	return p.lease
}

// Waiting says whether a request has no answer yet, and since when.
func (p *Purse) Waiting() (sent bucket.Instant, waiting bool) { return p.sent, p.waiting }

// Spend takes a cost; false if there is not as much. If it is not the same for every state, each has those of all, and cost is the
// largest of them.
func (p *Purse) Spend(now bucket.Instant, cost int64, each ...int64) bool {
	if cost > p.left || now >= p.deadline {
		return false
	}
	p.left -= cost
	p.spent += cost
	p.less(cost, each)
	return true
}

// less notes of which states less was spent than the largest of the costs.
func (p *Purse) less(most int64, each []int64) {
	for j, cost := range each {
		if cost == most {
			continue
		}
		if p.under == nil {
			p.under = make([]int64, len(each))
		}
		p.under[j] += most - cost
	}
}

// Holds says whether something is taken aside at now, so that the lease can't be closed.
func (p *Purse) Holds(now bucket.Instant) bool { return p.alive(now) && p.held != 0 }

// Hold is tokens of a purse taken aside.
type Hold struct {
	life  uint64
	costs []int64
	cost  int64
}

// Hold takes a cost for each state aside: the largest of them leaves the purse. It is not reported until it is
// committed; false if there is not as much, or a cost is negative.
func (p *Purse) Hold(now bucket.Instant, costs []int64) (h Hold, ok bool) {
	if len(costs) == 0 || slices.Min(costs) < 0 {
		return h, false
	}
	h = Hold{p.life, costs, slices.Max(costs)}
	if !p.alive(now) || h.cost > p.left {
		return h, false
	}
	p.left -= h.cost
	p.held += h.cost
	return h, true
}

// Commit spends a hold; false if its lease has ended since, even if that was renewed too late and lives again: then the
// check is denied, for the owner may have given the tokens up.
func (p *Purse) Commit(now bucket.Instant, h Hold) bool {
	if !p.alive(now) || h.life != p.life {
		return false
	}
	p.held -= h.cost
	p.spent += h.cost
	p.less(h.cost, h.costs)
	return true
}

// PutBack undoes a hold. It does nothing if its lease has ended.
func (p *Purse) PutBack(now bucket.Instant, h Hold) {
	if p.alive(now) && h.life == p.life {
		p.held -= h.cost
		p.left += h.cost
	}
}

// Ask returns a request for more, numbered by the caller, higher than any before. It names the lease if that lives,
// else it asks for a new one. The caller sees to it that no other request waits.
func (p *Purse) Ask(now bucket.Instant, number Number) Request {
	if !p.alive(now) {
		p.empty()
	}
	p.asked, p.sent, p.waiting = number, now, true
	return p.Again()
}

// Again returns the request that waits once more, with what is true now. The lease still counts from when it was sent
// first.
func (p *Purse) Again() Request {
	return Request{Number: p.asked, Lease: p.lease, Spent: p.spent, Under: slices.Clone(p.under), Left: p.left}
}

// GiveUp waits no longer. An answer that still comes is ignored.
func (p *Purse) GiveUp() { p.waiting = false }

// Accept takes an answer in; false if it is not the one that is waited for, or comes from an owner that was replaced.
func (p *Purse) Accept(now bucket.Instant, a *Answer) bool {
	if !p.waiting || a.Number != p.asked || a.Lease.Epoch < p.epoch && a.Lease != (ID{}) {
		return false
	}
	p.waiting = false
	switch {
	case a.Lease == ID{} || a.Lease != p.lease:
		p.empty()
	case now >= p.deadline: // what has died stays dead, though its lease lives on with what comes now
		p.spent += p.left + p.held // or the owner would count on it for as long as the lease is renewed
		p.lose()
	}
	if a.Lease == (ID{}) {
		return true
	}
	p.epoch = a.Lease.Epoch
	p.lease = a.Lease
	p.left += a.Tokens
	p.deadline = p.sent + bucket.Instant(a.TTL)
	if !p.alive(now) {
		p.empty()
	}
	return true
}

// Close ends the lease and returns what tells the owner; false if there is none, tokens are held, or a request waits:
// its answer could bring tokens to a lease that is closed.
func (p *Purse) Close(now bucket.Instant) (r Request, ok bool) {
	if !p.alive(now) || p.held != 0 || p.waiting {
		return r, false
	}
	r = Request{Lease: p.lease, Spent: p.spent, Under: p.under, Left: p.left, Close: true}
	p.empty()
	return r, true
}

// empty forgets the lease. What was left burns at its owner.
func (p *Purse) empty() {
	p.lose()
	p.lease, p.spent, p.under, p.deadline = ID{}, 0, nil, 0
}

// lose forgets the tokens, and what was held of them.
func (p *Purse) lose() {
	p.left, p.held = 0, 0
	p.life++
}
