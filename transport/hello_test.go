package transport

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// end is one side of a pair of streams in memory. It keeps what it sent.
type end struct {
	in, out chan []byte
	sent    [][]byte
}

func pair() (a, b *end) {
	// A handshake is three frames, so that no side ever waits for room.
	there, back := make(chan []byte, 8), make(chan []byte, 8)
	return &end{in: back, out: there}, &end{in: there, out: back}
}

func (e *end) Send(frame []byte) error {
	frame = bytes.Clone(frame)
	e.sent = append(e.sent, frame)
	e.out <- frame
	return nil
}

func (e *end) Recv() ([]byte, error) {
	select {
	case frame, ok := <-e.in:
		if !ok {
			return nil, io.EOF
		}
		return frame, nil
	case <-time.After(30 * time.Second):
		return nil, errors.New("nothing to receive for half a minute")
	}
}

// outcome is what one side made of a handshake.
type outcome struct {
	other Hello
	err   error
}

// side runs one side of a handshake, and ends its stream if it fails, as a transport does.
func side(shake handshake, e *end, own Hello, secret string) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		other, err := shake(e, own, []byte(secret))
		if err != nil {
			close(e.out)
		}
		done <- outcome{other, err}
	}()
	return done
}

func hello(id string) Hello {
	return Hello{
		ID: id, Boot: 1234, Label: "test", Fingerprint: "fp-1",
		MinVersion: MinVersion, MaxVersion: MaxVersion, Kind: Checks,
	}
}

func TestHandshake(t *testing.T) {
	for _, kind := range []Kind{Checks, Bulk} {
		a, b := pair()
		dialer, dialed := hello("n1x"), hello("n2x")
		dialer.Kind = kind
		opened, accepted := side(Open, a, dialer, "secret"), side(Accept, b, dialed, "secret")
		o, c := <-opened, <-accepted
		if o.err != nil || c.err != nil {
			t.Fatal(o.err, c.err)
		}
		dialed.Kind = kind // the side that was dialed repeats the kind
		if o.other != dialed {
			t.Error(show(o.other, dialed))
		}
		if c.other != dialer {
			t.Error(show(c.other, dialer))
		}
		if len(a.sent) != 2 || len(b.sent) != 2 {
			t.Errorf("%d and %d frames, want 2 and 2", len(a.sent), len(b.sent))
		}
		for _, frame := range append(a.sent, b.sent...) {
			if bytes.Contains(frame, []byte("secret")) {
				t.Errorf("the secret crosses the wire: %q", frame)
			}
		}
	}
}

// The same frames never cross twice: without a fresh nonce a proof could be replayed.
func TestHandshakeIsFreshEveryTime(t *testing.T) {
	seen := map[string]bool{}
	for range 20 {
		a, b := pair()
		opened, accepted := side(Open, a, hello("n1x"), "secret"), side(Accept, b, hello("n2x"), "secret")
		if o, c := <-opened, <-accepted; o.err != nil || c.err != nil {
			t.Fatal(o.err, c.err)
		}
		for _, frame := range append(a.sent, b.sent...) {
			if seen[string(frame)] {
				t.Fatalf("sent twice: %x", frame)
			}
			seen[string(frame)] = true
		}
	}
}

// Those who belong together: versions that overlap, one process that dials itself.
func TestHandshakeAccepts(t *testing.T) {
	for name, change := range map[string]func(dialer, dialed *Hello){
		"newer versions too": func(_, dialed *Hello) { dialed.MaxVersion = 9 },
		"older versions too": func(dialer, dialed *Hello) {
			dialer.MinVersion, dialer.MaxVersion, dialed.MinVersion, dialed.MaxVersion = 3, 5, 5, 8
		},
		"itself":       func(dialer, dialed *Hello) { *dialed = *dialer },
		"another boot": func(_, dialed *Hello) { dialed.Boot = 77 },
	} {
		a, b := pair()
		dialer, dialed := hello("n1x"), hello("n2x")
		change(&dialer, &dialed)
		opened, accepted := side(Open, a, dialer, "secret"), side(Accept, b, dialed, "secret")
		if o, c := <-opened, <-accepted; o.err != nil || c.err != nil {
			t.Errorf("%s: %v; %v", name, o.err, c.err)
		}
	}
}

