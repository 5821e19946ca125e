package transport_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/drossel-dev/drossel/transport"
)

// Many nodes dial one and each other at once, and talk at once.
func manyDials(t *testing.T, w world) {
	const nodes, rounds = 12, 10
	places, addrs := make([]place, nodes), make([]string, nodes)
	for i := range nodes {
		places[i], addrs[i] = w.listen(t, fmt.Sprintf("n%dx", i), echo)
	}
	done := make(chan error, nodes*nodes)
	for i, p := range places {
		for j, addr := range addrs {
			go func() {
				done <- talk(t.Context(), p, addr, i*nodes+j, rounds)
			}()
		}
	}
	for range nodes * nodes {
		if err := wait(t, "a talk", done); err != nil {
			t.Error(err)
		}
	}
}

// talk dials, says a few things on both streams, and hangs up in every second case; else the place's Close does.
func talk(ctx context.Context, p place, addr string, number, rounds int) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	to, err := p.Dial(ctx, addr)
	if err != nil {
		return err
	}
	want := make([]byte, 50)
	for n := range rounds {
		numbered(want, number+n)
		for _, s := range []transport.Stream{to.Checks(), to.Bulk()} {
			if err := s.Send(want); err != nil {
				return err
			}
			if got, err := s.Recv(); err != nil || !bytes.Equal(got, want) {
				return cmpError(err)
			}
		}
		runtime.Gosched()
	}
	if number%2 == 0 {
		return to.Close()
	}
	return nil
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
