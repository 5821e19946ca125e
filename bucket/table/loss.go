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

// fresh is state i of a group that was never seen. Where an owner was lost nobody can know if the group was used, and
// limits that start empty then hold what has come since.
func (p *partition) fresh(g *Group, i int, now bucket.Instant) bucket.State {
	l := &g.limits[i]
	if !p.loss.known || !startsEmpty(l) {
		return bucket.Full(l, now)
	}
	s := bucket.State{Last: p.loss.at}
	p.loss.refill(&s, l, g.reserve, now)
	s.Refill(l, now)
	return s
}

// refill brings a bucket up to now, or to the end of the reserve, leaving room for that.
func (o *loss) refill(s *bucket.State, l *bucket.Limit, reserve int64, now bucket.Instant) {
	s.RefillTo(l, l.Burst-reserve, min(now, o.ends()))
}

// fill is refill for a slot: of the limits that start empty, for others keep no reserve.
func (o *loss) fill(w []uint64, g *Group, now bucket.Instant) {
	for i := range g.limits {
		if l := &g.limits[i]; startsEmpty(l) {
			s := load(w, i)
			o.refill(&s, l, g.reserve, now)
			store(w, i, s)
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
		if g := t.limits.at(unpack(w[2])); g.reserve > 0 && !isHot(w[2]) {
			p.loss.fill(w, g, now)
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
		p.refill(w, g, now)
		out := int64(0)
		if isHot(w[2]) {
			l := p.hot.at[place(w[2])].Lender
			out = l.Out()
			l.Reserve(g.reserve, took.ends())
		}
		for i := range g.limits {
			store(w, i, lost(load(w, i), &g.limits[i], out, now))
		}
		p.touch(w)
	})
	p.loss = took
	p.settle()
}

// lost is what a bucket holds after its owner was lost. A debt stays one.
func lost(s bucket.State, l *bucket.Limit, out int64, now bucket.Instant) bucket.State {
	if out == 0 { // else its lender has brought it up to now
		s.Refill(l, now)
	}
	switch {
	case l.OwnerLoss == bucket.LossFull && s.Tokens < l.Burst-out:
		s.Tokens, s.Frac = l.Burst-out, 0
	case l.OwnerLoss == bucket.LossEmpty && s.Tokens >= 0:
		s.Tokens, s.Frac = 0, 0
	}
	return s
}

// learn takes in from a copy that the owner was lost at that time. Of several the latest counts: it is the safe one.
func (p *partition) learn(at, now bucket.Instant) {
	if p.loss.known && at <= p.loss.at {
		return
	}
	p.loss = loss{at: at, known: true, reserved: now < at+bucket.Instant(lease.Burn)}
	p.settle()
}
