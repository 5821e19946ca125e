package transport_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/drossel-dev/drossel/transport"
)

// numbered fills b with bytes that tell one frame from another, also by where in the frame they are.
func numbered(b []byte, number int) {
	for i := range b {
		b[i] = byte(i + number)
	}
	if len(b) >= 8 {
		binary.BigEndian.PutUint64(b, uint64(number))
	}
}

// size is the length of the n-th frame: mostly small, now and then empty or as large as a frame may be.
func size(n int) int {
	switch n % 40 {
	case 7, 8:
		return 0
	case 20:
		return transport.MaxFrameBytes
	}
	return n * 7919 % 2000
}

// Frames of all sizes go there and come back while both ends send and receive at once, on both streams. The sender
// overwrites its buffer as soon as Send has returned.
func framesArrive(t *testing.T, w world) {
	const frames = 200
	_, addr := w.listen(t, "n1x", echo)
	p := w.dial(t, "n2x", addr)
	for kind, s := range map[transport.Kind]transport.Stream{transport.Checks: p.Checks(), transport.Bulk: p.Bulk()} {
		background(t, fmt.Sprintf("sending %v", kind), func() error {
			b := make([]byte, transport.MaxFrameBytes)
			for n := range frames {
				numbered(b[:size(n)], n)
				if err := s.Send(b[:size(n)]); err != nil {
					return err
				}
				clear(b[:size(n)])
			}
			return nil
		})
		received := make(chan error, 1)
		go func() {
			want := make([]byte, transport.MaxFrameBytes)
			for n := range frames {
				got, err := s.Recv()
				if err != nil {
					received <- fmt.Errorf("frame %d: %w", n, err)
					return
				}
				numbered(want[:size(n)], n)
				if !bytes.Equal(got, want[:size(n)]) {
					received <- fmt.Errorf("frame %d of %d bytes, want %d: %w", n, len(got), size(n), errWrong)
					return
				}
			}
			received <- nil
		}()
		if err := wait(t, "frames", received); err != nil {
			t.Errorf("%v: %v", kind, err)
		}
	}
}

// What Recv returned is not touched before the next Recv, though more has arrived.
func receivedFrameStays(t *testing.T, w world) {
	_, addr := w.listen(t, "n1x", func(
		ctx context.Context, from transport.Hello, kind transport.Kind, s transport.Stream,
	) error {
		if kind == transport.Checks {
			return echo(ctx, from, kind, s)
		}
		for n := range 20 {
			b := make([]byte, 1000)
			numbered(b, n)
			if err := s.Send(b); err != nil {
				return err
			}
		}
		_, err := s.Recv()
		return err
	})
	p := w.dial(t, "n2x", addr)
	want := make([]byte, 1000)
	for n := range 20 {
		got := receive(t, p.Bulk())
		numbered(want, n)
		// A round trip on the other stream gives what follows the time to arrive.
		roundTrip(t, p.Checks(), n)
		if !bytes.Equal(got, want) {
			t.Fatalf("frame %d changed before the next was received", n)
		}
	}
}

// receive returns the next frame within the limit.
func receive(t *testing.T, s transport.Stream) []byte {
	t.Helper()
	type result struct {
		frame []byte
		err   error
	}
	done := make(chan result, 1)
	go func() {
		frame, err := s.Recv()
		done <- result{frame, err}
	}()
	r := wait(t, "a frame", done)
	if r.err != nil {
		t.Fatal(r.err)
	}
	return r.frame
}

func roundTrip(t *testing.T, s transport.Stream, n int) {
	t.Helper()
	want := make([]byte, 100)
	numbered(want, n)
	if err := s.Send(want); err != nil {
		t.Fatal(err)
	}
	if got := receive(t, s); !bytes.Equal(got, want) {
		t.Fatalf("round trip %d: got %x", n, got)
	}
}

func sidesKnowEachOther(t *testing.T, w world) {
	type caller struct {
		from transport.Hello
		kind transport.Kind
	}
	callers := make(chan caller, 2)
	_, addr := w.listen(t, "n1x", func(
		_ context.Context, from transport.Hello, kind transport.Kind, s transport.Stream,
	) error {
		callers <- caller{from, kind}
		_, err := s.Recv()
		return err
	})
	p := w.dial(t, "n2x", addr)
	want := hello("n1x")
	want.MinVersion, want.MaxVersion = transport.MinVersion, transport.MaxVersion
	if got := p.Hello(); got.ID != want.ID || got.Boot != want.Boot || got.Label != want.Label ||
		got.Fingerprint != want.Fingerprint || got.MinVersion != want.MinVersion || got.MaxVersion != want.MaxVersion {
		t.Errorf("the dialer knows %+v, want %+v", got, want)
	}
	seen := map[transport.Kind]bool{}
	for range 2 {
		c := wait(t, "a handler", callers)
		want := hello("n2x")
		want.MinVersion, want.MaxVersion, want.Kind = transport.MinVersion, transport.MaxVersion, c.kind
		if c.from != want {
			t.Errorf("the handler knows %+v, want %+v", c.from, want)
		}
		seen[c.kind] = true
	}
	if !seen[transport.Checks] || !seen[transport.Bulk] {
		t.Errorf("served %v, want one stream of each kind", seen)
	}
}

// Nobody reads the bulk stream at either end, and it is full both ways; checks go on. Then everything arrives.
func bulkHoldsNothingUp(t *testing.T, w world) {
	const frames = 16 // 8 MB: more than any window
	flood := func(s transport.Stream) error {
		b := make([]byte, transport.MaxFrameBytes)
		for n := range frames {
			numbered(b, n)
			if err := s.Send(b); err != nil {
				return err
			}
		}
		return nil
	}
	drain := func(s transport.Stream) error {
		want := make([]byte, transport.MaxFrameBytes)
		for n := range frames {
			numbered(want, n)
			if got, err := s.Recv(); err != nil || !bytes.Equal(got, want) {
				return fmt.Errorf("bulk frame %d: %w", n, cmpError(err))
			}
		}
		return nil
	}
	read, begun, served := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	_, addr := w.listen(t, "n1x", func(
		ctx context.Context, from transport.Hello, kind transport.Kind, s transport.Stream,
	) error {
		if kind == transport.Checks {
			return echo(ctx, from, kind, s)
		}
		sent := make(chan error, 1)
		go func() {
			close(begun)
			sent <- flood(s)
		}()
		select {
		case <-read:
		case <-ctx.Done():
		}
		err := drain(s)
		if sendErr := <-sent; err == nil {
			err = sendErr
		}
		served <- err
		return err
	})
	p := w.dial(t, "n2x", addr)
	background(t, "the dialer's flood", func() error { return flood(p.Bulk()) })
	wait(t, "the flood", begun)
	for n := range 200 {
		roundTrip(t, p.Checks(), n)
	}
	close(read)
	drained := make(chan error, 1)
	go func() { drained <- drain(p.Bulk()) }()
	if err := wait(t, "the bulk frames at the dialer", drained); err != nil {
		t.Error(err)
	}
	if err := wait(t, "the bulk frames at the handler", served); err != nil {
		t.Error(err)
	}
}

func cmpError(err error) error {
	if err != nil {
		return err
	}
	return errWrong
}
