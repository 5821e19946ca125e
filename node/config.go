package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/bucket/table"
	"github.com/drossel-dev/drossel/ring"
	"github.com/drossel-dev/drossel/ring/gossip"
	"github.com/drossel-dev/drossel/transport"
)

// Config says what a node is. The zero value is a node that is alone, opens no port and knows no policy.
type Config struct {
	// Name is the stable id: the same after a restart, different for every node of a cluster, at most 120 bytes.
	// Default: "<hostname>:<gossip port>", on loopback "<ip>:<gossip port>", or "alone"
	// without Gossip.
	Name string
	// Label names the cluster, at most 200 bytes. Nodes of different labels refuse each other. Default "drossel".
	Label string
	// Secret is what all nodes of a cluster know and nobody else: it keys the ids of buckets, encrypts gossip and lets
	// peers prove that they belong. At least 16 bytes. Without one it is derived from Label, which protects nothing.
	Secret []byte
	// Insecure allows addresses off loopback without a Secret.
	Insecure bool

	// Gossip is the "ip:port" for membership, TCP and UDP; port 0 picks a free one. Empty means alone: no ports, no peers.
	Gossip string
	// GossipAdvertise is the "ip:port" at which others reach Gossip. Default: Gossip's ip, or if that is unspecified the
	// source address towards the first seed.
	GossipAdvertise string
	// Peer is the "ip:port" for checks from other nodes. Default: Gossip's ip and the next port (0 after 0).
	Peer string
	// PeerAdvertise is the "host:port" at which others reach Peer. Default: the ip that Gossip advertises, Peer's port.
	PeerAdvertise string
	// Join are seeds: gossip addresses of other nodes as "host:port", or "dns:///name:port" for all addresses of a name.
	// Own addresses among them are skipped. They are asked again for ever, so they may come up later.
	Join []string

	// Expect is how many new nodes have to meet before they found a cluster; 1 founds one at once. 0 founds it after
	// JoinTimeout with those who have met by then. A node whose seeds are only itself, or none, founds one at once.
	Expect int
	// JoinTimeout is how long a new node looks for a cluster before Start returns without one; default 10 s. It goes on
	// looking, and decides by failure rules meanwhile.
	JoinTimeout time.Duration
	// Forget is how long a member may be silent before the others drop it from the list whose majority counts; default 1
	// minute. Shorter means that a cluster that loses one node after the other keeps its majority; longer that a node may be
	// away for longer without having to join again.
	Forget time.Duration
	// Settle is how long placement waits for further changes of the members before partitions move; default 1 s.
	Settle time.Duration

	// Policies are the limits this node knows. Nil means none: only requests with a limit of their own are decided.
	Policies *policy.Set
	// PolicySource says where they come from. The zero Source is the program that the node is part of.
	PolicySource Source
	// Strict decides limits that are strict. Nil means that there can be none: policies that have some are refused; if others have applied
	// them, they are decided by their rules for failures.
	Strict Strict
	// Store keeps what has to outlive the node: editions of policies that were applied. Nil keeps nothing; a node that starts
	// takes them from the others.
	Store Store
	// Groups keeps what was taken of durable limits, for when all nodes end at once. Nil keeps nothing. Give it to all nodes or to none:
	// one without it begins with nothing.
	Groups GroupStore

	// Ring are the parameters of placement, the same on every node for a cluster's whole life.
	Ring ring.Params
	// TableBytes bounds the memory for buckets, in bytes; default 1 GiB, of which nothing is used before there are buckets
	// (48 bytes each with one limit, 62 to 98 with the room around them). A node that has reached it decides new keys by
	// the failure rule until others have rested. An eighth more may be used by failure rules themselves, and an eighth by limits of single
	// keys. Hot keys need a
	// little besides: some kilobytes for each that is owned (16,384 at most), half a one for each other (65,536).
	TableBytes int64
	// Deadline bounds how long a check waits for another node; default 12 ms. It is never later than the caller's own
	// deadline less 3 ms. Longer means that a slow peer is waited for, shorter that a failure rule decides.
	Deadline time.Duration

	// Logger is told of members, peers and faults, never of single checks. Nil means no log.
	Logger *slog.Logger
	// Clock is the decision clock. Nil means the machine's, time asleep included.
	Clock Clock
	// Connect, if set, replaces gossip and gRPC. It gets what this node says of itself and the key that peers prove.
	Connect func(own transport.Hello, secret []byte) (Network, Membership)
}

// Clock says at which instant a check is decided. Timeouts do not depend on it.
type Clock interface {
	// Now must be safe for concurrent use and should not step. Nodes need not agree on it. Windows of the clock and the calendar
	// take it for Unix time.
	Now() bucket.Instant
}

// Network connects a node to its peers. transport/peer and transport/mem are such networks.
type Network interface {
	// Listen serves those who dial this node, until Close, and returns the bound address.
	Listen(h transport.Handler) (addr string, err error)
	// Dial opens a connection to a peer, within ctx.
	Dial(ctx context.Context, addr string) (transport.Peer, error)
	// Close ends all connections and waits for the handlers.
	Close() error
}

