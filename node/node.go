package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/bucket/table"
	"github.com/drossel-dev/drossel/ring"
	"github.com/drossel-dev/drossel/ring/gossip"
	"github.com/drossel-dev/drossel/transport"
	"github.com/drossel-dev/drossel/transport/peer"
)

// Node is one member of a cluster, or a limiter that is alone. Make it with New. All methods are safe for concurrent
// use.
type Node struct {
	cfg        Config
	log        *slog.Logger
	name       string
	boot       uint64
	made       time.Time
	clock      Clock
	secrets    secrets
	partitions ring.Partitioner
	policies   *policy.Set
	handles    map[string]*Handle
	limits     *table.Limits
	owned      *table.Table // buckets of keys that this node owns
	local      *table.Table // buckets of failure rules

	inlineCounts counts
	counters     counters

	stage atomic.Int32
	view  atomic.Pointer[view]

	looking  sync.Mutex // held while a view is made and put in place
	viewing  sync.Mutex // held while it is made; guards:
	builder  *ring.Builder
	links    map[ring.Member]*link
	retiring map[*link]struct{}
	state    ring.State
	open     atomic.Pointer[[]*link] // links and retiring, to read without the lock

	calls      sync.Pool    // of *call
	waiting    atomic.Int64 // checks in all links
	expiryWake chan struct{}
	ending     chan struct{} // closed by Close

	lifecycle  sync.Mutex
	network    Network
	membership Membership
	peerAddr   string
	cancel     context.CancelFunc
	goroutines sync.WaitGroup
}

// stage is where a node is in its life:
//
//	        Start           Leave            Close
//	made ----------> running -----> leaving -------> ended
//	  \-----------------\------------------------------/
type stage int32

const (
	made stage = iota
	running
	leaving
	ended
)

func (s stage) String() string {
	return [...]string{"has not started", "runs", "is leaving", "has ended"}[s]
}

// New returns a node that is not started: no port is open and no goroutine runs. The error wraps ErrConfig and names
// every field that is wrong, or wraps bucket.ErrInvalidLimit.
func New(cfg Config) (*Node, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	n := &Node{
		cfg: cfg, log: cfg.Logger, made: time.Now(), clock: cfg.Clock, policies: cfg.Policies,
		secrets:    stretch(cfg.Secret, cfg.Label),
		partitions: ring.NewPartitioner(cfg.Ring.Partitions),
		handles:    make(map[string]*Handle),
		limits:     table.NewLimits(maxLimits),
		links:      make(map[ring.Member]*link),
		retiring:   make(map[*link]struct{}),
		state:      ring.Joining,
		expiryWake: make(chan struct{}, 1),
		ending:     make(chan struct{}),
	}
	n.boot = uint64(n.made.UnixNano())
	if n.clock == nil {
		n.clock = newMachineClock()
	}
	var err error
	if n.name, err = cfg.name(n.boot); err != nil {
		return nil, err
	}
	n.log = n.log.With("node", n.name)
	if n.builder, err = ring.NewBuilder(cfg.Ring); err != nil {
		return nil, err
	}
	if n.owned, err = table.New(cfg.Ring.Partitions, cfg.TableBytes, n.limits); err != nil {
		return nil, err
	}
	if n.local, err = table.New(cfg.Ring.Partitions, cfg.TableBytes/localShare, n.limits); err != nil {
		return nil, err
	}
	for _, name := range n.policies.Names() {
		p, err := n.policies.Policy(name)
		if err != nil {
			return nil, err
		}
		if n.handles[name], err = n.newHandle(p); err != nil {
			return nil, fmt.Errorf("policy %s: %w", name, err)
		}
	}
	n.view.Store(&view{self: outside})
	n.open.Store(new([]*link))
	return n, nil
}

// name returns the stable id.
func (c Config) name(boot uint64) (string, error) {
	if c.Name != "" {
		return c.Name, nil
	}
	if c.Gossip == "" {
		return "alone", nil
	}
	host, port, _ := net.SplitHostPort(c.Gossip) // Validate has split it
	if OffLoopback(c.Gossip) {
		var err error
		if host, err = os.Hostname(); err != nil {
			return "", fmt.Errorf("%w: Name is empty and the host has none: %w", ErrConfig, err)
		}
	}
	if port == "0" { // a port that differs each time makes no stable id, but nodes must still differ
		port = strconv.FormatUint(boot, 36)
	}
	return host + ":" + port, nil
}

// policyNames lists a few policies, for messages.
func (n *Node) policyNames() string {
	names := slices.Sorted(maps.Keys(n.handles))
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > 5:
		return strings.Join(names[:5], ", ") + fmt.Sprintf(" and %d more", len(names)-5)
	}
	return strings.Join(names, ", ")
}

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
	for _, f := range []func(context.Context){n.follow, n.expireLate, n.upkeep} {
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

// PeerAddr returns the address at which peers are listened for; empty before Start, and for a node that is alone.
func (n *Node) PeerAddr() string {
	n.lifecycle.Lock()
	defer n.lifecycle.Unlock()
	return n.peerAddr
}

// GossipAddr returns the address at which others find this node; empty before Start, and without gossip.
func (n *Node) GossipAddr() string {
	n.lifecycle.Lock()
	defer n.lifecycle.Unlock()
	if g, ok := n.membership.(interface{ Addr() string }); ok {
		return g.Addr()
	}
	return ""
}

// Name returns the stable id.
func (n *Node) Name() string { return n.name }

// Ready returns nil while the node takes checks, else why it does not. It never depends on other nodes.
func (n *Node) Ready() error {
	if s := stage(n.stage.Load()); s != running {
		return fmt.Errorf("%w: node %s %s", policy.ErrUnavailable, n.name, s)
	}
	return nil
}

// Leave tells the others that this node goes, so that they take its keys, and gives the keys up itself once they have
// had time to hear of it, or ctx ends. Checks are answered throughout. Call Close afterwards. It does nothing unless the
// node runs.
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

func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2) }
