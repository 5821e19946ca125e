package node

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/bucket/redis"
	"github.com/drossel-dev/drossel/bucket/table"
	"github.com/drossel-dev/drossel/ring"
)

// Node is one member of a cluster, or a limiter that is alone. Make it with New. All methods are safe for concurrent
// use.
type Node struct {
	cfg        Config
	log        *slog.Logger
	name       string
	boot       uint64
	born       time.Time
	clock      Clock
	timer      *machineClock // for all that is not a bucket
	timed      bool          // clock is timer
	wall       int64         // by how much Unix time is ahead of it, as the tables know
	secrets    secrets
	partitions ring.Partitioner
	book       atomic.Pointer[book] // the policies
	replacing  sync.Mutex           // held while they are
	editions   editions
	limits     *table.Limits
	owned      *table.Table // buckets of keys that this node owns
	local      *table.Table // buckets of failure rules
	copies     *table.Table // of other owners' buckets
	arriving   *table.Table // buckets of partitions that are on their way here
	debts      debts
	holder     uint64        // names this process in holds
	holds      atomic.Uint64 // the number of the last one

	inlineCounts counts
	counting     sync.Mutex // guards:
	countsBy     map[string]*counts
	counters     counters
	byRule       ruleCounts

	stage      atomic.Int32
	superseded atomic.Bool // a newer process has this node's name
	view       atomic.Pointer[view]

	looking  sync.Mutex // held while a view is made and put in place
	viewing  sync.Mutex // held while it is made; guards:
	builder  *ring.Builder
	links    map[ring.Member]*link
	retiring map[*link]struct{}
	state    ring.State
	open     atomic.Pointer[[]*link] // links and retiring, to read without the lock

	governor *governor // nil where members never change
	ways     atomic.Pointer[map[string]*link]
	turns    turns
	relook   chan struct{}   // the list of members has changed
	life     context.Context // ends with Close

	ops        ops    // asked of Redis
	asker      string // of these
	denials    denials
	chunks     chunks
	storeDebts storeDebts
	gives      chan *redis.Ask
	giving     atomic.Int64 // that are waiting there, or under way
	specials   specials
	entering   sync.Mutex // held while entries of the limits store are numbered
	savings    savings
	offers     offers
	saver      saver
	saved      saved
	purses     purses
	pursesWake chan struct{}
	serving    sync.Mutex // guards:
	inbounds   map[string]*inbound

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
		cfg: cfg, log: cfg.Logger, born: time.Now(), clock: cfg.Clock,
		secrets:    stretch(cfg.Secret, cfg.Label),
		partitions: ring.NewPartitioner(cfg.Ring.Partitions),
		countsBy:   make(map[string]*counts),
		limits:     table.NewLimits(maxLimits),
		links:      make(map[ring.Member]*link),
		retiring:   make(map[*link]struct{}),
		state:      ring.Joining,
		expiryWake: make(chan struct{}, 1),
		ending:     make(chan struct{}),
		inbounds:   make(map[string]*inbound),

		pursesWake: make(chan struct{}, 1),
		savings:    savings{place: make(chan struct{}, 1), waiting: make(map[bucket.ID]table.Entry)},
		offers:     offers{wake: make(chan struct{}, 1)},
		saver:      saver{place: make(chan struct{}, 1), tracked: make([]bool, cfg.Ring.Partitions)},
		relook:     make(chan struct{}, 1),
		timer:      newMachineClock(),
	}
	n.boot = uint64(n.born.UnixNano())
	n.gives = make(chan *redis.Ask, maxGives)
	if n.timed = n.clock == nil; n.timed {
		n.clock = n.timer
	}
	var err error
	if n.name, err = cfg.name(n.boot); err != nil {
		return nil, err
	}
	n.holder = xxhash.Sum64String(n.debtor(n.name, n.boot))
	n.asker = strconv.FormatUint(n.holder, 36)
	n.log = n.log.With("node", n.name)
	if n.builder, err = ring.NewBuilder(cfg.Ring); err != nil {
		return nil, err
	}
	if n.owned, err = table.New(cfg.Ring.Partitions, cfg.TableBytes, n.limits, table.Lending{Epoch: n.boot, Recall: n.recall}); err != nil {
		return nil, err
	}
	if n.local, err = table.New(cfg.Ring.Partitions, cfg.TableBytes/localShare, n.limits, table.Lending{}); err != nil {
		return nil, err
	}
	for _, t := range []**table.Table{&n.copies, &n.arriving} {
		if *t, err = table.New(cfg.Ring.Partitions, cfg.TableBytes, n.limits, table.Lending{}); err != nil {
			return nil, err
		}
	}
	if cfg.Store != nil {
		for _, t := range []*table.Table{n.owned, n.copies, n.arriving} {
			t.SaveEntries()
		}
	}
	n.setWall()
	n.editions.wake, n.editions.news = make(chan struct{}, 1), make(chan *link, 1)
	if err := n.SetPolicies(cfg.Policies, cfg.PolicySource); err != nil {
		return nil, err
	}
	if err := n.load(); err != nil {
		return nil, err
	}
	n.view.Store(&view{self: outside, rank: outside})
	n.open.Store(new([]*link))
	n.ways.Store(new(map[string]*link))
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

// Ready returns nil while the node takes checks and has its name to itself, else what is wrong. No other trouble of
// another node counts.
func (n *Node) Ready() error {
	if s := stage(n.stage.Load()); s != running {
		return fmt.Errorf("%w: node %s %s", policy.ErrUnavailable, n.name, s)
	}
	if n.superseded.Load() {
		return fmt.Errorf("%w: a newer process has the name %s", policy.ErrUnavailable, n.name)
	}
	return nil
}
