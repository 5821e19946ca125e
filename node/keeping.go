package node

import (
	"context"
	"time"
)

// keepPurses does what is due for purses without a check: it sends what waits, renews and gives back in time, and
// forgets. It ends with ctx, and rests while there are none.
func (n *Node) keepPurses(ctx context.Context) {
	ticks := time.NewTicker(leaseInterval)
	defer ticks.Stop()
	for round := 0; ; round++ {
		if n.purses.count.Load() == 0 {
			ticks.Stop()
			select {
			case <-ctx.Done():
				return
			case <-n.pursesWake:
				ticks.Reset(leaseInterval)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		if round%sleepRounds == 0 {
			n.timer.watchSleep() // what is held may have died meanwhile
		}
		n.sweepPurses(round % purseRounds)
		for _, l := range *n.open.Load() {
			if l.outbox.hasWork() {
				l.signal()
			}
		}
	}
}

const (
	// purseRounds is in how many rounds of leaseInterval every purse is looked at once.
	purseRounds = 5
	sleepRounds = 10
)

func (n *Node) wakePurses() {
	select {
	case n.pursesWake <- struct{}{}:
	default:
	}
}

// sweepPurses looks at one part of all purses.
func (n *Node) sweepPurses(round int) {
	v := n.view.Load()
	now := n.clock.Now()
	leaves := stage(n.stage.Load()) != running
	for i := round; i < purseShards; i += purseRounds {
		s := &n.purses.shards[i]
		s.mu.Lock()
		for _, p := range s.byID {
			owner := v.owner(p.part)
			switch {
			case owner == v.self:
				n.purses.dropLocked(s, p) // this node owns the group now
			case owner >= 0 && v.links[owner] != p.link:
				p.redirect(v.links[owner])
			case leaves:
				p.giveBack()
			case p.Rested(now):
				n.purses.dropLocked(s, p)
			default:
				p.consider(now, p.link.trip.get(), false)
			}
		}
		s.mu.Unlock()
	}
}
