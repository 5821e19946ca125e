package gossip

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/drossel-dev/drossel/ring"
)

func TestSeedThatComesUpLater(t *testing.T) {
	cfg, _ := config("a", 1)
	first := run(t, cfg)
	addr := first.Addr()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	cfg, _ = config("b", 1, addr)
	b := run(t, cfg)
	n, err := b.Join(t.Context())
	if n != 0 || err == nil || !strings.Contains(err.Error(), "see that a node runs there") {
		t.Errorf("Join = %d, %v, want an error that says what to do", n, err)
	}
	cfg, _ = config("a", 2)
	cfg.Bind = addr
	a := run(t, cfg)
	join(t, b, 1)
	await(t, a, "a/2 joining", "b/1 joining")
}

func TestNamesAreLookedUpAtEveryJoin(t *testing.T) {
	names := &book{names: make(map[string][]netip.Addr), err: errors.New("no such host")}
	cfg, _ := config("a", 1)
	a := run(t, cfg)
	_, port, err := net.SplitHostPort(a.Addr())
	if err != nil {
		t.Fatal(err)
	}
	cfg, _ = config("b", 1, "dns:///limits.internal:"+port)
	cfg.Bind = "127.0.0.2:" + port // another address of this machine, so that one name can mean both
	b := runWith(t, cfg, settings{names: names, tune: brisk})

	n, err := b.Join(t.Context())
	if n != 0 || !errors.Is(err, names.err) || !strings.Contains(err.Error(), "limits.internal") {
		t.Errorf("an unknown name: Join = %d, %v", n, err)
	}
	names.set("limits.internal", "127.0.0.2")
	join(t, b, 0) // itself alone is nobody, and no error
	names.set("limits.internal", "127.0.0.2", "::ffff:127.0.0.1", "127.0.0.1")
	join(t, b, 1)
	await(t, a, "a/1 joining", "b/1 joining")
}

func TestSomeSeedsFail(t *testing.T) {
	cfg, _ := config("a", 1)
	a := run(t, cfg)
	names := &book{err: errors.New("no such host")}
	cfg, _ = config("b", 1, "gone.test:1", a.Addr())
	b := runWith(t, cfg, settings{names: names, tune: brisk})
	if n, err := b.Join(t.Context()); n != 1 || !errors.Is(err, names.err) {
		t.Errorf("Join = %d, %v, want one node, and the error of the other seed", n, err)
	}
}

// A seed may be a load balancer that leads back to the node that asks.
func TestAnswerOfItselfIsNobody(t *testing.T) {
	door, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg, _ := config("a", 1, door.Addr().String())
	a := run(t, cfg)
	done := make(chan struct{})
	go func() { // ends with the listener
		defer close(done)
		for {
			in, err := door.Accept()
			if err != nil {
				return
			}
			relay(t, in, a.Addr())
		}
	}()
	join(t, a, 0)
	if err := door.Close(); err != nil {
		t.Error(err)
	}
	<-done
}

// relay carries one exchange in both directions.
func relay(t *testing.T, in net.Conn, to string) {
	defer in.Close()
	out, err := net.Dial("tcp", to)
	if err != nil {
		t.Error(err)
		return
	}
	defer out.Close()
	back := make(chan struct{})
	go func() {
		defer close(back)
		_, _ = io.Copy(in, out) // ends when the node has answered and hung up
		in.Close()
	}()
	_, _ = io.Copy(out, in)
	<-back
}

func TestOthersAreRefused(t *testing.T) {
	const ours = "partitions=1021 replication=100 load=1.25 hash=xxhash64 layout=consistent-v1.0.0"
	theirs := ring.Params{Partitions: 271}.String()
	key := func(b byte) []byte { return bytes.Repeat([]byte{b}, keyBytes) }
	for _, test := range []struct {
		name       string
		change     func(seed, joiner *Config)
		want       error
		said       []string // by the joiner's error
		seedLogged []string
	}{
		{"label", func(_, joiner *Config) { joiner.Label = "other#" }, ErrRefused,
			[]string{`label "other#"`, `secret ""`},
			[]string{"level=WARN", "refused a node of another cluster", "its_label=other#", "our_label=test"}},
		{"secret", func(seed, joiner *Config) {
			seed.Key, seed.KeyHash, joiner.Key, joiner.KeyHash = key(1), "11aa", key(2), "22bb"
		}, ErrRefused, []string{`label "test"`, `secret "22bb"`},
			[]string{"level=WARN", "its_label=test", "its_secret=22bb", "our_label=test", "our_secret=11aa"}},
		{"secret or none", func(seed, _ *Config) { seed.Key, seed.KeyHash = key(1), "11aa" }, ErrRefused,
			[]string{`label "test"`, `secret ""`}, []string{"level=WARN", "its_secret=\"\"", "our_secret=11aa"}},
		{"key alone", func(seed, joiner *Config) { seed.Key, joiner.Key = key(1), key(2) }, ErrRefused,
			[]string{`label "test"`}, []string{"level=WARN", "could decrypt"}},
		{"key or none", func(seed, _ *Config) { seed.Key = key(1) }, ErrRefused,
			[]string{`label "test"`}, []string{"level=WARN", "not encrypted"}},
		{"none or key", func(_, joiner *Config) { joiner.Key = key(1) }, ErrRefused,
			[]string{`label "test"`}, []string{"level=WARN", "encryption is not configured"}},
		{"parameters", func(_, joiner *Config) { joiner.Fingerprint = theirs }, ErrParameters,
			[]string{`node "a"`, ours, theirs}, []string{"level=WARN", ours, theirs}},
	} {
		t.Run(test.name, func(t *testing.T) {
			seed, log := config("a", 1)
			joiner, _ := config("b", 1)
			test.change(&seed, &joiner)
			a := run(t, seed)
			joiner.Seeds = []string{a.Addr()}
			b := run(t, joiner)
			n, err := b.Join(t.Context())
			if n != 0 || !errors.Is(err, test.want) {
				t.Fatalf("Join = %d, %v, want %v", n, err, test.want)
			}
			for _, part := range test.said {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error does not say %q: %v", part, err)
				}
			}
			log.await(t, test.seedLogged...)
			await(t, a, "a/1 joining")
			await(t, b, "b/1 joining")
		})
	}
}

func TestKeyLetsIn(t *testing.T) {
	cfg, _ := config("a", 1)
	cfg.Key, cfg.KeyHash = bytes.Repeat([]byte{7}, keyBytes), "77"
	a := run(t, cfg)
	peer, _ := config("b", 1, a.Addr())
	peer.Key, peer.KeyHash = cfg.Key, cfg.KeyHash
	b := run(t, peer)
	join(t, b, 1)
	await(t, a, "a/1 joining", "b/1 joining")
	await(t, b, "a/1 joining", "b/1 joining")
}
