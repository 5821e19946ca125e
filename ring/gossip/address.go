package gossip

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// seed is one entry of Config.Seeds.
type seed struct {
	text string // as configured, for messages
	host string // an ip or a name
	port uint16
}

func parseBind(text string) (netip.AddrPort, error) {
	host, port, err := splitPort(text)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("is %q, want ip:port such as 127.0.0.1:7946, or :7946 for all interfaces", text)
	}
	if host == "" {
		return netip.AddrPortFrom(netip.IPv6Unspecified(), port), nil
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || ip.Zone() != "" {
		return netip.AddrPort{}, fmt.Errorf("is %q, want an ip before the port, not a name or a zone", text)
	}
	return netip.AddrPortFrom(ip.Unmap(), port), nil
}

func parseAdvertise(text string) (netip.AddrPort, error) {
	if text == "" {
		return netip.AddrPort{}, nil
	}
	ip, err := netip.ParseAddr(text)
	var port uint16
	if err != nil {
		var whole netip.AddrPort
		whole, err = netip.ParseAddrPort(text)
		ip, port = whole.Addr(), whole.Port()
	}
	if err != nil || ip.Zone() != "" || ip.IsUnspecified() {
		return netip.AddrPort{}, fmt.Errorf("is %q, want an ip or ip:port at which other nodes reach this one", text)
	}
	return netip.AddrPortFrom(ip.Unmap(), port), nil
}

func parseSeed(text string) (seed, error) {
	host, port, err := splitPort(strings.TrimPrefix(text, "dns:///"))
	if err != nil || host == "" || port == 0 || strings.ContainsAny(host, "/%") {
		return seed{}, fmt.Errorf("have %q, want host:port such as 10.0.0.7:7946, or dns:///name:port", text)
	}
	return seed{text: text, host: host, port: port}, nil
}

func splitPort(text string) (host string, port uint16, err error) {
	host, digits, err := net.SplitHostPort(text)
	if err != nil {
		return "", 0, err
	}
	number, err := strconv.ParseUint(digits, 10, 16)
	return host, uint16(number), err
}

// own knows the addresses under which this node could meet itself.
type own struct {
	bound, advertised netip.AddrPort
	local             []netip.Addr // addresses of this machine; read only if all interfaces are bound
}

func newOwn(bound, advertised netip.AddrPort) (own, error) {
	o := own{bound: bound, advertised: advertised}
	if !bound.Addr().IsUnspecified() {
		return o, nil
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return own{}, fmt.Errorf("list the addresses of this machine, to recognise its own among the seeds: %w", err)
	}
	for _, addr := range addrs {
		if prefix, err := netip.ParsePrefix(addr.String()); err == nil {
			o.local = append(o.local, prefix.Addr().Unmap().WithZone(""))
		}
	}
	return o, nil
}

func (o own) is(addr netip.AddrPort) bool {
	if addr == o.bound || addr == o.advertised {
		return true
	}
	if !o.bound.Addr().IsUnspecified() || addr.Port() != o.bound.Port() {
		return false
	}
	// All of 127.0.0.0/8 is this machine, though only 127.0.0.1 is listed as an address of it.
	if addr.Addr().IsLoopback() {
		return true
	}
	for _, ip := range o.local {
		if ip == addr.Addr() {
			return true
		}
	}
	return false
}
