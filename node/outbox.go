package node

import (
	"sync"
	"time"

	"github.com/drossel-dev/drossel/transport"
)

// outbox holds the purses of a link that have something to tell the owner. What waits leaves in one frame, and the next
// one at leaseInterval after it at the earliest.
type outbox struct {
	mu      sync.Mutex
	waiting []*purse
	sent    time.Duration // when the last frame left, on the node's timer clock
}

// leaseInterval is the shortest time between two frames about leases to one owner.
const leaseInterval = 5 * time.Millisecond

// tell puts a purse into the outbox; its shard is locked. Each is there once at most: while purse.due is set.
func (l *link) tell(p *purse) {
	o := &l.outbox
	o.mu.Lock()
	o.waiting = append(o.waiting, p)
	now := len(o.waiting) == 1 && l.node.elapsed()-o.sent >= leaseInterval
	o.mu.Unlock()
	if now {
		l.signal() // else keepPurses does
	}
}

// take returns what may be sent now, a frame full at most. Of buffer only the memory is used.
func (o *outbox) take(now time.Duration, buffer []*purse) []*purse {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.waiting) == 0 || now-o.sent < leaseInterval {
		return nil
	}
	n := min(len(o.waiting), transport.MaxLeaseRequests)
	buffer = append(buffer[:0], o.waiting[:n]...)
	left := copy(o.waiting, o.waiting[n:])
	clear(o.waiting[left:])
	o.waiting = o.waiting[:left]
	if left == 0 {
		o.sent = now
	}
	return buffer
}

func (o *outbox) hasWork() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.waiting) > 0
}

// fillLeases writes what purses have to tell into a frame. It is false if nothing is due.
func (l *link) fillLeases(f *transport.LeasesFrame, r *refs) bool {
	n := l.node
	f.Limits, f.Requests = f.Limits[:0], f.Requests[:0]
	l.telling = l.outbox.take(n.elapsed(), l.telling)
	now := n.clock.Now()
	for _, p := range l.telling {
		s := n.purses.shard(p.part)
		s.mu.Lock()
		switch {
		case p.gone || p.link != l || p.group.Entry() != 0 && l.speaksBefore(transport.EntriesVersion):
		case len(f.Requests) > 0 && r.startsOver(p.group):
			l.tell(p) // in a frame of its own
		default:
			if req, ok := p.message(now, &n.purses); ok {
				ref, fresh := r.of(p.group)
				if fresh {
					f.Limits = append(f.Limits, r.body(p.group))
				}
				f.Requests = append(f.Requests, transport.LeaseRequest{ID: p.id, Limits: ref, Request: req})
			}
		}
		s.mu.Unlock()
	}
	clear(l.telling)
	n.counters.leasesSent.Add(uint64(len(f.Requests)))
	return len(f.Requests) > 0
}
