package transport_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
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
			dialed, addr := w.listen(t, "n1x", func(ctx context.Context, _ transport.Hello, _ transport.Kind, s transport.Stream) error {
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
			dialed, addr := w.listen(t, "n1x", func(ctx context.Context, _ transport.Hello, kind transport.Kind, s transport.Stream) error {
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
	_, addr := w.listen(t, "n1x", func(ctx context.Context, from transport.Hello, kind transport.Kind, s transport.Stream) error {
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

// Nodes that do not belong together: the dialer is told why, and no handler sees the other.
func refused(t *testing.T, w world) {
	var served atomic.Int32
	_, addr := w.listen(t, "n1x", func(context.Context, transport.Hello, transport.Kind, transport.Stream) error {
		served.Add(1)
		return nil
	})
	for name, c := range map[string]struct {
		change func(h *transport.Hello)
		secret string
		names  []string
	}{
		"label":       {func(h *transport.Hello) { h.Label = "prod" }, "secret", []string{`"test"`, `"prod"`}},
		"fingerprint": {func(h *transport.Hello) { h.Fingerprint = "other" }, "secret", []string{"fp", "other"}},
		"name":        {func(h *transport.Hello) { h.ID, h.Boot = "n1x", 4711 }, "secret", []string{"4711"}},
		"secret":      {func(*transport.Hello) {}, "another", []string{"secret"}},
	} {
		own := hello("n2x")
		c.change(&own)
		// In memory a place is known by its name, and nobody but n1x listens here.
		dialer := w(own, []byte(c.secret))
		p, err := dialer.Dial(t.Context(), addr)
		if err == nil {
			p.Close()
		}
		if !errors.Is(err, transport.ErrRefused) {
			t.Errorf("another %s: %v, want ErrRefused", name, err)
		} else {
			for _, want := range append(c.names, own.ID, "n1x") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("another %s: %q does not name %s", name, err, want)
				}
			}
		}
		shut(t, dialer)
	}
	if n := served.Load(); n != 0 {
		t.Errorf("%d streams of refused nodes were served", n)
	}
	w.dial(t, "n3x", addr) // those who belong here still come in
}

func dialNobody(t *testing.T, w world) {
	gone, addr := w.listen(t, "n1x", echo)
	shut(t, gone)
	dialer := w(hello("n2x"), secret)
	t.Cleanup(func() { shut(t, dialer) })
	done := make(chan error, 1)
	go func() {
		p, err := dialer.Dial(t.Context(), addr)
		if err == nil {
			p.Close()
		}
		done <- err
	}()
	if err := wait(t, "a dial to nobody", done); err == nil || !strings.Contains(err.Error(), addr) {
		t.Errorf("%v, want an error that names %s", err, addr)
	}
}

func dialEnded(t *testing.T, w world) {
	_, addr := w.listen(t, "n1x", echo)
	dialer := w(hello("n2x"), secret)
	t.Cleanup(func() { shut(t, dialer) })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	const dials = 50
	done := make(chan error, dials)
	go func() {
		for range dials {
			p, err := dialer.Dial(ctx, addr)
			if err == nil {
				p.Close()
			}
			done <- err
		}
	}()
	for range dials {
		if err := wait(t, "a dial whose context has ended", done); err == nil {
			t.Fatal("a dial whose context has ended succeeded")
		}
	}
	p, err := dialer.Dial(t.Context(), addr) // nothing is left behind that would hinder the next
	if err != nil {
		t.Fatal(err)
	}
	roundTrip(t, p.Checks(), 1)
}

// Close of the place that serves returns after its handlers have.
func closeWaits(t *testing.T, w world) {
	var finished atomic.Int32
	serving := make(chan struct{}, 2)
	dialed, addr := w.listen(t, "n1x", func(_ context.Context, _ transport.Hello, _ transport.Kind, s transport.Stream) error {
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
