package gossip

import (
	"context"
	"fmt"
	"net"
	"net/netip"
)

// resolver looks names up; net.Resolver is the one in use.
type resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// resolve returns all addresses of the seed, without a lookup if it is an ip.
func (s seed) resolve(ctx context.Context, names resolver) ([]netip.AddrPort, error) {
	if ip, err := netip.ParseAddr(s.host); err == nil {
		return []netip.AddrPort{netip.AddrPortFrom(ip.Unmap(), s.port)}, nil
	}
	ips, err := names.LookupNetIP(ctx, "ip", s.host)
	if err != nil {
		return nil, fmt.Errorf("seed %s: %w; check the name, or wait until it is published: it is looked up again at "+
			"the next join", s.text, err)
	}
	addrs := make([]netip.AddrPort, len(ips))
	for i, ip := range ips {
		addrs[i] = netip.AddrPortFrom(ip.Unmap().WithZone(""), s.port)
	}
	return addrs, nil
}

// anywhere are addresses of documentation networks (RFC 5737, RFC 3849): the way to them is the default route.
var anywhere = []string{"192.0.2.1:9", "[2001:db8::1]:9"}

// outboundIP returns the address of this machine that others are most likely to reach: the source address of packets
// towards the first seed that is not on this machine, else towards the default route, else an address of an interface,
// else loopback. It fails if there are seeds but no way to any of them.
func outboundIP(ctx context.Context, seeds []seed, names resolver) (netip.Addr, error) {
	var loopback netip.Addr
	for _, s := range seeds {
		addrs, err := s.resolve(ctx, names)
		if err != nil {
			continue // Join will say so; another seed may do
		}
		for _, addr := range addrs {
			switch ip, err := sourceIP(ctx, addr.String()); {
			case err != nil:
			case !ip.IsLoopback():
				return ip, nil
			case !loopback.IsValid():
				loopback = ip
			}
		}
	}
	if loopback.IsValid() {
		return loopback, nil
	}
	for _, addr := range anywhere {
		if ip, err := sourceIP(ctx, addr); err == nil {
			return ip, nil
		}
	}
	if len(seeds) > 0 {
		return netip.Addr{}, fmt.Errorf("%w: no seed can be routed to, so the address to advertise is unknown; "+
			"set Advertise (--gossip-advertise) to the ip at which other nodes reach this one", ErrConfig)
	}
	return interfaceIP(), nil
}

// interfaceIP returns the first address of an interface that others may reach: there may be a network without a default
// route. Loopback if there is none: a node on its own.
func interfaceIP() netip.Addr {
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil && prefix.Addr().IsGlobalUnicast() {
			return prefix.Addr().Unmap()
		}
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
}

// sourceIP asks the kernel which address packets to addr would come from. Connecting a UDP socket sends nothing.
func sourceIP(ctx context.Context, addr string) (netip.Addr, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "udp", addr)
	if err != nil {
		return netip.Addr{}, err
	}
	defer conn.Close()
	local, err := netip.ParseAddrPort(conn.LocalAddr().String())
	if err != nil {
		return netip.Addr{}, err
	}
	return local.Addr().Unmap().WithZone(""), nil
}