// Membership says who is alive. ring/gossip is one.
type Membership interface {
	// Members returns all members known to be alive, this node included, one for each id.
	Members() []ring.Member
	// Changes is signalled after every change of Members.
	Changes() <-chan struct{}
	// Join looks for others at the seeds, once, and returns how many it met.
	Join(ctx context.Context) (others int, err error)
	// SetState tells the others where this node is in its life.
	SetState(ctx context.Context, s ring.State) error
	// Leave tells the others that this node goes.
	Leave(ctx context.Context) error
	// Close ends membership without a word.
	Close() error
}

const (
	defaultLabel      = "drossel"
	defaultTableBytes = 1 << 30
	defaultDeadline   = 12 * time.Millisecond
	defaultJoin       = 10 * time.Second
	defaultForget     = time.Minute
	defaultSettle     = time.Second
	// callerMargin is what a check leaves of its caller's own deadline.
	callerMargin   = 3 * time.Millisecond
	maxLabelBytes  = 200
	minSecretBytes = 16
	// maxLimits bounds the different groups of limits in memory, a few hundred bytes each.
	maxLimits = 1 << 17
)

// ErrConfig is wrapped by every error that says a Config is wrong.
var ErrConfig = errors.New("invalid configuration")

// withDefaults fills in what is left out and does not depend on the machine.
func (c Config) withDefaults() Config {
	if c.Label == "" {
		c.Label = defaultLabel
	}
	if c.TableBytes == 0 {
		c.TableBytes = defaultTableBytes
	}
	if c.Deadline == 0 {
		c.Deadline = defaultDeadline
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{{&c.JoinTimeout, defaultJoin}, {&c.Forget, defaultForget}, {&c.Settle, defaultSettle}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Ring.Partitions == 0 {
		c.Ring.Partitions = ring.DefaultPartitions
	}
	return c
}

// Validate returns nil, or an error that wraps ErrConfig and names every field that is wrong.
func (c Config) Validate() error {
	c = c.withDefaults()
	var wrong []error
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if len(c.Name) > gossip.MaxIDBytes {
		say("Name has %d bytes, want at most %d", len(c.Name), gossip.MaxIDBytes)
	}
	if len(c.Label) > maxLabelBytes {
		say("Label has %d bytes, want at most %d", len(c.Label), maxLabelBytes)
	}
	if n := len(c.Secret); n != 0 && n < minSecretBytes {
		say("Secret has %d bytes, want at least %d", n, minSecretBytes)
	}
	if err := c.Ring.Validate(); err != nil {
		wrong = append(wrong, err)
	} else if least := int64(c.Ring.Partitions) * table.MinBytesPerPartition; c.TableBytes < localShare*least {
		say("TableBytes is %d, want at least %d for %d partitions", c.TableBytes, localShare*least, c.Ring.Partitions)
	}
	if c.Deadline < time.Millisecond || c.Deadline > time.Hour {
		say("Deadline is %v, want 1ms to 1h", c.Deadline)
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{{"JoinTimeout (--join-timeout)", c.JoinTimeout}, {"Forget (--forget)", c.Forget}, {"Settle", c.Settle}} {
		if d.value < 0 || d.value > 24*time.Hour {
			say("%s is %v, want more than 0 and at most 24h", d.field, d.value)
		}
	}
	if c.Expect < 0 || c.Expect > c.Ring.Partitions {
		say("Expect (--expect) is %d, want 0 to %d", c.Expect, c.Ring.Partitions)
	}
	if c.Gossip == "" && len(c.Join) > 0 {
		say("Join needs Gossip: a node without it has no ports")
	}
	if c.Gossip == "" && c.Peer != "" {
		say("Peer needs Gossip: a node without it has no ports")
	}
	for _, seed := range c.Join {
		if err := gossip.CheckSeed(seed); err != nil {
			say("Join (--join): %w", err)
		}
	}
	if err := gossip.CheckAdvertise(c.GossipAdvertise); err != nil {
		say("GossipAdvertise (--gossip-advertise): %w", err)
	}
	for _, a := range []struct{ field, addr string }{{"Gossip (--gossip)", c.Gossip}, {"Peer (--peer)", c.Peer}} {
		if a.addr == "" {
			continue
		}
		if err := gossip.CheckBind(a.addr); err != nil {
			say("%s: %w", a.field, err)
		} else if len(c.Secret) == 0 && !c.Insecure && OffLoopback(a.addr) {
			say("%s is %s, off loopback, and there is no secret: anybody who reaches it could take part. "+
				"Give all nodes one Secret (--secret-file), listen on 127.0.0.1, or say Insecure (--insecure)", a.field, a.addr)
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrConfig, errors.Join(wrong...))
}

// OffLoopback says whether other machines may reach a "host:port" that is listened on. A name counts as off loopback,
// except localhost.
func OffLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	return err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback())
}
