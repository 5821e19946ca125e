package middleware

import (
	"errors"
	"net/http/httptest"
	"testing"
)

func TestClientAddress(t *testing.T) {
	tests := []struct {
		id      string
		remote  string
		forward []string
		proxies int
		want    string
	}{
		{"IPv4", "1.2.3.4:5678", nil, 0, "1.2.3.4"},
		{"C112: same prefix", "[2001:db8:1:2::1]:80", nil, 0, "2001:db8:1:2::/64"},
		{"C112: same prefix", "[2001:db8:1:2:ffff:ffff:ffff:ffff]:80", nil, 0, "2001:db8:1:2::/64"},
		{"C112: other prefix", "[2001:db8:1:3::1]:80", nil, 0, "2001:db8:1:3::/64"},
		{"C113: mapped, dotted", "[::ffff:1.2.3.4]:80", nil, 0, "1.2.3.4"},
		{"C113: mapped, hexadecimal", "[::ffff:102:304]:80", nil, 0, "1.2.3.4"},
		{"C113: no mapping", "[2001:db8:1234:5678::1.2.3.4]:80", nil, 0, "2001:db8:1234:5678::/64"},
		{"C113: another", "[::ffff:9.9.9.9]:80", nil, 0, "9.9.9.9"},
		{"zone", "[fe80::1%eth0]:80", nil, 0, "fe80::/64"},
		{"no port", "1.2.3.4", nil, 0, "1.2.3.4"},
		{"header not believed", "10.0.0.1:80", []string{"1.1.1.1"}, 0, "10.0.0.1"},
		{"one proxy", "10.0.0.1:80", []string{"1.1.1.1"}, 1, "1.1.1.1"},
		{"one proxy, forged entries", "10.0.0.1:80", []string{"6.6.6.6, 7.7.7.7 ,1.1.1.1"}, 1, "1.1.1.1"},
		{"two proxies", "10.0.0.1:80", []string{"6.6.6.6, 1.1.1.1, 10.0.0.2"}, 2, "1.1.1.1"},
		{"two proxies, two lines", "10.0.0.1:80", []string{"6.6.6.6,1.1.1.1", "10.0.0.2"}, 2, "1.1.1.1"},
		{"too few entries", "10.0.0.1:80", []string{"6.6.6.6"}, 2, "10.0.0.1"},
		{"no entries", "10.0.0.1:80", nil, 1, "10.0.0.1"},
		{"no address", "10.0.0.1:80", []string{"unknown"}, 1, "10.0.0.1"},
		{"entry with a port", "10.0.0.1:80", []string{"1.1.1.1:99"}, 1, "1.1.1.1"},
		{"bracketed entry", "10.0.0.1:80", []string{"[2001:db8:1:2::1]"}, 1, "2001:db8:1:2::/64"},
		{"bracketed entry with a port", "10.0.0.1:80", []string{"[2001:db8:1:2::1]:99"}, 1, "2001:db8:1:2::/64"},
		{"mapped entry", "10.0.0.1:80", []string{"::ffff:1.1.1.1"}, 1, "1.1.1.1"},
		{"Unix socket behind a proxy", "@", []string{"1.1.1.1"}, 1, "1.1.1.1"},
	}
	for _, tt := range tests {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = tt.remote
		r.Header["X-Forwarded-For"] = tt.forward
		if got, err := ClientAddress(r, tt.proxies); err != nil || got != tt.want {
			t.Errorf("%s: ClientAddress of %s via %q = %s, %v, want %s", tt.id, tt.remote, tt.forward, got, err, tt.want)
		}
	}
	for _, remote := range []string{"", "@", "/run/web.sock", "localhost:80"} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = remote
		if got, err := ClientAddress(r, 0); !errors.Is(err, ErrNoKey) {
			t.Errorf("ClientAddress of %q = %q, %v, want ErrNoKey", remote, got, err)
		}
	}
}
