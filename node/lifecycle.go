package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

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
	n.cancel = cancel
	joining, done := context.WithTimeout(ctx, firstJoin)
	met := n.join(joining)
	done()
	n.setState(ring.Active)
	n.look()
	if err := n.membership.SetState(ctx, ring.Active); err != nil {
		n.log.Warn("the others may hear late that this node is active", "error", err)
	}
	for _, f := range []func(context.Context){n.follow, n.expireLate, n.keepPurses, n.upkeep} {
		n.goroutines.Go(func() { f(life) })
	}
	if len(n.cfg.Join) > 0 {
		n.goroutines.Go(func() { n.rejoin(life, met) })
	}
	n.stage.Store(int32(running))
	return nil
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

// Leave tells the others that this node goes, so that they take its keys, and gives the keys up itself once they have
// had time to hear of it, or ctx ends. Checks are answered throughout. Call Close afterwards. It does nothing unless
// the node runs.
func (n *Node) Leave(ctx context.Context) error {
	n.lifecycle.Lock()
	defer n.lifecycle.Unlock()
	if !n.stage.CompareAndSwap(int32(running), int32(leaving)) {
		return nil
	}
	err := n.membership.SetState(ctx, ring.Leaving)
	select { // who has not heard yet still asks this node, and must not be sent to somebody who has not heard either
	case <-ctx.Done():
	case <-time.After(leavePropagation):
	}
	n.setState(ring.Leaving)
	n.look()
	return errors.Join(err, n.membership.Leave(ctx))
}

// leavePropagation is how long a node that leaves goes on deciding what still comes for it: gossip reaches everybody in
// a few tenths of a second.
const leavePropagation = 500 * time.Millisecond

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
	return err
}
