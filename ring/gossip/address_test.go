package gossip

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
)

func TestAdvertisedAddress(t *testing.T) {
	names := &book{names: make(map[string][]netip.Addr), err: errors.New("no such host")}
	names.set("here.test", "127.0.1.1")
	for _, test := range []struct {
		name, bind, advertise, want string // want 0 for the bound port
		seeds                       []string
	}{
		{"the ip of Bind", "127.0.0.1:0", "", "127.0.0.1:0", nil},
		{"an ip, with the bound port", "127.0.0.1:0", "10.1.2.3", "10.1.2.3:0", nil},
		{"an ip, port 0", "127.0.0.1:0", "10.1.2.3:0", "10.1.2.3:0", nil},
		{"an ip and a port", "127.0.0.1:0", "10.1.2.3:99", "10.1.2.3:99", nil},
		{"an ip of 6", "127.0.0.1:0", "2001:db8::7", "[2001:db8::7]:0", nil},
		{"towards the first seed", ":0", "", "127.0.0.1:0", []string{"127.0.0.1:1"}},
		{"towards the first that has an address", "0.0.0.0:0", "", "127.0.0.1:0",
			[]string{"gone.test:1", "here.test:1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg, _ := config("a", 1, test.seeds...)
			cfg.Bind, cfg.Advertise = test.bind, test.advertise
			g := runWith(t, cfg, settings{names: names, tune: brisk})
			got, want := netip.MustParseAddrPort(g.Addr()), netip.MustParseAddrPort(test.want)
			if want.Port() == 0 {
				want = netip.AddrPortFrom(want.Addr(), g.own.bound.Port())
			}
			if got != want || got.Port() == 0 {
				t.Errorf("advertises %s, want %s", got, want)
			}
			if node := g.list.LocalNode(); node.Address() != got.String() {
				t.Errorf("memberlist advertises %s, Addr says %s", node.Address(), got)
			}
		})
	}
}

// Whatever network the machine has, a node without seeds finds an address that is not unspecified.
func TestAdvertisedAddressWithoutSeeds(t *testing.T) {
	ip, err := outboundIP(t.Context(), nil, &book{})
	if err != nil || !ip.IsValid() || ip.IsUnspecified() {
		t.Errorf("got %s, %v, want an address", ip, err)
	}
}

func TestOwnAddresses(t *testing.T) {
	ports := func(texts ...string) (addrs []netip.AddrPort) {
		for _, text := range texts {
			addrs = append(addrs, netip.MustParseAddrPort(text))
		}
		return addrs
	}
	bound, advertised := ports("[::]:7946")[0], ports("203.0.113.9:8000")[0]
	all := own{bound: bound, advertised: advertised, local: []netip.Addr{netip.MustParseAddr("10.1.2.3")}}
	one := own{bound: ports("10.1.2.3:7946")[0], advertised: advertised}
	for _, test := range []struct {
		own         own
		mine, other []netip.AddrPort
	}{
		{all, ports("203.0.113.9:8000", "10.1.2.3:7946", "127.0.0.1:7946", "127.0.1.1:7946", "[::1]:7946"),
			ports("203.0.113.9:7946", "10.1.2.3:7947", "10.1.2.4:7946", "127.0.0.1:7947")},
		{one, ports("203.0.113.9:8000", "10.1.2.3:7946"), ports("127.0.0.1:7946", "10.1.2.3:7947", "10.1.2.4:7946")},
	} {
		for _, addr := range test.mine {
			if !test.own.is(addr) {
				t.Errorf("%+v: %s is taken for another node", test.own, addr)
			}
		}
		for _, addr := range test.other {
			if test.own.is(addr) {
				t.Errorf("%+v: %s is taken for this node", test.own, addr)
			}
		}
	}
	o, err := newOwn(bound, advertised)
	if err != nil || len(o.local) == 0 {
		t.Errorf("this machine has addresses %v, %v, want at least its loopback", o.local, err)
	}
}

func TestSeeds(t *testing.T) {
	for text, want := range map[string]seed{
		"10.0.0.7:7946":           {host: "10.0.0.7", port: 7946},
		"[2001:db8::7]:1":         {host: "2001:db8::7", port: 1},
		"a.test:7946":             {host: "a.test", port: 7946},
		"dns:///limits.test:7946": {host: "limits.test", port: 7946},
		"dns:///10.0.0.7:65535":   {host: "10.0.0.7", port: 65535},
	} {
		want.text = text
		if got, err := parseSeed(text); got != want || err != nil {
			t.Errorf("%s: got %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "a", "a:", "a:b", "a:-1", "a:65536", "dns:///", "dns://host/a:1", "[fe80::1%lo]:1"} {
		if got, err := parseSeed(text); err == nil || !strings.Contains(err.Error(), "want host:port") {
			t.Errorf("%q: got %+v, %v, want an error that says the form", text, got, err)
		}
	}
}
