package interceptor

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/drossel-dev/drossel/transport/headers"
)

// PeerAddress returns the address at the other end of the connection as a key: an IPv4 address, or the /64 prefix of an IPv6 address, since
// clients move freely within theirs. An IPv4 address in IPv6 form (::ffff:1.2.3.4) is the IPv4 address. ctx is that of a call.
//
// The error wraps ErrNoKey if the connection has no IP address, as over a Unix socket.
func PeerAddress(ctx context.Context) (string, error) {
	addr, ok := peerAddr(ctx)
	if !ok {
		return "", fmt.Errorf("%w: the connection has no IP address: the server has to set Options.Key", ErrNoKey)
	}
	return headers.AddressKey(addr), nil
}

// peerAddr returns the IP address at the other end, without zone and not in mapped form.
func peerAddr(ctx context.Context) (netip.Addr, bool) {
	p, ok := peer.FromContext(ctx)
	if !ok || p.Addr == nil {
		return netip.Addr{}, false
	}
	return headers.Address(p.Addr.String())
}

// MetadataKey returns an Options.Key that is the value of a metadata entry, such as an API key. A call without it, or with an empty one, has no
// key: its caller is refused, and never shares one bucket with others. Of several values the first counts. The name may be in any case.
//
// Callers choose what metadata says: take it from an entry that somebody has checked before, or an attacker has a new bucket for each call.
func MetadataKey(name string) func(context.Context, string, metadata.MD) (string, error) {
	return func(_ context.Context, _ string, md metadata.MD) (string, error) {
		if values := md.Get(name); len(values) > 0 && values[0] != "" {
			return values[0], nil
		}
		return "", fmt.Errorf("%w: the call has no metadata %s", ErrNoKey, strings.ToLower(name))
	}
}

// Attributes is what is known about any call: route, which is its full method, host, which is the authority that it names, in lower case, and
// ip, the address at the other end of the connection, all of it: how many bits of it count is for policies to say. What is not known is absent.
func Attributes(ctx context.Context, method string, md metadata.MD) map[string]string {
	all := map[string]string{"route": method}
	if values := md.Get(":authority"); len(values) > 0 && values[0] != "" {
		all["host"] = strings.ToLower(values[0])
	}
	if addr, ok := peerAddr(ctx); ok {
		all["ip"] = addr.String()
	}
	return all
}