// A roll-out has both versions at once: they talk, in the older one.
func TestHandshakeAcrossVersions(t *testing.T) {
	type versions struct{ lowest, highest uint8 }
	for _, c := range []struct {
		dialer, dialed versions
		want           uint8 // 0 for a refusal
	}{
		{versions{3, 3}, versions{3, 4}, 3},
		{versions{3, 4}, versions{3, 3}, 3},
		{versions{3, 4}, versions{3, 4}, 4},
		{versions{3, 4}, versions{4, 5}, 4},
		{versions{4, 5}, versions{3, 4}, 4},
		{versions{3, 4}, versions{1, 2}, 0},
		{versions{1, 2}, versions{3, 4}, 0},
		{versions{3, 3}, versions{4, 5}, 0},
		{versions{4, 5}, versions{3, 3}, 0},
	} {
		a, b := pair()
		dialer, dialed := hello("n1x"), hello("n2x")
		dialer.MinVersion, dialer.MaxVersion = c.dialer.lowest, c.dialer.highest
		dialed.MinVersion, dialed.MaxVersion = c.dialed.lowest, c.dialed.highest
		opened, accepted := side(Open, a, dialer, "secret"), side(Accept, b, dialed, "secret")
		o, k := <-opened, <-accepted
		if c.want == 0 {
			if !errors.Is(o.err, ErrRefused) || !errors.Is(k.err, ErrRefused) {
				t.Errorf("%v meets %v: %v; %v, want ErrRefused at both", c.dialer, c.dialed, o.err, k.err)
			}
			continue
		}
		if o.err != nil || k.err != nil {
			t.Errorf("%v meets %v: %v; %v", c.dialer, c.dialed, o.err, k.err)
		}
		if d, e := Version(dialer, o.other), Version(dialed, k.other); d != c.want || e != c.want {
			t.Errorf("%v meets %v: they speak %d and %d, want %d", c.dialer, c.dialed, d, e, c.want)
		}
	}
}

// Those who do not: both sides are told, and told both values.
func TestHandshakeRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(dialed *Hello)
		values []string
	}{
		{"label", func(h *Hello) { h.Label = "prod" }, []string{`"test"`, `"prod"`}},
		{"fingerprint", func(h *Hello) { h.Fingerprint = "fp-2" }, []string{"fp-1", "fp-2"}},
		{"newer versions", func(h *Hello) { h.MinVersion, h.MaxVersion = 11, 12 }, []string{"8 to 10", "11 to 12"}},
		{"older versions", func(h *Hello) { h.MinVersion, h.MaxVersion = 1, 2 }, []string{"8 to 10", "1 to 2"}},
		{"name", func(h *Hello) { h.ID, h.Boot = "n1x", 4711 }, []string{"1234", "4711"}},
	} {
		for _, swapped := range []bool{false, true} {
			a, b := pair()
			dialer, dialed := hello("n1x"), hello("n2x")
			c.change(&dialed)
			if swapped {
				dialer, dialed = dialed, dialer
			}
			opened, accepted := side(Open, a, dialer, "secret"), side(Accept, b, dialed, "secret")
			for side, err := range map[string]error{"dialer": (<-opened).err, "dialed": (<-accepted).err} {
				if !errors.Is(err, ErrRefused) {
					t.Errorf("%s, at the %s: %v, want ErrRefused", c.name, side, err)
					continue
				}
				for _, want := range append(c.values, dialer.ID, dialed.ID) {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%s, at the %s: %q does not name %s", c.name, side, err, want)
					}
				}
			}
		}
	}
}

func TestHandshakeRefusesUnknownKind(t *testing.T) {
	for _, kind := range []Kind{0, 3, 255} {
		a, b := pair()
		dialer := hello("n1x")
		dialer.Kind = kind
		opened, accepted := side(Open, a, dialer, "secret"), side(Accept, b, hello("n2x"), "secret")
		for side, err := range map[string]error{"dialer": (<-opened).err, "dialed": (<-accepted).err} {
			if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "kind") {
				t.Errorf("kind %d, at the %s: %v, want ErrRefused", kind, side, err)
			}
		}
	}
	// The side that was dialed repeats the kind; if it says another, the dialer refuses it.
	answer := hello("n2x")
	answer.Kind = Bulk
	s := &script{frames: [][]byte{appendHello(nil, answer, nonce())}}
	_, err := Open(s, hello("n1x"), []byte("secret"))
	if !errors.Is(err, ErrRefused) ||
		!strings.Contains(err.Error(), "checks") || !strings.Contains(err.Error(), "bulk") {
		t.Errorf("another kind in the answer: %v, want ErrRefused that names both", err)
	}
}

// The text of a refusal is bounded, however long the names are.
func TestRefusalIsBounded(t *testing.T) {
	a, b := pair()
	dialer, dialed := hello(strings.Repeat("a", 255)), hello(strings.Repeat("b", 255))
	dialer.Fingerprint, dialed.Fingerprint = strings.Repeat("c", 1024), strings.Repeat("d", 1024)
	opened, accepted := side(Open, a, dialer, "secret"), side(Accept, b, dialed, "secret")
	if o, c := <-opened, <-accepted; !errors.Is(o.err, ErrRefused) || !errors.Is(c.err, ErrRefused) {
		t.Errorf("%v; %v", o.err, c.err)
	}
	if n := len(b.sent[0]); n > maxRefusalBytes+8 {
		t.Errorf("a refusal of %d bytes", n)
	}
}
