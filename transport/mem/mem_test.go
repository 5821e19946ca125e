package mem_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drossel-dev/drossel/transport"
	"github.com/drossel-dev/drossel/transport/mem"
)

// The tests run in bubbles of virtual time: synctest.Wait returns when every goroutine is blocked for good, so that
// "nothing arrives" can be seen, and a leaked goroutine fails the test.

func hello(id string) transport.Hello {
	return transport.Hello{ID: id, Boot: 1, Label: "test", Fingerprint: "fp"}
}

func after(d time.Duration, f func()) { time.AfterFunc(d, f) }

// serve is a Handler.
type serve func(kind transport.Kind, s transport.Stream) error

func (f serve) Serve(_ context.Context, _ transport.Hello, kind transport.Kind, s transport.Stream) error {
	return f(kind, s)
}

func echo(_ transport.Kind, s transport.Stream) error {
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

// forward hands every frame of every checks stream to c.
func forward(c chan<- uint64) serve {
	return func(kind transport.Kind, s transport.Stream) error {
		for {
			frame, err := s.Recv()
			if err != nil {
				return err
			}
			if kind == transport.Checks {
				c <- binary.BigEndian.Uint64(frame)
			}
		}
	}
}

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// listen opens a place until the end of the bubble.
func listen(t *testing.T, n *mem.Network, addr string, h serve) *mem.Node {
	t.Helper()
	d := n.Node(addr, hello(addr), nil)
	if _, err := d.Listen(h); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func dial(t *testing.T, from *mem.Node, addr string) transport.Peer {
	t.Helper()
	p, err := from.Dial(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func send(t *testing.T, s transport.Stream, n uint64) {
	t.Helper()
	if err := s.Send(number(n)); err != nil {
		t.Fatal(err)
	}
}

func receive(t *testing.T, s transport.Stream) uint64 {
	t.Helper()
	frame, err := s.Recv()
	if err != nil {
		t.Fatal(err)
	}
	return binary.BigEndian.Uint64(frame)
}

// A frame takes exactly as long as Delay says for its direction.
func TestDelayIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &mem.Network{After: after, Delay: func(from, to string) time.Duration {
			if from == "a" && to == "b" {
				return 10 * time.Millisecond
			}
			return 25 * time.Millisecond
		}}
		a := listen(t, n, "a", echo)
		listen(t, n, "b", echo)
		p := dial(t, a, "b")
		for i := range uint64(5) {
			begun := time.Now()
			send(t, p.Checks(), i)
			if took := time.Since(begun); took != 0 {
				t.Errorf("the sender was held up for %v", took)
			}
			if got := receive(t, p.Checks()); got != i {
				t.Errorf("received %d, want %d", got, i)
			}
			if took := time.Since(begun); took != 35*time.Millisecond {
				t.Errorf("there and back took %v, want 35ms", took)
			}
		}
	})
}

// Frames whose delays would let them overtake arrive in order.
func TestRandomDelaysKeepOrder(t *testing.T) {
	const frames = 500
	for seed := range uint64(10) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			delays := make(chan time.Duration, 1)
			n := &mem.Network{After: after, Delay: func(_, _ string) time.Duration {
				select {
				case d := <-delays:
					return d
				default:
					return time.Millisecond // of what is not sent by the test itself
				}
			}}
			got := make(chan uint64, frames)
			a := listen(t, n, "a", echo)
			listen(t, n, "b", forward(got))
			p := dial(t, a, "b")
			var longest time.Duration
			begun := time.Now()
			for i := range uint64(frames) {
				d := time.Duration(random.IntN(50)) * time.Millisecond
				longest = max(longest, d)
				delays <- d
				send(t, p.Checks(), i)
			}
			for want := range uint64(frames) {
				if n := <-got; n != want {
					t.Fatalf("seed %d: frame %d arrived where %d was due", seed, n, want)
				}
			}
			if took := time.Since(begun); took != longest {
				t.Errorf("seed %d: all had arrived after %v, want %v, the longest delay", seed, took, longest)
			}
		})
	}
}

// Every delay is asked for with the addresses of the direction that the frame takes.
func TestDelayNeedsNoOneElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &mem.Network{After: after, Delay: func(from, to string) time.Duration {
			if from == "c" || to == "c" {
				return time.Hour
			}
			return 0
		}}
		a := listen(t, n, "a", echo)
		listen(t, n, "b", echo)
		c := listen(t, n, "c", echo)
		begun := time.Now()
		p := dial(t, a, "b")
		send(t, p.Checks(), 1)
		receive(t, p.Checks())
		if took := time.Since(begun); took != 0 {
			t.Errorf("between a and b: %v, want no time at all", took)
		}
		dial(t, c, "b")
		// Two handshakes, each of hello, answer and proof; the last proof is not waited for.
		if took := time.Since(begun); took != 4*time.Hour {
			t.Errorf("a dial from c: %v, want 4h", took)
		}
	})
}

// A refusal is on its way when the side that refuses hangs up, and arrives all the same.
func TestRefusalCrossesADelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &mem.Network{After: after, Delay: func(_, _ string) time.Duration { return time.Millisecond }}
		listen(t, n, "b", echo)
		own := hello("a")
		own.Label = "prod"
		stranger := n.Node("a", own, nil)
		defer stranger.Close()
		if _, err := stranger.Dial(t.Context(), "b"); !errors.Is(err, transport.ErrRefused) {
			t.Errorf("%v, want ErrRefused", err)
		}
	})
}

func TestAddressInUse(t *testing.T) {
	n := &mem.Network{}
	first, second := n.Node("a", hello("a"), nil), n.Node("a", hello("a"), nil)
	if _, err := first.Listen(serve(echo)); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Listen(serve(echo)); err == nil {
		t.Error("two places at one address")
	}
	second.Close() // does not free what the first holds
	if _, err := n.Node("a", hello("a"), nil).Listen(serve(echo)); err == nil {
		t.Error("a place that does not listen has freed the address of one that does")
	}
	first.Close()
	third := n.Node("a", hello("a"), nil)
	defer third.Close()
	if _, err := third.Listen(serve(echo)); err != nil {
		t.Errorf("after the first has closed: %v", err)
	}
	stranger := n.Node("b", hello("b"), nil)
	defer stranger.Close()
	if _, err := stranger.Dial(t.Context(), "nowhere"); !errors.Is(err, mem.ErrNoSuchAddress) {
		t.Errorf("dial nowhere: %v, want ErrNoSuchAddress", err)
	}
}
