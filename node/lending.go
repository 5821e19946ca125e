package node

import (
	"context"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/lease"
	"github.com/drossel-dev/drossel/transport"
)

// keepPurses does what is due for purses without a check: it sends what waits, renews and gives back in time, and forgets.
// It ends with ctx, and rests while there are none.
func (n *Node) keepPurses(ctx context.Context) {
	ticks := time.NewTicker(leaseInterval)
	defer ticks.Stop()
	for round := 0; ; round++ {
		if n.purses.count.Load() == 0 {
			ticks.Stop()
			select {
			case <-ctx.Done():
				return
			case <-n.lendingWake:
				ticks.Reset(leaseInterval)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		if c, ok := n.clock.(*machineClock); ok && round%sleepRounds == 0 {
			c.watchSleep() // what is held may have died meanwhile
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

func (n *Node) wakeLending() {
	select {
	case n.lendingWake <- struct{}{}:
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
			case owner < 0 || v.links[owner] != p.link:
				n.purses.dropLocked(s, p) // another node owns the group now
			case leaves:
				p.giveBack()
			case p.Rested(now) && p.due == lease.Nothing:
				n.purses.dropLocked(s, p)
			default:
				p.consider(now, p.link.trip.get(), false)
			}
		}
		s.mu.Unlock()
	}
}

// lend answers a frame of an other node about leases.
func (in *inbound) lend(f *transport.LeasesFrame) error {
	n := in.node
	for _, l := range f.Limits {
		if err := in.learn(l); err != nil {
			return err
		}
	}
	v := n.view.Load()
	now := n.clock.Now()
	in.sending.Lock()
	defer in.sending.Unlock()
	in.grants.Grants = in.grants.Grants[:0]
	for i := range f.Requests {
		r := &f.Requests[i]
		g, err := in.group(r.Limits)
		if err != nil {
			return err
		}
		part := n.partitions.Partition(r.ID.Bytes())
		if g == nil || v.owner(part) != v.self {
			continue // no answer is as good as one that was lost
		}
		r.Number.Incarnation = in.boot
		if a, ok := n.owned.Lend(part, r.ID, g, now, in.from, r.Request); ok {
			in.grants.Grants = append(in.grants.Grants, transport.Grant{ID: r.ID, Answer: a})
		}
	}
	n.counters.renewed.Add(uint64(len(f.Requests)))
	return in.sendGrantsLocked()
}

func (in *inbound) sendGrantsLocked() error {
	if len(in.grants.Grants) == 0 {
		return nil
	}
	in.frame = transport.AppendGrants(in.frame[:0], &in.grants)
	return in.stream.Send(in.frame)
}

// recall asks the holders of a group to give everything back. It is called by the table, and does not block.
func (n *Node) recall(id bucket.ID, holders []string) {
	n.serving.Lock()
	defer n.serving.Unlock()
	for _, name := range holders {
		if in := n.inbounds[name]; in != nil {
			in.passing.Lock()
			in.recalls = append(in.recalls, id)
			in.passing.Unlock()
			in.signal()
		}
	}
}

func (n *Node) enroll(in *inbound) {
	n.serving.Lock()
	defer n.serving.Unlock()
	n.inbounds[in.from] = in
}

func (n *Node) strike(in *inbound) {
	n.serving.Lock()
	defer n.serving.Unlock()
	if n.inbounds[in.from] == in { // and not a newer stream of the same node
		delete(n.inbounds, in.from)
	}
}
