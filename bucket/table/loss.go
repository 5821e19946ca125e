package table

import (
	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
)

// loss is what a partition remembers of the time when it was taken over without its owner. The zero loss is none.
type loss struct {
	at    bucket.Instant
	known bool // that there was one
	// reserved says that leases of the lost owner may still be out, of which nobody here knows.
	reserved bool
}

// ends returns when every lease of the lost owner has ended.
func (o *loss) ends() bucket.Instant { return o.at + bucket.Instant(lease.Burn) }

func startsEmpty(l *bucket.Limit) bool { return l.OwnerLoss == bucket.LossEmpty }

// start makes a group what it is that was never seen. Where an owner was lost nobody can know if it was used, and limits that
// start empty then hold what has come since.
func (o *loss) start(s *bucket.Group, g *Group, now bucket.Instant) {
	if !o.known || !g.startsEmpty {
		s.Start(now)
		return
	}
	s.Start(o.at)
	for i := range s.Limits {
		if startsEmpty(&s.Limits[i]) {
			s.Exhaust(i, o.at)
		}
	}
	o.refill(s, g, now)
	s.Refill(now, 0)
}

// refill brings the limits of a group that start empty up to now, or to the end of the reserve, leaving room for that. Others keep
// no reserve.
func (o *loss) refill(s *bucket.Group, g *Group, now bucket.Instant) {
	for i := range s.Limits {
		if startsEmpty(&s.Limits[i]) {
			s.RefillOne(i, min(now, o.ends()), g.reserve)
		}
	}
}

// endReserve gives the reserve up when its time has come. Every group is brought up to that instant first: had the room
// been there before, time would count in which what was lent may have been spent. Groups with a lender have it in
// their ledgers. Until then refill keeps it, whatever the time.
func (t *Table) endReserve(p *partition, now bucket.Instant) {
	if !p.loss.reserved || now < p.loss.ends() {
		return
	}
	p.eachSlot(func(w []uint64) {
		if g := t.limits.at(unpack(w[2])); g.reserve > 0 && w[2]&(hotFlag|heldFlag) == 0 {
			var room [MaxStates]bucket.State
			s := t.take(p, w, g, &room)
			p.loss.refill(&s, g, now)
			put(w, s.States)
		}
	})
	p.loss.reserved = false
	p.settle()
}

// TakenOver applies each limit's rule for the loss of its owner to what is in a partition, which is the newest copy
// there is: the caller is about to Open it. Buckets by bucket.LossReplica stay as they are. By LossFull they are full
// but for what is out. By LossEmpty they have nothing, and for lease.Burn as much as an owner may lend counts as out,
// for this copy may not know of it.
//
// That the owner was lost is remembered until Clear or Move: a group that is seen for the first time afterwards starts,
// by LossEmpty, with what has come since, and not full. Copies by Export know it too.
func (t *Table) TakenOver(part int, now bucket.Instant) {
	p := &t.parts[part]
	p.mu.Lock()
	defer p.mu.Unlock()
	took := loss{at: now, known: true, reserved: true}
	p.eachSlot(func(w []uint64) {
		g := t.limits.at(unpack(w[2]))
		t.refill(p, w, g, now)
		out := p.out(w)
		if w[2]&(hotFlag|heldFlag) != 0 {
			p.ledger(w).Reserve(g.reserve, took.ends())
		}
		var room [MaxStates]bucket.State
		s := t.take(p, w, g, &room)
		if out == 0 { // else its lender has brought it up to now
			s.Refill(now, 0)
		}
		for i := range g.limits {
			switch g.limits[i].OwnerLoss { // a debt stays one
			case bucket.LossFull:
				s.Renew(i, now, out)
			case bucket.LossEmpty:
				s.Exhaust(i, now)
			}
		}
		put(w, s.States)
		p.touch(w)
	})
	p.loss = took
	p.settle()
}

// learn takes in from a copy that the owner was lost at that time. Of several the latest counts: it is the safe one.
func (p *partition) learn(at, now bucket.Instant) {
	if p.loss.known && at <= p.loss.at {
		return
	}
	p.loss = loss{at: at, known: true, reserved: now < at+bucket.Instant(lease.Burn)}
	p.settle()
}
