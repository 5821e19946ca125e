package node

import (
	"sync"
	"time"

	"github.com/drossel-dev/drossel/bucket/table"
	"github.com/drossel-dev/drossel/transport"
)

// parking keeps checks that came for a partition which is about to be decided here, until it is.
type parking struct {
	mu     sync.Mutex
	byPart map[int][]*parked
	freed  []*parked
	count  int
}

// parked is a check from another node that waits.
type parked struct {
	in      *inbound
	check   transport.Check
	part    int
	group   *table.Group // pinned
	expires time.Duration
}

// maxParked bounds what waits; more are answered at once that this node is not the owner.
const maxParked = 1 << 16

// park keeps a check. It is false if there are too many.
func (in *inbound) park(c *transport.Check, part int, g *table.Group) bool {
	p := &in.node.governor.parking
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.count >= maxParked {
		return false
	}
	if p.byPart == nil {
		p.byPart = make(map[int][]*parked)
	}
	g.Pin()
	p.byPart[part] = append(p.byPart[part], &parked{in, *c, part, g, in.node.elapsed() + c.Within})
	p.count++
	return true
}

// free lets what waits for a partition be decided, or told that it is not decided here.
func (p *parking) free(part int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.freed = append(p.freed, p.byPart[part]...)
	p.count -= len(p.byPart[part])
	delete(p.byPart, part)
}

func (p *parking) freeAll() { p.freeIf(func(int) bool { return true }) }

// freeIf frees what waits for some partitions. Those that are decided here are among them time and again: a check is
// parked without the governor's lock, and perhaps just after its partition was opened.
func (p *parking) freeIf(these func(part int) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for part, list := range p.byPart {
		if these(part) {
			p.freed = append(p.freed, list...)
			p.count -= len(list)
			delete(p.byPart, part)
		}
	}
}

func (p *parking) take() []*parked {
	p.mu.Lock()
	defer p.mu.Unlock()
	freed := p.freed
	p.freed = nil
	return freed
}

// decide answers a check that has waited.
func (p *parked) decide() {
	n := p.in.node
	a, ok := p.in.own(&p.check, p.part, p.group, n.clock.Now())
	if !ok {
		a = transport.Answer{Number: p.check.Number, Status: transport.NotOwner}
	}
	p.group.Release()
	p.in.later(a)
}

// expire forgets checks that nobody waits for any more.
func (p *parking) expire(now time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.count == 0 {
		return
	}
	for part, list := range p.byPart {
		kept := list[:0]
		for _, c := range list {
			if c.expires > now {
				kept = append(kept, c)
				continue
			}
			c.group.Release()
			p.count--
		}
		clear(list[len(kept):])
		if p.byPart[part] = kept; len(kept) == 0 {
			delete(p.byPart, part)
		}
	}
}
