package node

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/bucket/table"
	"github.com/drossel-dev/drossel/transport"
)

// purses are what owners have lent this node, and their word that a bucket is empty for a while.
type purses struct {
	shards [purseShards]purseShard
	count  atomic.Int64
	seq    atomic.Uint64 // of requests for leases
}

const (
	purseShards = 256 // by partition
	// maxPurses bounds the groups that a node keeps a purse or a deny lease for; the others are forwarded.
	maxPurses = 1 << 16
)

type purseShard struct {
	mu   sync.Mutex
	byID map[bucket.ID]*purse
	_    [48]byte // a cache line each
}

// purse is what this node holds of one group that another node owns. Its shard's lock guards it.
type purse struct {
	lease.Borrower
	id     bucket.ID
	part   int
	group  *table.Group // pinned
	link   *link        // to the owner
	due    lease.Due    // what waits to be told to the owner
	gone   bool         // it was dropped, and may still stand in the outbox
	inline bool         // its limits are no policy's
	policy string
	key    string // for people
}

func (ps *purses) shard(part int) *purseShard { return &ps.shards[part%purseShards] }

// borrowed decides a check with what the owner has lent this node, if it can. If not, the check is ready to be
// forwarded.
func (pl *plan) borrowed(l *link, q *question, now bucket.Instant, d *policy.Decision) bool {
	n := pl.node
	if !pl.leased || q.look || q.refund || stage(n.stage.Load()) != running {
		return false
	}
	q.leases = true
	if n.purses.count.Load() == 0 {
		return false
	}
	s := n.purses.shard(q.part)
	s.mu.Lock()
	p := s.byID[q.id]
	if p == nil || p.group != pl.group {
		s.mu.Unlock()
		return false
	}
	if l == nil {
		l = p.link // what is left may be spent, whoever is the owner
	} else if p.link != l {
		p.redirect(l)
	}
	trip := l.trip.get()
	var v lease.Verdict
	if q.hold != nil {
		v = q.holdIn(p, now, trip)
	} else {
		v = p.Check(now, q.cost, trip, q.each...)
	}
	p.consider(now, trip, v == lease.Forward)
	if v == lease.Forward {
		q.demand = p.Demand(now)
		s.mu.Unlock()
		return false
	}
	a, which := p.Decision(pl.group.Limits(), now, q.cost, v)
	s.mu.Unlock()
	if v == lease.Spent {
		pl.tell(d, a, which, policy.Lease, n.name)
		pl.count(q, true, decidedByLease)
	} else {
		pl.tell(d, a, which, policy.DenyLease, n.name)
		pl.count(q, false, decidedByDenyLease)
	}
	return true
}

// redirect takes the purse to the group's new owner, who has taken its lease over with the group.
func (p *purse) redirect(l *link) {
	if l == nil {
		return
	}
	p.link = l
	if p.due != lease.Nothing {
		l.tell(p)
	}
}

// consider has the owner told what is due.
func (p *purse) consider(now bucket.Instant, trip time.Duration, forwarding bool) {
	if due := p.Due(now, trip, forwarding); due != lease.Nothing && p.due == lease.Nothing {
		p.due = due
		p.link.tell(p)
	}
}

// answered takes in what the owner said to a forwarded check about leases. The first such word makes a purse.
func (pl *plan) answered(l *link, q *question, req *policy.Request, a *transport.Answer) {
	ps := &pl.node.purses
	word := a.Offer || a.Deny.For > 0
	if !q.leases || !word && ps.count.Load() == 0 {
		return
	}
	now := pl.node.clock.Now()
	s := ps.shard(q.part)
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.byID[q.id]
	if v := pl.node.view.Load(); p != nil && p.link != l {
		if owner := v.owner(q.part); owner >= 0 && v.links[owner] == p.link {
			return // a late answer of whom the group belonged to before
		}
	}
	if p != nil && p.link != l {
		p.redirect(l)
	}
	if p != nil && p.group != pl.group {
		if _, waiting := p.Waiting(); waiting || p.Left(now) > 0 {
			p.giveBack() // else it burns; the group gets another purse after that
			return
		}
		ps.dropLocked(s, p)
		p = nil
	}
	if p == nil {
		if !word || ps.count.Load() >= maxPurses {
			return
		}
		p = pl.newPurse(l, q, req)
		if s.byID == nil {
			s.byID = make(map[bucket.ID]*purse)
		}
		s.byID[q.id] = p
		ps.count.Add(1)
		pl.node.wakePurses()
	}
	p.Told(now, pl.group.Limits(), q.cost, a.Decision, int(a.Which), a.Deny)
}

