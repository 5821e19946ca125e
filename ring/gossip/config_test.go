package gossip

import (
	"errors"
	"net"
	"strings"
	"testing"
)

func TestConfigNamesAllThatIsWrong(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Config)
		want   []string // nil: nothing is wrong
	}{
		{"good", func(*Config) {}, nil},
		{"longest", func(c *Config) {
			c.Self.ID, c.Label = strings.Repeat("i", MaxIDBytes), strings.Repeat("l", MaxLabelBytes)
			c.Self.Peer, c.KeyHash = strings.Repeat("p", MaxPeerBytes-5)+":7947", strings.Repeat("h", MaxKeyHashBytes)
			c.Fingerprint = strings.Repeat("f", MaxFingerprintBytes)
		}, nil},
		{"too long", func(c *Config) {
			c.Self.ID, c.Label = strings.Repeat("i", MaxIDBytes+1), strings.Repeat("l", MaxLabelBytes+1)
			c.Self.Peer, c.KeyHash = strings.Repeat("p", MaxPeerBytes-4)+":7947", strings.Repeat("h", MaxKeyHashBytes+1)
			c.Fingerprint = strings.Repeat("f", MaxFingerprintBytes+1)
		}, []string{
			"Self.ID has 121 bytes, want 1 to 120", "Self.Peer has 260 bytes", "Label has 201 bytes, want 1 to 200",
			"KeyHash has 55 bytes", "Fingerprint has 113 bytes",
		}},
		{"empty", func(c *Config) { *c = Config{} }, []string{
			"Self.ID has 0 bytes", "Self.Peer has 0 bytes", "Self.Peer is \"\"", "Label has 0 bytes", "Bind is \"\"",
		}},
		{"peer without host", func(c *Config) { c.Self.Peer = ":7947" }, []string{`Self.Peer is ":7947", want host:port`}},
		{"short key", func(c *Config) { c.Key = make([]byte, 16) }, []string{"Key has 16 bytes, want 32"}},
		{"empty key", func(c *Config) { c.Key = []byte{} }, []string{"Key has 0 bytes, want 32"}},
		{"hash in hash", func(c *Config) { c.KeyHash = "a#b" }, []string{"KeyHash is \"a#b\""}},
		{"name to bind", func(c *Config) { c.Bind = "localhost:7946" }, []string{`Bind is "localhost:7946", want an ip`}},
		{"zone to bind", func(c *Config) { c.Bind = "[fe80::1%lo]:7946" }, []string{"Bind is"}},
		{"port to bind", func(c *Config) { c.Bind = "127.0.0.1:65536" }, []string{"Bind is"}},
		{"name to advertise", func(c *Config) { c.Advertise = "a.test:1" }, []string{`Advertise is "a.test:1", want an ip`}},
		{"nowhere to advertise", func(c *Config) { c.Advertise = "0.0.0.0:1" }, []string{"Advertise is"}},
		{"seeds", func(c *Config) {
			c.Seeds = []string{"a.test", "dns://a.test:1", "a.test:0", ":1", "10.0.0.1:7946", "dns:///b.test:7946"}
		}, []string{`have "a.test", want`, `have "dns://a.test:1", want`, `have "a.test:0", want`, `have ":1", want`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg, _ := config("a", 1)
			test.change(&cfg)
			_, err := cfg.parse()
			if (err != nil) != (test.want != nil) || err != nil && !errors.Is(err, ErrConfig) {
				t.Fatalf("got %v, want an ErrConfig about %q", err, test.want)
			}
			for _, part := range test.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error does not say %q: %v", part, err)
				}
			}
			if err != nil {
				if g, startErr := Start(cfg); g != nil || !errors.Is(startErr, ErrConfig) {
					t.Errorf("Start = %v, %v, want ErrConfig", g, startErr)
				}
				if lines := strings.Count(err.Error(), "\n") + 1; lines != len(test.want) {
					t.Errorf("%d things are said, want %d: %v", lines, len(test.want), err)
				}
			}
		})
	}
}

func TestPortInUse(t *testing.T) {
	for _, network := range []string{"tcp", "udp"} {
		var addr string
		switch network {
		case "tcp":
			taken, err := net.Listen(network, "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer taken.Close()
			addr = taken.Addr().String()
		case "udp":
			taken, err := net.ListenPacket(network, "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer taken.Close()
			addr = taken.LocalAddr().String()
		}
		cfg, _ := config("a", 1)
		cfg.Bind = addr
		if g, err := Start(cfg); g != nil || !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "Bind is "+addr) {
			t.Errorf("%s: Start = %v, %v, want ErrInUse that names Bind", network, g, err)
		}
	}
}

func TestBindToAnotherMachine(t *testing.T) {
	cfg, _ := config("a", 1)
	cfg.Bind = "192.0.2.1:0" // RFC 5737: nobody's address
	if g, err := Start(cfg); g != nil || err == nil ||
		!strings.Contains(err.Error(), "must be an address of this machine") {
		t.Errorf("Start = %v, %v, want an error that says what Bind must be", g, err)
	}
}

func TestLabelOnTheWire(t *testing.T) {
	for _, test := range []struct{ wire, label, hash string }{
		{"test#", "test", ""}, {"test#11aa", "test", "11aa"}, {"a#b#c", "a#b", "c"}, {"none", "none", ""}, {"", "", ""},
	} {
		if label, hash := splitLabel(test.wire); label != test.label || hash != test.hash {
			t.Errorf("splitLabel(%q) = %q, %q, want %q, %q", test.wire, label, hash, test.label, test.hash)
		}
	}
	c := Config{Label: "a#b", KeyHash: "11aa"}
	if label, hash := splitLabel(c.wireLabel()); label != c.Label || hash != c.KeyHash {
		t.Errorf("%+v comes back as %q, %q", c, label, hash)
	}
}

// TestPeerOnAllInterfaces has a node that listens everywhere: others are told an address that they can dial.
func TestPeerOnAllInterfaces(t *testing.T) {
	for _, peer := range []string{"[::]:7947", "0.0.0.0:7947"} {
		cfg, _ := config("a", 1)
		cfg.Bind, cfg.Advertise, cfg.Self.Peer = "0.0.0.0:0", "127.0.0.1", peer
		if got := run(t, cfg).Members()[0].Peer; got != "127.0.0.1:7947" {
			t.Errorf("%s is told as %s, want 127.0.0.1:7947", peer, got)
		}
	}
	if ip := interfaceIP(); !ip.IsValid() || ip.IsUnspecified() || ip.IsMulticast() {
		t.Errorf("the address of an interface is %v", ip)
	}
}
