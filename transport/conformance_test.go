package transport_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/drossel-dev/drossel/transport"
	"github.com/drossel-dev/drossel/transport/mem"
	"github.com/drossel-dev/drossel/transport/peer"
)

// place is what every transport offers a node.
type place interface {
	Listen(h transport.Handler) (string, error)
	Dial(ctx context.Context, addr string) (transport.Peer, error)
	Close() error
}

// world makes places that can reach each other.
type world func(own transport.Hello, secret []byte) place

// TestConformance holds every transport to the same: what package transport says of Stream, Peer and Handler.
func TestConformance(t *testing.T) {
	t.Run("mem", func(t *testing.T) {
		conform(t, func() world { return memory(&mem.Network{}) })
	})
	t.Run("mem with delays", func(t *testing.T) {
		conform(t, func() world {
			var mu sync.Mutex
			random := rand.New(rand.NewPCG(1, 2))
			return memory(&mem.Network{
				Delay: func(_, _ string) time.Duration {
					mu.Lock()
					defer mu.Unlock()
					return time.Duration(random.IntN(200)) * time.Microsecond
				},
				After: func(d time.Duration, f func()) { time.AfterFunc(d, f) },
			})
		})
	})
	t.Run("peer", func(t *testing.T) {
		conform(t, func() world {
			return func(own transport.Hello, secret []byte) place {
				return peer.New(peer.Config{Bind: "127.0.0.1:0", Own: own, Secret: secret})
			}
		})
	})
}

func memory(n *mem.Network) world {
	return func(own transport.Hello, secret []byte) place { return n.Node(own.ID, own, secret) }
}

// conform runs every case in a world of its own, and sees to it that nothing of it is left running.
func conform(t *testing.T, newWorld func() world) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, world)
	}{
		{"frames arrive whole and in order", framesArrive},
		{"a received frame stays until the next", receivedFrameStays},
		{"both sides know each other", sidesKnowEachOther},
		{"versions meet", versionsMeet},
		{"the largest word and call cross", largestCross},
		{"bulk does not hold up checks", bulkHoldsNothingUp},
		{"close ends a blocked receive", closeEndsReceive},
		{"close ends a blocked send", closeEndsSend},
		{"close twice", closeTwice},
		{"a handler that returns ends its stream", handlerEndsStream},
		{"refused on both sides", refused},
		{"dial to nobody", dialNobody},
		{"dial with an ended context", dialEnded},
		{"close waits for handlers", closeWaits},
		{"many dials", manyDials},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Cleanup(func() { leaks(t) }) // cleanups run last first: the case's own come before this
			c.run(t, newWorld())
		})
	}
}

// leaks waits for every goroutine to end.
func leaks(t *testing.T) {
	var err error
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); {
		if err = goleak.Find(); err == nil {
			return
		}
	}
	t.Error(err)
}

// limit is how long a test waits for what is bound to happen at once.
const limit = 20 * time.Second

// wait returns what comes out of c, and fails the test if nothing does.
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

// background runs f in a goroutine that the test waits for, and fails the test with the error.
func background(t *testing.T, what string, f func() error) {
	done := make(chan error, 1)
	go func() { done <- f() }()
	t.Cleanup(func() {
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
		case <-time.After(limit):
			t.Errorf("waited %v for %s", limit, what)
		}
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

// echo sends back what it receives until the stream ends.
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

// listen opens a place with a handler, until the test ends.
func (w world) listen(t *testing.T, id string, h serve) (place, string) {
	t.Helper()
	p := w(hello(id), secret)
	addr, err := p.Listen(h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, p) })
	return p, addr
}

// dial connects a place of its own to addr, until the test ends.
func (w world) dial(t *testing.T, id, addr string) transport.Peer {
	t.Helper()
	p := w(hello(id), secret)
	t.Cleanup(func() { shut(t, p) })
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	to, err := p.Dial(ctx, addr)
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// shut closes a place within the limit.
func shut(t *testing.T, p place) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- p.Close() }()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("close: %v", err)
		}
	case <-time.After(limit):
		t.Errorf("waited %v for a place to close", limit)
	}
}

var errWrong = errors.New("not what was sent")
