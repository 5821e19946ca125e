package transport_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/drossel-dev/drossel/transport"
)

// Nodes whose frame versions overlap talk in the highest of both, whichever of them dials; others are refused, and told
// the versions of both.
func versionsMeet(t *testing.T, w world) {
	type versions struct{ lowest, highest uint8 }
	none := versions{} // of this build
	for name, c := range map[string]struct {
		dialer, dialed versions
		want           uint8    // 0 for a refusal
		names          []string // by the refusal
	}{
		"this build":            {none, none, transport.MaxVersion, nil},
		"an older dialer":       {versions{0, 8}, none, 8, nil},
		"an older node dialed":  {none, versions{8, 8}, 8, nil},
		"a dialer of version 2": {versions{1, 2}, none, 0, []string{"1 to 2", "8 to 10"}},
		"version 2 dialed":      {none, versions{1, 2}, 0, []string{"1 to 2", "8 to 10"}},
		"a far newer one":       {versions{11, 11}, none, 0, []string{"11 to 11", "8 to 10"}},
	} {
		own, other := hello("n1x"), hello("n2x")
		own.MinVersion, own.MaxVersion = c.dialed.lowest, c.dialed.highest
		other.MinVersion, other.MaxVersion = c.dialer.lowest, c.dialer.highest
		dialed, dialer := w(own, secret), w(other, secret)
		addr, err := dialed.Listen(serve(echo))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		p, err := dialer.Dial(ctx, addr)
		cancel()
		switch {
		case c.want == 0 && err == nil:
			t.Errorf("%s: they talk in version %d, want ErrRefused", name, p.Version())
		case c.want == 0:
			for _, want := range c.names {
				if !errors.Is(err, transport.ErrRefused) || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v, want ErrRefused that names %s", name, err, want)
				}
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		default:
			if p.Version() != c.want {
				t.Errorf("%s: they talk in version %d, want %d", name, p.Version(), c.want)
			}
			roundTrip(t, p.Checks(), 1)
		}
		shut(t, dialer)
		shut(t, dialed)
	}
}

// The largest words cross between checks, there and back, and the largest call on the other stream.
func largestCross(t *testing.T, w world) {
	_, addr := w.listen(t, "n1x", echo)
	p := w.dial(t, "n2x", addr)
	payload, body := make([]byte, transport.MaxWordBytes), make([]byte, transport.MaxCallBody)
	numbered(payload, 1)
	numbered(body, 2)
	background(t, "sending", func() error {
		return errors.Join(
			p.Checks().Send(transport.AppendChecks(nil, &transport.ChecksFrame{Epoch: 7})),
			p.Checks().Send(transport.AppendWord(nil, payload)),
			p.Bulk().Send(transport.AppendCall(nil, transport.Call{Number: 1, Method: transport.PutGroups, Body: body})))
	})
	if frame := receive(t, p.Checks()); transport.IsWord(frame) {
		t.Error("a word came in place of checks")
	} else if err := transport.DecodeChecks(frame, new(transport.ChecksFrame)); err != nil {
		t.Error(err)
	}
	if got, err := transport.DecodeWord(receive(t, p.Checks())); err != nil || !bytes.Equal(got, payload) {
		t.Errorf("a word of %d bytes, %v: %v", len(got), err, errWrong)
	}
	c, err := transport.DecodeCall(receive(t, p.Bulk()))
	if err != nil || c.Method != transport.PutGroups || !bytes.Equal(c.Body, body) {
		t.Errorf("a call with %d bytes, %v: %v", len(c.Body), err, errWrong)
	}
}
