package peer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/drossel-dev/drossel/transport"
	"github.com/drossel-dev/drossel/transport/peer"
)

// What every transport does is tested in package transport; here is what only sockets and gRPC can do.

// limit is how long a test waits for what is bound to happen at once.
const limit = 20 * time.Second

func wait[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(limit):
		t.Fatalf("waited %v for %s", limit, what)
		panic("unreachable")
	}
}

// leaks has a test fail if, in the end, it has left a goroutine behind.
func leaks(t *testing.T) {
	t.Cleanup(func() {
		var err error
		for deadline := time.Now().Add(limit); time.Now().Before(deadline); {
			if err = goleak.Find(); err == nil {
				return
			}
		}
		t.Error(err)
	})
}

func hello(id string) transport.Hello {
	return transport.Hello{ID: id, Boot: 1, Label: "test", Fingerprint: "fp"}
}

var secret = []byte("secret")

// serve is a Handler.
type serve func(ctx context.Context, from transport.Hello, kind transport.Kind, s transport.Stream) error

func (f serve) Serve(ctx context.Context, from transport.Hello, kind transport.Kind, s transport.Stream) error {
	return f(ctx, from, kind, s)
}

func echo(_ context.Context, _ transport.Hello, _ transport.Kind, s transport.Stream) error {
	for {
		frame, err := s.Recv()
		if err != nil {
			return err
		}
		if err := s.Send(frame); err != nil {
			return err
		}
	}
}

// shut closes a network within the limit.
func shut(t *testing.T, n *peer.Network) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- n.Close() }()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("close: %v", err)
		}
	case <-time.After(limit):
		t.Errorf("waited %v for the network to close", limit)
	}
}

func listen(t *testing.T, cfg peer.Config, h serve) (*peer.Network, string) {
	t.Helper()
	cfg.Bind = "127.0.0.1:0"
	n := peer.New(cfg)
	addr, err := n.Listen(h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, n) })
	return n, addr
}

func dial(t *testing.T, addr string) transport.Peer {
	t.Helper()
	n := peer.New(peer.Config{Own: hello("n2x"), Secret: secret})
	t.Cleanup(func() { shut(t, n) })
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	p, err := n.Dial(ctx, addr)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// works fails the test unless an echo answers on both streams.
func works(t *testing.T, p transport.Peer) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		for _, s := range []transport.Stream{p.Checks(), p.Bulk()} {
			if err := s.Send([]byte("still there?")); err != nil {
				done <- err
				return
			}
			if got, err := s.Recv(); err != nil || string(got) != "still there?" {
				done <- errors.Join(err, errors.New("no echo"))
				return
			}
		}
		done <- nil
	}()
	if err := wait(t, "an echo", done); err != nil {
		t.Error(err)
	}
}

// The error of a port in use says which flag to change.
func TestPortInUse(t *testing.T) {
	leaks(t)
	_, addr := listen(t, peer.Config{Own: hello("n1x"), Secret: secret}, echo)
	second := peer.New(peer.Config{Bind: addr, Own: hello("n2x"), Secret: secret})
	defer shut(t, second)
	_, err := second.Listen(serve(echo))
	if !errors.Is(err, syscall.EADDRINUSE) ||
		!strings.Contains(err.Error(), "--peer") || !strings.Contains(err.Error(), addr) {
		t.Errorf("%v, want one that wraps EADDRINUSE and names --peer and %s", err, addr)
	}
}

// A closed network frees its port.
func TestCloseFreesThePort(t *testing.T) {
	leaks(t)
	first, addr := listen(t, peer.Config{Own: hello("n1x"), Secret: secret}, echo)
	shut(t, first)
	second := peer.New(peer.Config{Bind: addr, Own: hello("n1x"), Secret: secret})
	defer shut(t, second)
	if _, err := second.Listen(serve(echo)); err != nil {
		t.Error(err)
	}
}

// A network that never listened closes as well.
func TestCloseWithoutListen(t *testing.T) {
	leaks(t)
	n := peer.New(peer.Config{Own: hello("n1x"), Secret: secret})
	shut(t, n)
	shut(t, n)
}

// records is a log that is written from any goroutine.
type records struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (r *records) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.Write(p)
}

// A refused dial is logged once, as a warning that names both nodes and both values; those who are taken in are not.
func TestRefusalIsLoggedOnce(t *testing.T) {
	leaks(t)
	var log records
	logger := slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	n, addr := listen(t, peer.Config{Own: hello("n1x"), Secret: secret, Logger: logger}, echo)
	works(t, dial(t, addr))

	own := hello("n3x")
	own.Label = "prod"
	stranger := peer.New(peer.Config{Own: own, Secret: secret})
	defer shut(t, stranger)
	const dials = 100 // each hangs up as soon as it reads the refusal, often before the handler that sent it goes on
	for range dials {
		if _, err := stranger.Dial(t.Context(), addr); !errors.Is(err, transport.ErrRefused) {
			t.Fatalf("%v, want ErrRefused", err)
		}
	}
	shut(t, n) // waits for the handlers that log

	lines := bytes.Split(bytes.TrimSpace(log.b.Bytes()), []byte("\n"))
	if len(lines) != dials {
		t.Fatalf("%d records, want %d:\n%s", len(lines), dials, log.b.Bytes())
	}
	var record struct{ Level, Error string }
	if err := json.Unmarshal(lines[0], &record); err != nil {
		t.Fatalf("%v: %s", err, lines[0])
	}
	if record.Level != "WARN" {
		t.Errorf("level %s, want WARN", record.Level)
	}
	for _, want := range []string{"n1x", "n3x", `"test"`, `"prod"`} {
		if !strings.Contains(record.Error, want) {
			t.Errorf("%q does not name %s", record.Error, want)
		}
	}
}

// A dial to something that takes connections and says nothing ends with its context.
func TestDialToSilence(t *testing.T) {
	leaks(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := make(chan net.Conn, 1)
	go func() {
		if c, err := l.Accept(); err == nil {
			taken <- c
		}
	}()
	n := peer.New(peer.Config{Own: hello("n2x"), Secret: secret})
	defer shut(t, n)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	failed := make(chan error, 1)
	go func() {
		_, err := n.Dial(ctx, l.Addr().String())
		failed <- err
	}()
	c := wait(t, "the connection", taken)
	defer c.Close()
	cancel()
	if err := wait(t, "the dial to fail", failed); err == nil {
		t.Error("a dial whose context has ended succeeded")
	}
}

// Closing a network ends a dial that is under way.
func TestCloseEndsDial(t *testing.T) {
	leaks(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := make(chan net.Conn, 1)
	go func() {
		if c, err := l.Accept(); err == nil {
			taken <- c
		}
	}()
	n := peer.New(peer.Config{Own: hello("n2x"), Secret: secret})
	failed := make(chan error, 1)
	go func() {
		_, err := n.Dial(t.Context(), l.Addr().String())
		failed <- err
	}()
	c := wait(t, "the connection", taken)
	defer c.Close()
	shut(t, n)
	if err := wait(t, "the dial to fail", failed); err == nil {
		t.Error("a dial of a closed network succeeded")
	}
}