func (pl *plan) newPurse(l *link, q *question, req *policy.Request) *purse {
	pl.group.Pin()
	p := &purse{id: q.id, part: q.part, group: pl.group, inline: pl.inline, link: l, policy: pl.name, key: clip(pl.policy.KeyText(req))}
	p.Terms = lease.TermsOf(pl.group.Limits())
	return p
}

// giveBackOld has what was lent given back whose limits policies do not have any more: the owner goes by others.
func (n *Node) giveBackOld(b *book) {
	for i := range n.purses.shards {
		s := &n.purses.shards[i]
		s.mu.Lock()
		for _, p := range s.byID {
			if !p.inline && !b.uses(p.group) {
				p.giveBack()
			}
		}
		s.mu.Unlock()
	}
}

// dropLocked forgets a purse. What is left in it burns at its owner.
func (ps *purses) dropLocked(s *purseShard, p *purse) {
	delete(s.byID, p.id)
	ps.count.Add(-1)
	p.gone = true
	p.group.Release()
}

// granted takes in what an owner says about a lease.
func (n *Node) granted(l *link, id bucket.ID, a *lease.Answer) {
	now := n.clock.Now()
	s := n.purses.shard(n.partitions.Partition(id.Bytes()))
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.byID[id]
	if p == nil || p.link != l {
		return // forgotten, and with it what would come: it burns at its owner
	}
	if a.Number == (lease.Number{}) { // nobody asked: the owner wants everything back
		if a.Recall {
			p.giveBack()
		}
		return
	}
	sent, _ := p.Waiting()
	repeated := p.Repeated()
	give, ok := p.Answer(now, p.group.Limits(), a, l.trip.get())
	if !ok {
		return
	}
	if !repeated { // else it says how long a message was lost, and not how long one takes
		l.trip.observe(min(time.Duration(now-sent), n.cfg.Deadline))
	}
	if give {
		p.giveBack()
	}
}

// giveBack has everything returned to the owner.
func (p *purse) giveBack() {
	p.Recalled()
	if p.due == lease.Nothing {
		p.link.tell(p)
	}
	p.due = lease.Return
}

// message returns what a purse has to tell its owner now; false if there is nothing any more.
func (p *purse) message(now bucket.Instant, ps *purses) (r lease.Request, ok bool) {
	due := p.due
	p.due = lease.Nothing
	_, waiting := p.Waiting()
	switch due {
	case lease.Return:
		if r, ok = p.Close(now); !ok && p.Holds(now) { // as soon as that has ended
			p.due = lease.Return
			p.link.tell(p)
		}
		return r, ok
	case lease.Resend:
		return p.Repeat(now), waiting
	case lease.Renewal:
		if !waiting {
			return p.Renew(now, lease.Number{Seq: ps.seq.Add(1)}), true
		}
	}
	return r, false
}

// unreturned says that some purse still holds something, or has something to tell.
func (n *Node) unreturned() bool {
	now := n.clock.Now()
	for i := range n.purses.shards {
		s := &n.purses.shards[i]
		s.mu.Lock()
		for _, p := range s.byID {
			if p.due != lease.Nothing || p.Left(now) > 0 {
				s.mu.Unlock()
				return true
			}
		}
		s.mu.Unlock()
	}
	return false
}
