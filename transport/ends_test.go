package transport_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/drossel-dev/drossel/transport"
)

// closers are the ways in which a connection between two places ends.
var closers = map[string]func(t *testing.T, p transport.Peer, dialed place){
	"by the dialer": func(t *testing.T, p transport.Peer, _ place) {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	},
	"by the place that was dialed": func(t *testing.T, _ transport.Peer, dialed place) { shut(t, dialed) },
}

// Both ends of both streams are blocked in Recv; all of them return, and the handlers' contexts end.
func closeEndsReceive(t *testing.T, w world) {
	for name, end := range closers {
		t.Run(name, func(t *testing.T) {
			serving, returned := make(chan struct{}, 2), make(chan error, 2)
			dialed, addr := w.listen(t, "n1x", func(
				ctx context.Context, _ transport.Hello, _ transport.Kind, s transport.Stream,
			) error {
				serving <- struct{}{}
				_, err := s.Recv()
				<-ctx.Done()
				returned <- err
				return err
			})
			p := w.dial(t, "n2x", addr)
			received := make(chan error, 2)
			for _, s := range []transport.Stream{p.Checks(), p.Bulk()} {
				go func() {
					_, err := s.Recv()
					received <- err
				}()
			}
			for range 2 {
				wait(t, "a handler to begin", serving)
			}
			end(t, p, dialed)
			for range 2 {
				if err := wait(t, "a receive at the dialer", received); err == nil {
					t.Error("the dialer received a frame that nobody sent")
				}
				if err := wait(t, "a handler", returned); err == nil {
					t.Error("a handler received a frame that nobody sent")
				}
			}
			for _, s := range []transport.Stream{p.Checks(), p.Bulk()} {
				if _, err := s.Recv(); err == nil {
					t.Error("a receive after the end has no error")
				}
			}
		})
	}
}

// Both ends send to someone who does not read, until Send fails.
func closeEndsSend(t *testing.T, w world) {
	for name, end := range closers {
		t.Run(name, func(t *testing.T) {
			begun, ended := make(chan struct{}, 2), make(chan struct{}, 2)
			sendOn := func(s transport.Stream) {
				b := make([]byte, 64<<10)
				for n := 0; s.Send(b) == nil; n++ {
					if n == 0 {
						begun <- struct{}{}
					}
					runtime.Gosched()
				}
				ended <- struct{}{}
			}
			dialed, addr := w.listen(t, "n1x", func(
				ctx context.Context, _ transport.Hello, kind transport.Kind, s transport.Stream,
			) error {
				if kind == transport.Bulk {
					sendOn(s)
				}
				<-ctx.Done()
				return nil
			})
			p := w.dial(t, "n2x", addr)
			go sendOn(p.Bulk())
			for range 2 {
				wait(t, "a sender to begin", begun)
			}
			end(t, p, dialed)
			for range 2 {
				wait(t, "a sender to fail", ended)
			}
		})
	}
}

func closeTwice(t *testing.T, w world) {
	dialed, addr := w.listen(t, "n1x", echo)
	dialer := w(hello("n2x"), secret)
	t.Cleanup(func() { shut(t, dialer) })
	first, err := dialer.Dial(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	second, err := dialer.Dial(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := first.Close(); err != nil {
			t.Errorf("close a peer: %v, want nil however often", err)
		}
	}
	if err := first.Checks().Send([]byte("x")); err == nil {
		t.Error("a send after Close has no error")
	}
	if _, err := first.Checks().Recv(); err == nil {
		t.Error("a receive after Close has no error")
	}
	roundTrip(t, second.Checks(), 1) // the other connection is not touched
	shut(t, dialer)
	shut(t, dialer)
	if err := second.Close(); err != nil {
		t.Errorf("close a peer whose place is closed: %v, want nil", err)
	}
	if p, err := dialer.Dial(t.Context(), addr); err == nil {
		p.Close()
		t.Error("a closed place has dialed")
	}
	shut(t, dialed)
	shut(t, dialed)
}

// What a handler sent before it returned arrives, then comes the orderly end.
func handlerEndsStream(t *testing.T, w world) {
	_, addr := w.listen(t, "n1x", func(
		ctx context.Context, from transport.Hello, kind transport.Kind, s transport.Stream,
	) error {
		if kind == transport.Bulk {
			return echo(ctx, from, kind, s)
		}
		for n := range 10 {
			b := make([]byte, 500)
			numbered(b, n)
			if err := s.Send(b); err != nil {
				return err
			}
		}
		return nil
	})
	p := w.dial(t, "n2x", addr)
	want := make([]byte, 500)
	for n := range 10 {
		numbered(want, n)
		if got := receive(t, p.Checks()); string(got) != string(want) {
			t.Fatalf("frame %d: %v", n, errWrong)
		}
	}
	ended := make(chan error, 1)
	go func() {
		_, err := p.Checks().Recv()
		ended <- err
	}()
	if err := wait(t, "the end of the stream", ended); !errors.Is(err, io.EOF) {
		t.Errorf("%v, want io.EOF", err)
	}
	roundTrip(t, p.Bulk(), 1) // the other stream goes on
}

// Close of the place that serves returns after its handlers have.
func closeWaits(t *testing.T, w world) {
	var finished atomic.Int32
	serving := make(chan struct{}, 2)
	dialed, addr := w.listen(t, "n1x", func(
		_ context.Context, _ transport.Hello, _ transport.Kind, s transport.Stream,
	) error {
		serving <- struct{}{}
		_, err := s.Recv()
		for range 10_000 { // long enough for a Close that does not wait to return first
			runtime.Gosched()
		}
		finished.Add(1)
		return err
	})
	w.dial(t, "n2x", addr)
	for range 2 {
		wait(t, "a handler to begin", serving)
	}
	shut(t, dialed)
	if n := finished.Load(); n != 2 {
		t.Errorf("Close returned when %d of 2 handlers had", n)
	}
}
