package node

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/node/ownership"
	"github.com/drossel-dev/drossel/ring"
)

// governor runs the ownership machine of a node: it hands it messages and the time, and carries out what it wants. A node
// whose members never change has none.
type governor struct {
	node      *Node
	authority atomic.Int64 // until when what is open may be decided, on the node's timer
	outcast   atomic.Bool  // there has been no authority for long: nobody need wait for it
	wake      chan struct{}
	restores  chan struct{} // some partition waits for what was on disk

	mu      sync.Mutex // guards the machine, and:
	machine *ownership.Machine
	shelves shelves
	estates []*estate               // by partition
	staging map[int]ownership.Claim // whose groups are being staged
	copying map[int]*gathering
	round   uint64          // of copies
	senders map[string]bool // to whom some are being sent
	decided bool            // there has been authority
	fenced  bool            // there was none any more at the last tick
	fences  uint64
	alarm   alarm
	unread  bucket.Instant // when to say again that groups can't be read
	took    histogram      // of transfers
	parking parking
}

// estate is what a node is doing about a partition that it holds.
type estate struct {
	cancel  context.CancelFunc // ends the copying of it to another node, or from one
	open    bool               // the table's partition is
	tracked bool
	changed changes
	flying  bool           // a snapshot is under way
	round   uint64         // the last in which there may have been one
	unsent  bucket.Instant // when it was seen that something had changed which no copy has; 0 if there is nothing
	begun   bucket.Instant
	// restoring is not nil while the partition waits for what was on disk.
	restoring *restoration
}

// governInterval is how often a machine is told the time.
const governInterval = 10 * time.Millisecond

func (n *Node) newGovernor() *governor {
	g := &governor{node: n, wake: make(chan struct{}, 1), restores: make(chan struct{}, 1), estates: make([]*estate, n.cfg.Ring.Partitions),
		staging: make(map[int]ownership.Claim), copying: make(map[int]*gathering),
		senders: make(map[string]bool)}
	g.shelves = newShelves(n)
	g.machine = ownership.New(ownership.Config{
		Self: ownership.Member{ID: n.name, Incarnation: n.boot}, Partitions: n.cfg.Ring.Partitions, Place: n.place,
		Expect: n.cfg.Expect, JoinTimeout: n.cfg.JoinTimeout, Forget: n.cfg.Forget, Settle: n.cfg.Settle,
	}, n.timer.Now())
	for part := range g.estates {
		g.estates[part] = new(estate)
		n.owned.Close(part)
	}
	return g
}

// place places all partitions on members, for the machine. It is called under the governor's lock only.
func (n *Node) place(ids []string) []uint16 {
	members := make([]ring.Member, len(ids))
	for i, id := range ids {
		members[i] = ring.Member{ID: id, State: ring.Active}
	}
	r, err := n.builder.Place(members)
	if err != nil {
		n.log.Error("partitions can't be placed; those who have them keep them", "members", ids, "error", err)
		return nil
	}
	owners := make([]uint16, r.Partitions())
	for part := range owners {
		owners[part] = uint16(r.Owner(part))
	}
	return owners
}

// run tells the machine the time until ctx ends.
func (g *governor) run(ctx context.Context) {
	ticks := time.NewTicker(governInterval)
	defer ticks.Stop()
	looked := time.Now()
	for round := 0; ; round++ {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		case <-g.wake:
		}
		if round%sleepRounds == 0 {
			g.node.timer.watchSleep()
		}
		before := looked
		looked = time.Now()
		g.step(func(now bucket.Instant) {
			if leapt(looked.Round(0).Sub(before.Round(0)), looked.Sub(before)) {
				g.machine.Doubt(now)
			}
			g.machine.Tick(now)
			g.watchAuthority(now)
			g.alarm.look(now, g.machine, g.node.log)
			if now < g.machine.Authority() {
				g.parking.freeIf(func(part int) bool { return g.estates[part].open })
			}
		})
		g.parking.expire(g.node.elapsed())
	}
}

// leapt says that the wall clock went on by much more than the monotonic one did: this machine was stopped, and its
// monotonic clock with it, or somebody has set the clock.
func leapt(wall, monotonic time.Duration) bool { return wall-monotonic > ownership.Fence(1)/2 }

// watchAuthority counts the times that this node has fenced itself.
func (g *governor) watchAuthority(now bucket.Instant) {
	until := g.machine.Authority()
	g.decided = g.decided || now < until
	fenced := g.machine.Member() && g.decided && now >= until
	if fenced && !g.fenced {
		g.fences++
		g.node.log.Warn("no majority of the members acknowledges this node: it decides nothing until one does; checks are "+
			"decided by on_unreachable", "list", g.machine.List().Members())
	}
	if !fenced && g.fenced {
		g.node.log.Info("a majority acknowledges this node again")
	}
	g.fenced = fenced
	g.outcast.Store(now-until > 2*bucket.Instant(ownership.Fence(len(g.machine.List().Members()))))
}

// step lets the machine do something, and carries out what it wants.
func (g *governor) step(do func(now bucket.Instant)) {
	g.mu.Lock()
	now := g.node.timer.Now()
	do(now)
	out := g.machine.Take()
	changed := out.Changed
	for len(out.Acts) > 0 {
		for _, a := range out.Acts {
			g.carryOut(now, a)
		}
		more := g.machine.Take()
		changed = changed || more.Changed
		out.Send = append(out.Send, more.Send...)
		out.Acts = more.Acts
	}
	until := g.machine.Authority()
	if was := g.authority.Swap(int64(until)); now >= bucket.Instant(was) && now < until {
		g.parking.freeAll() // what waits for this node's authority
		g.node.turns.turn()
	}
	if changed {
		g.node.superseded.Store(g.machine.Superseded())
		g.node.lookAgain(now)
	}
	g.node.post(out.Send)
	freed := g.parking.take()
	g.mu.Unlock()
	for _, p := range freed {
		p.decide()
	}
}

// receive takes in what another machine says.
func (g *governor) receive(from string, word []byte) error {
	msg, err := ownership.Decode(word)
	if err != nil {
		return err
	}
	g.step(func(now bucket.Instant) { g.machine.Receive(now, from, msg) })
	return nil
}

// hasAuthority says whether this node may decide what it holds. now is by the decision clock, which the caller has looked
// at already.
func (n *Node) hasAuthority(now bucket.Instant) bool {
	if n.governor == nil {
		return true
	}
	if !n.timed {
		now = n.timer.Now()
	}
	return now < bucket.Instant(n.governor.authority.Load())
}
