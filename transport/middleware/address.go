package middleware

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// ClientAddress returns the address that a client is told by: an IPv4 address, or the /64 prefix of an IPv6 address,
// since clients move freely within theirs. An IPv4 address in IPv6 form (::ffff:1.2.3.4) is the IPv4 address.
//
// trustedProxies is how many proxies of your own each request passes. Each of them appends the address it got the
// request from to X-Forwarded-For, so the client is that many entries from the right; what stands before is hearsay. If
// there are fewer entries, or that one is no address, it is the peer of the connection, as with 0 proxies.
//
// The error wraps ErrNoKey if the connection has no IP address either, as behind a Unix socket.
func ClientAddress(r *http.Request, trustedProxies int) (string, error) {
	if trustedProxies > 0 {
		entries := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		if i := len(entries) - trustedProxies; i >= 0 {
			if addr, ok := parseAddress(strings.TrimSpace(entries[i])); ok {
				return masked(addr), nil
			}
		}
	}
	addr, ok := parseAddress(r.RemoteAddr)
	if !ok {
		return "", fmt.Errorf("%w: %q is no IP address: set Options.Key or TrustedProxies", ErrNoKey, r.RemoteAddr)
	}
	return masked(addr), nil
}

// parseAddress reads an address, with or without a port: proxies write both.
func parseAddress(text string) (netip.Addr, bool) {
	if ap, err := netip.ParseAddrPort(text); err == nil {
		return ap.Addr(), true
	}
	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	return addr, err == nil
}

// masked returns the key of an address.
func masked(addr netip.Addr) string {
	addr = addr.Unmap()
	if addr.Is4() {
		return addr.String()
	}
	return netip.PrefixFrom(addr, 64).Masked().String() // without zone
}
