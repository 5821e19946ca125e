package middleware

import (
	"fmt"
	"net/http"
	"net/netip"

	"github.com/drossel-dev/drossel/transport/headers"
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
	addr, ok := clientAddr(r, trustedProxies)
	if !ok {
		return "", fmt.Errorf("%w: %q is no IP address: set Options.Key or TrustedProxies", ErrNoKey, r.RemoteAddr)
	}
	return headers.AddressKey(addr), nil
}

func clientAddr(r *http.Request, trustedProxies int) (netip.Addr, bool) {
	if addr, ok := headers.Client(r.Header.Values("X-Forwarded-For"), trustedProxies); ok {
		return addr, true
	}
	return headers.Address(r.RemoteAddr)
}
