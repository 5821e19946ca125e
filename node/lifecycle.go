package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/ring"
	"github.com/drossel-dev/drossel/ring/gossip"
	"github.com/drossel-dev/drossel/transport"
	"github.com/drossel-dev/drossel/transport/peer"
)

// firstJoin bounds how long Start waits for the seeds.
const firstJoin = 5 * time.Second

// Start opens the ports, joins the others and returns when the node takes checks. It waits for seeds for 5 s at the
// most, or until ctx ends; a node whose seeds do not answer serves alone, says so, and goes on asking. It fails if a
// port is in use, and may then be called again; a node starts once.
func (n *Node) Start(ctx context.Context) error {
	n.lifecycle.Lock()
	defer n.lifecycle.Unlock()
	if s := stage(n.stage.Load()); s != made {
		return fmt.Errorf("start: node %s %s", n.name, s)
	}
	life, cancel := context.WithCancel(context.Background())
	if err := n.connect(); err != nil {
		cancel()
		return err
	}
	n.cancel, n.life = cancel, life
	joining, done := context.WithTimeout(ctx, firstJoin)
	met := n.join(joining)
	done()
	run := []func(context.Context){n.follow, n.expireLate, n.keepPurses, n.upkeep, n.spread, n.fetchNews, n.keepEntries}
	if n.governor == nil {
		n.setState(ring.Active)
		n.look()
		n.restoreAlone()
	} else {
		n.meet()
		run = append(run, n.governor.run, n.governor.copyChanges, n.settle)
		if n.cfg.Groups != nil {
			run = append(run, n.governor.restoreGroups)
		}
	}
	if n.cfg.Groups != nil {
		run = append(run, n.keepGroups)
	}
	if n.cfg.Strict != nil {
		run = append(run, n.settleStore, n.keepChunks, n.giveAllBack, n.giveAllBack, n.giveAllBack)
	}
	for _, f := range run {
		n.goroutines.Go(func() { f(life) })
	}
	if len(n.cfg.Join) > 0 {
		n.goroutines.Go(func() { n.rejoin(life, met) })
	}
	if n.governor != nil {
		n.awaitMembership(ctx)
		n.setState(ring.Active)
	}
	n.learnEditions(ctx)
	n.restoreEntries(ctx)
	if err := n.membership.SetState(ctx, ring.Active); err != nil {
		n.log.Warn("the others may hear late that this node is active", "error", err)
	}
	n.stage.Store(int32(running))
	return nil
}

// awaitMembership waits until this node is a member that has been acknowledged, for JoinTimeout at the most, or until
// ctx ends.
func (n *Node) awaitMembership(ctx context.Context) {
	patience := time.NewTimer(n.cfg.JoinTimeout)
	defer patience.Stop()
	looks := time.NewTicker(governInterval)
	defer looks.Stop()
	for {
		g := n.governor
		g.mu.Lock()
		member := g.machine.Member() && n.timer.Now() < g.machine.Authority()
		g.mu.Unlock()
		if member {
			return
		}
		select {
		case <-ctx.Done():
		case <-patience.C:
			n.log.Warn("this node has found no cluster that takes it in: it serves as a guest, by its share of each limit, and " +
				"goes on looking. If all nodes of a new cluster start at once, tell them how many with --expect")
		case <-looks.C:
			continue
		}
		return
	}
}

// restoreEntries has what is on disk of the limits store offered, and waits until it is where it belongs, for offerPatience at the most.
func (n *Node) restoreEntries(ctx context.Context) {
	if n.cfg.Store == nil {
		return
	}
	offered := make(chan struct{})
	n.goroutines.Go(func() { n.offerEntries(n.life, offered) })
	patience := time.NewTimer(offerPatience)
	defer patience.Stop()
	select {
	case <-offered:
	case <-patience.C:
		n.log.Warn("some limits of single keys that are on disk are not where they belong yet: their keys have the limits of their policies until then")
	case <-ctx.Done():
	}
}

// connect opens the network and membership.
func (n *Node) connect() error {
	own := transport.Hello{
		ID: n.name, Boot: n.boot, Label: n.cfg.Label,
		Fingerprint: n.cfg.Ring.String() + " secret=" + n.secrets.public,
	}
	switch {
	case n.cfg.Connect != nil:
		n.network, n.membership = n.cfg.Connect(own, n.secrets.peer)
	case n.cfg.Gossip == "":
		n.network = noNetwork{}
		n.membership = Static{{ID: n.name, Boot: n.boot, State: ring.Active}}
	default:
		n.network = peer.New(peer.Config{Bind: n.cfg.peerBind(), Own: own, Secret: n.secrets.peer, Logger: n.log})
	}
	if _, fixed := n.membership.(Static); !fixed {
		n.governor = n.newGovernor()
	}
	bound, err := n.network.Listen(n)
	if err == nil && n.membership == nil {
		var g *gossip.Gossip
		if g, err = gossip.Start(n.gossipConfig(own, bound)); err == nil {
			n.membership = g
		}
	}
	if err != nil {
		err = errors.Join(err, n.network.Close())
		if n.membership != nil {
			err = errors.Join(err, n.membership.Close())
		}
		n.network, n.membership = nil, nil
		return err
	}
	n.peerAddr = bound
	if n.cfg.Insecure && len(n.cfg.Secret) == 0 && OffLoopback(n.cfg.Gossip) {
		n.log.Warn("no secret, off loopback: anybody who reaches this node can take part, and aim at buckets")
	}
	return nil
}

