package gossip

import (
	"bytes"
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"
	"go.uber.org/goleak"

	"github.com/drossel-dev/drossel/ring"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 30 * time.Second // how long a test waits for what takes milliseconds on a calm machine

// config is a node on a free loopback port, with a log that can be waited for.
func config(id string, boot uint64, seeds ...string) (Config, *record) {
	log := &record{grown: make(chan struct{}, 1)}
	return Config{
		Self: ring.Member{ID: id, Boot: boot, Peer: id + ".test:7947"}, Bind: "127.0.0.1:0", Seeds: seeds,
		Label: "test", Fingerprint: ring.Params{}.String(),
		Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}, log
}

// run starts a node that passes on news quickly and is closed with the test.
func run(t *testing.T, cfg Config) *Gossip {
	t.Helper()
	return runWith(t, cfg, settings{tune: brisk})
}

func runWith(t *testing.T, cfg Config, s settings) *Gossip {
	t.Helper()
	g, err := start(cfg, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

func brisk(conf *memberlist.Config) { conf.GossipInterval = 10 * time.Millisecond }

// nervous also finds a crash within a second.
func nervous(conf *memberlist.Config) {
	brisk(conf)
	conf.ProbeInterval, conf.ProbeTimeout = 100*time.Millisecond, 50*time.Millisecond
	conf.SuspicionMult = 3
}

func join(t *testing.T, g *Gossip, want int) {
	t.Helper()
	if n, err := g.Join(t.Context()); n != want || err != nil {
		t.Fatalf("Join = %d, %v, want %d other nodes", n, err, want)
	}
}

// await waits until the node knows exactly these members, as "id/boot state".
func await(t *testing.T, g *Gossip, want ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for !slices.Equal(view(g), want) {
		select {
		case <-g.Changes():
		case <-ctx.Done():
			t.Fatalf("%s sees %q, want %q", g.Addr(), view(g), want)
		}
	}
}

func view(g *Gossip) []string {
	var seen []string
	for _, m := range g.Members() {
		seen = append(seen, name(m)+" "+m.State.String())
	}
	return seen
}

// record is a log that can be waited for.
type record struct {
	mu    sync.Mutex
	text  bytes.Buffer
	grown chan struct{}
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case r.grown <- struct{}{}:
	default:
	}
	return r.text.Write(p)
}

// await waits for one line that holds all parts.
func (r *record) await(t *testing.T, parts ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for !r.holds(parts) {
		select {
		case <-r.grown:
		case <-ctx.Done():
			t.Fatalf("no line of the log holds %q:\n%s", parts, r)
		}
	}
}

func (r *record) holds(parts []string) bool {
	for line := range strings.Lines(r.String()) {
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
			return true
		}
	}
	return false
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// book is a name server with the names in it.
type book struct {
	mu    sync.Mutex
	names map[string][]netip.Addr
	err   error
}

func (b *book) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ips, ok := b.names[host]; ok {
		return ips, nil
	}
	return nil, b.err
}

func (b *book) set(host string, ips ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.names[host] = nil
	for _, ip := range ips {
		b.names[host] = append(b.names[host], netip.MustParseAddr(ip))
	}
}
