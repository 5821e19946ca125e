package node

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/table"
	"github.com/drossel-dev/drossel/transport"
)

// expireLate completes forwarded checks whose deadline has passed, until ctx ends. It looks once a millisecond, and
// only while any check waits: a timer for each check would cost more than the check.
func (n *Node) expireLate(ctx context.Context) {
	ticks := time.NewTicker(expiryInterval)
	defer ticks.Stop()
	var late []*call
	for {
		if n.waiting.Load() == 0 {
			ticks.Stop()
			select {
			case <-ctx.Done():
				return
			case <-n.expiryWake:
				ticks.Reset(expiryInterval)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		now := n.elapsed()
		for _, l := range *n.open.Load() {
			late = l.expire(now, late[:0])
			for _, c := range late {
				c.fail(transport.Unreachable)
			}
		}
	}
}

func (n *Node) wakeExpiry() {
	select {
	case n.expiryWake <- struct{}{}:
	default:
	}
}

const (
	upkeepInterval = time.Second
	// sweepTime is how long a round of all partitions takes: a group that is full again stays that much longer at most.
	sweepTime = time.Minute
)

// upkeep does what is due now and then, until ctx ends.
func (n *Node) upkeep(ctx context.Context) {
	ticks := time.NewTicker(upkeepInterval)
	defer ticks.Stop()
	for next := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		n.timer.watchSleep()
		n.setWall()
		now := n.clock.Now()
		parts := n.cfg.Ring.Partitions
		for part := range parts {
			n.owned.Cool(part, now)
			n.copies.Cool(part, now)
		}
		for range parts/int(sweepTime/upkeepInterval) + 1 {
			n.owned.Sweep(next, now)
			n.local.Sweep(next, now)
			n.copies.Sweep(next, now)
			next = (next + 1) % parts
		}
	}
}

// setWall tells the tables what time it is. The instants of a clock that the configuration brings are Unix time.
func (n *Node) setWall() {
	if !n.timed {
		return
	}
	ahead := n.timer.ahead()
	if off := ahead - n.wall; max(off, -off) < int64(wallSlack) { // no more than the two readings are apart now and then
		return
	}
	n.wall = ahead
	for _, t := range []*table.Table{n.owned, n.local, n.copies, n.arriving} {
		t.SetWall(ahead)
	}
}

// wallSlack is by how much windows may begin too early or late before they are corrected.
const wallSlack = time.Millisecond

const (
	firstRejoin = time.Second
	maxRejoin   = 30 * time.Second
)

// rejoin asks the seeds again for ever: they may come up late, and after a cut has healed nothing else brings its sides
// together again. Until somebody was met it asks soon and then less and less often.
func (n *Node) rejoin(ctx context.Context, met bool) {
	wait := firstRejoin
	if met {
		wait = maxRejoin
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(jitter(wait)):
		}
		met = n.join(ctx)
		wait = min(2*wait, maxRejoin)
		if met {
			wait = maxRejoin
		}
	}
}

// join asks the seeds once.
func (n *Node) join(ctx context.Context) (met bool) {
	others, err := n.membership.Join(ctx)
	if err == nil && others == 0 && n.governor != nil && n.mayBeAlone() {
		n.governor.step(func(now bucket.Instant) { n.governor.machine.FoundAlone(now) })
	}
	if err != nil && ctx.Err() == nil && others == 0 {
		n.log.Warn("no seed answered; serving with the members known, and trying again", "error", err)
	}
	return others > 0
}

// mayBeAlone says that seeds which are all this node itself mean that there is nobody else. A name that leads only here
// may be one that the others are not under yet, so it is given JoinTimeout.
func (n *Node) mayBeAlone() bool {
	named := slices.ContainsFunc(n.cfg.Join, func(seed string) bool { return strings.HasPrefix(seed, "dns:") })
	return !named || n.elapsed() >= n.cfg.JoinTimeout
}

func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2) }