func (n *Node) gossipConfig(own transport.Hello, bound string) gossip.Config {
	advertise := n.cfg.PeerAdvertise
	if advertise == "" {
		advertise = bound // gossip puts its own advertised ip in for an unspecified one
	}
	return gossip.Config{
		Self:        ring.Member{ID: n.name, Boot: n.boot, Peer: advertise, State: ring.Joining},
		Bind:        n.cfg.Gossip,
		Advertise:   n.cfg.GossipAdvertise,
		Seeds:       n.cfg.Join,
		Label:       n.cfg.Label,
		Key:         n.secrets.gossip,
		KeyHash:     n.secrets.public,
		Fingerprint: own.Fingerprint,
		Logger:      n.log,
	}
}

// peerBind is where peers are listened for: by default beside gossip.
func (c Config) peerBind() string {
	if c.Peer != "" {
		return c.Peer
	}
	host, port, _ := net.SplitHostPort(c.Gossip) // Validate has split it
	if p, err := strconv.Atoi(port); err == nil && p > 0 && p < 65535 {
		return net.JoinHostPort(host, strconv.Itoa(p+1))
	}
	return net.JoinHostPort(host, "0")
}

// setState changes this node's state as it counts for its own ring. The others go by what membership tells them.
func (n *Node) setState(s ring.State) {
	n.viewing.Lock()
	defer n.viewing.Unlock()
	n.state = s
}

func (n *Node) ownState() ring.State {
	n.viewing.Lock()
	defer n.viewing.Unlock()
	return n.state
}

// Leave hands what this node owns over to the others, has itself dropped from their list, and tells gossip. It returns
// when all is done, or when ctx ends: then the others have to take over what is left. Checks are answered throughout.
// Call Close afterwards. It does nothing unless the node runs.
func (n *Node) Leave(ctx context.Context) error {
	n.lifecycle.Lock()
	defer n.lifecycle.Unlock()
	if !n.stage.CompareAndSwap(int32(running), int32(leaving)) {
		return nil
	}
	n.setState(ring.Leaving)
	err := n.membership.SetState(ctx, ring.Leaving)
	if g := n.governor; g != nil {
		g.step(func(now bucket.Instant) { g.machine.Leave(now) })
		err = errors.Join(err, n.awaitLeft(ctx))
	} else {
		n.look()
	}
	n.awaitReturns(ctx)
	n.awaitSilence(ctx)
	n.returnChunks(never)
	if await(ctx, func() bool { return n.giving.Load() <= 0 && n.storeDebts.count.Load() == 0 }); n.storeDebts.count.Load() > 0 {
		n.log.Warn("redis has not been told of all that was admitted here while it could not be asked", "keys", n.storeDebts.count.Load())
	}
	return errors.Join(err, n.membership.Leave(ctx))
}

// awaitReturns waits until what this node was lent has been given back, for a moment: else it burns.
func (n *Node) awaitReturns(ctx context.Context) {
	await(ctx, func() bool { return n.purses.count.Load() == 0 || !n.unreturned() })
}

// awaitSilence waits, for a moment, until the other nodes ask this one no more and have its answers. Who gets none asks the new
// owner, and the check is charged twice.
func (n *Node) awaitSilence(ctx context.Context) {
	trip := minSilence
	for _, l := range *n.open.Load() {
		trip = max(trip, 2*l.trip.get())
	}
	served, since := n.counters.served.Load(), n.elapsed()
	await(ctx, func() bool {
		if s := n.counters.served.Load(); s != served || n.counters.passing.Load() > 0 {
			served, since = s, n.elapsed()
		}
		return n.elapsed()-since >= trip
	})
}

// await waits until something is so, for leavePatience at most.
func await(ctx context.Context, so func() bool) {
	patience := time.NewTimer(leavePatience)
	defer patience.Stop()
	looks := time.NewTicker(leaseInterval)
	defer looks.Stop()
	for !so() {
		select {
		case <-ctx.Done():
			return
		case <-patience.C:
			return
		case <-looks.C:
		}
	}
}

const (
	// leavePatience is enough for every purse to be looked at, and for the frame to leave.
	leavePatience = 500 * time.Millisecond
	minSilence    = 20 * time.Millisecond
)

// ErrNotHandedOver is wrapped by the error of Leave if it was ended before everything was handed over.
var ErrNotHandedOver = errors.New("not everything was handed over")

func (n *Node) awaitLeft(ctx context.Context) error {
	looks := time.NewTicker(governInterval)
	defer looks.Stop()
	for {
		g := n.governor
		g.mu.Lock()
		left, holds := g.machine.Left(), g.machine.Holdings()
		g.mu.Unlock()
		if left {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %d partitions are left, which the others take over when this node is gone: %w",
				ErrNotHandedOver, holds, context.Cause(ctx))
		case <-looks.C:
		}
	}
}

// Close ends the node: ports are closed, checks under way are decided by rule, and every goroutine has returned when it
// does. It is idempotent, and may be called in any state.
func (n *Node) Close() error {
	n.lifecycle.Lock()
	defer n.lifecycle.Unlock()
	if s := stage(n.stage.Swap(int32(ended))); s == ended || s == made {
		return nil
	}
	n.cancel()
	close(n.ending)
	n.viewing.Lock()
	for _, l := range *n.open.Load() {
		l.close()
	}
	n.viewing.Unlock()
	err := errors.Join(n.membership.Close(), n.network.Close())
	n.goroutines.Wait()
	n.saver.again = time.Time{}
	n.saveGroups()
	return err
}
