package gossip

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/drossel-dev/drossel/ring"
)

const (
	startTimeout = 5 * time.Second // for the names of seeds, where the address to advertise depends on them
	bindAttempts = 10              // for port 0: the free TCP port may be taken in UDP
)

// settings are what tests set otherwise.
type settings struct {
	names resolver
	tune  func(*memberlist.Config)
}

// Start opens the sockets and answers whoever calls; it joins nobody. The error wraps ErrConfig or ErrInUse, or is that
// of the socket. It may look up the seeds' names, for at most 5 s.
func Start(cfg Config) (*Gossip, error) {
	return start(cfg, settings{names: net.DefaultResolver, tune: func(*memberlist.Config) {}})
}

func start(cfg Config, s settings) (_ *Gossip, err error) {
	ends, err := cfg.parse()
	if err != nil {
		return nil, err
	}
	cfg.Self.State = ring.Joining
	g := &Gossip{
		journal: newJournal(cfg.Logger, cfg.wireLabel()),
		names:   s.names, seeds: ends.seeds, wireLabel: cfg.wireLabel(),
	}
	defer func() {
		if err != nil {
			g.journal.close()
		}
	}()
	lines := log.New(g.journal, "", 0)
	transport, bound, err := listen(ends.bind, lines)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, transport.Shutdown())
		}
	}()
	advertised, err := advertise(ends, bound, s.names)
	if err != nil {
		return nil, err
	}
	if g.own, err = newOwn(bound, advertised); err != nil {
		return nil, err
	}
	cfg.Self.Peer = reachable(cfg.Self.Peer, advertised.Addr())
	g.roster = newRoster(cfg.Self)
	conf := memberlistConfig(cfg, bound, advertised)
	conf.Logger, conf.Transport = lines, transport
	d := &delegate{roster: g.roster, journal: g.journal, fingerprint: cfg.Fingerprint}
	conf.Delegate, conf.Events, conf.Alive, conf.Merge, conf.Conflict = d, d, d, d, d
	s.tune(conf)
	if g.list, err = memberlist.Create(conf); err != nil {
		return nil, fmt.Errorf("start gossip at %s: %w", bound, err)
	}
	return g, nil
}

// listen opens the TCP and the UDP socket and returns the address they have.
func listen(bind netip.AddrPort, lines *log.Logger) (*memberlist.NetTransport, netip.AddrPort, error) {
	ip := bind.Addr().String()
	if bind.Addr().IsUnspecified() {
		ip = "" // all interfaces, whether the machine has IPv4, IPv6 or both
	}
	conf := &memberlist.NetTransportConfig{BindAddrs: []string{ip}, BindPort: int(bind.Port()), Logger: lines}
	attempts := 1
	if bind.Port() == 0 {
		attempts = bindAttempts
	}
	var err error
	for range attempts {
		var transport *memberlist.NetTransport
		if transport, err = memberlist.NewNetTransport(conf); err == nil {
			return transport, netip.AddrPortFrom(bind.Addr(), uint16(transport.GetAutoBindPort())), nil
		}
	}
	// Memberlist flattens the error of the socket into text.
	if strings.Contains(err.Error(), "address already in use") {
		return nil, bind, fmt.Errorf("%w: Bind is %s; stop the process that listens there, or choose another --gossip address: %w",
			ErrInUse, bind, err)
	}
	return nil, bind, fmt.Errorf("cannot listen on Bind %s; it must be an address of this machine, and a port that "+
		"this user may open: %w", bind, err)
}

// advertise completes the address that others are to use.
func advertise(ends endpoints, bound netip.AddrPort, names resolver) (netip.AddrPort, error) {
	ip, port := ends.advertise.Addr(), ends.advertise.Port()
	if port == 0 {
		port = bound.Port()
	}
	if !ip.IsValid() {
		ip = bound.Addr()
	}
	if ip.IsUnspecified() {
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		var err error
		if ip, err = outboundIP(ctx, ends.seeds, names); err != nil {
			return netip.AddrPort{}, err
		}
	}
	return netip.AddrPortFrom(ip, port), nil
}

// reachable puts ip into the address of a node that listens for peers on all of its own.
func reachable(peer string, ip netip.Addr) string {
	if addr, err := netip.ParseAddrPort(peer); err == nil && addr.Addr().IsUnspecified() {
		return netip.AddrPortFrom(ip, addr.Port()).String()
	}
	return peer
}

// memberlistConfig trades a little traffic for speed: a crash is seen in 3 to 6 s.
func memberlistConfig(cfg Config, bound, advertised netip.AddrPort) *memberlist.Config {
	conf := memberlist.DefaultLANConfig()
	conf.Name = name(cfg.Self)
	conf.Label = cfg.wireLabel()
	conf.SecretKey = slices.Clone(cfg.Key)
	conf.BindAddr, conf.BindPort = bound.Addr().String(), int(bound.Port())
	conf.AdvertiseAddr, conf.AdvertisePort = advertised.Addr().String(), int(advertised.Port())
	conf.ProbeInterval, conf.ProbeTimeout = 500*time.Millisecond, 200*time.Millisecond
	conf.SuspicionMult, conf.SuspicionMaxTimeoutMult = 4, 4
	conf.GossipInterval, conf.GossipNodes = 100*time.Millisecond, 3
	conf.GossipToTheDeadTime = 30 * time.Second
	conf.DeadNodeReclaimTime = time.Second
	conf.PushPullInterval = 15 * time.Second
	conf.TCPTimeout = 2 * time.Second
	conf.HandoffQueueDepth = 4096
	conf.EnableCompression = false
	return conf
}
