package interceptor

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

// from returns the context of a call from an address.
func from(addr net.Addr) context.Context {
	return peer.NewContext(context.Background(), &peer.Peer{Addr: addr})
}

// place is an address as a transport of one's own may have it.
type place string

func (place) Network() string  { return "place" }
func (p place) String() string { return string(p) }

func TestPeerAddress(t *testing.T) {
	tests := []struct {
		id   string
		addr net.Addr
		want string
	}{
		{"IPv4", &net.TCPAddr{IP: net.IPv4(1, 2, 3, 4), Port: 5678}, "1.2.3.4"},
		{"C112: same prefix", place("[2001:db8:1:2::1]:80"), "2001:db8:1:2::/64"},
		{"C112: same prefix", place("[2001:db8:1:2:ffff:ffff:ffff:ffff]:80"), "2001:db8:1:2::/64"},
		{"C112: other prefix", place("[2001:db8:1:3::1]:80"), "2001:db8:1:3::/64"},
		{"C113: mapped, dotted", place("[::ffff:1.2.3.4]:80"), "1.2.3.4"},
		{"C113: mapped, hexadecimal", place("[::ffff:102:304]:80"), "1.2.3.4"},
		{"C113: no mapping", place("[2001:db8:1234:5678::1.2.3.4]:80"), "2001:db8:1234:5678::/64"},
		{"C113: another", place("[::ffff:9.9.9.9]:80"), "9.9.9.9"},
		{"zone", &net.TCPAddr{IP: net.ParseIP("fe80::1"), Zone: "eth0", Port: 1}, "fe80::/64"},
	}
	for _, tt := range tests {
		if got, err := PeerAddress(from(tt.addr)); err != nil || got != tt.want {
			t.Errorf("%s: PeerAddress of %v = %q, %v, want %q", tt.id, tt.addr, got, err, tt.want)
		}
	}
	for name, ctx := range map[string]context.Context{
		"Unix socket": from(&net.UnixAddr{Name: "/run/x.sock", Net: "unix"}), "abstract": from(place("@")), "in memory": from(place("bufconn")),
		"no address": from(nil), "no peer": context.Background(),
	} {
		if got, err := PeerAddress(ctx); !errors.Is(err, ErrNoKey) || got != "" {
			t.Errorf("%s: PeerAddress = %q, %v, want ErrNoKey", name, got, err)
		}
	}
}

func TestMetadataKey(t *testing.T) {
	key := MetadataKey("X-API-Key")
	if got, err := key(t.Context(), "", metadata.Pairs("x-api-key", "ann", "x-api-key", "ben")); err != nil || got != "ann" {
		t.Errorf("the first of two: %q, %v", got, err)
	}
	for name, md := range map[string]metadata.MD{
		"none": nil, "another": metadata.Pairs("x-key", "ann"), "empty": metadata.Pairs("x-api-key", ""),
		"an empty one first": metadata.Pairs("x-api-key", "", "x-api-key", "ann"),
	} {
		if got, err := key(t.Context(), "", md); !errors.Is(err, ErrNoKey) || got != "" || !strings.Contains(err.Error(), "x-api-key") {
			t.Errorf("%s: %q, %v, want ErrNoKey that names x-api-key", name, got, err)
		}
	}
}

func TestAttributes(t *testing.T) {
	got := Attributes(from(place("[2001:db8::1%eth0]:1")), "/a.B/C", metadata.Pairs(":authority", "Example.com:443"))
	want := map[string]string{"route": "/a.B/C", "host": "example.com:443", "ip": "2001:db8::1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	got = Attributes(context.Background(), "/a.B/C", nil)
	if diff := cmp.Diff(map[string]string{"route": "/a.B/C"}, got); diff != "" {
		t.Errorf("of an unknown caller: -want +got:\n%s", diff)
	}
}
