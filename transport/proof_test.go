package transport

import (
	"errors"
	"strings"
	"testing"
)

// With another secret the dialer sees it first: the other side has to show its proof before it is shown one.
func TestHandshakeRefusesAnotherSecret(t *testing.T) {
	a, b := pair()
	opened, accepted := side(Open, a, hello("n1x"), "secret"), side(Accept, b, hello("n2x"), "another")
	o, c := <-opened, <-accepted
	if !namesBoth(o.err) {
		t.Errorf("at the dialer: %v, want ErrRefused that names both", o.err)
	}
	if c.err == nil {
		t.Error("the side that was dialed has taken in somebody with another secret")
	}
	if len(a.sent) != 1 {
		t.Errorf("the dialer has sent %d frames: its proof is for those who know the secret", len(a.sent))
	}
}

func namesBoth(err error) bool {
	return errors.Is(err, ErrRefused) && strings.Contains(err.Error(), "n1x") && strings.Contains(err.Error(), "n2x")
}

// stranger opens a handshake without the secret and sends whatever proof he makes of what he saw.
func stranger(t *testing.T, proof func(hello, answer, accepted []byte) []byte) error {
	t.Helper()
	a, b := pair()
	accepted := side(Accept, b, hello("n2x"), "secret")
	sent := appendHello(nil, hello("n1x"), nonce())
	a.Send(sent)
	answer, err := a.Recv()
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := a.Recv()
	if err != nil {
		t.Fatal(err)
	}
	a.Send(proof(sent, answer, theirs))
	return (<-accepted).err
}

func TestHandshakeRefusesAWrongProof(t *testing.T) {
	right := func(hello, answer []byte) []byte { return appendProof([]byte("secret"), "opened", hello, answer) }
	if err := stranger(t, func(hello, answer, _ []byte) []byte { return right(hello, answer) }); err != nil {
		t.Fatalf("a right proof: %v", err) // so that the refusals below are for the reason given
	}
	for name, proof := range map[string]func(hello, answer, accepted []byte) []byte{
		"of another secret":  func(h, a, _ []byte) []byte { return appendProof([]byte("another"), "opened", h, a) },
		"of no secret":       func(h, a, _ []byte) []byte { return appendProof(nil, "opened", h, a) },
		"of the other side":  func(_, _, accepted []byte) []byte { return accepted },
		"of other hellos":    func(h, a, _ []byte) []byte { return appendProof([]byte("secret"), "opened", a, h) },
		"cut short":          func(h, a, _ []byte) []byte { return right(h, a)[:32] },
		"with a byte behind": func(h, a, _ []byte) []byte { return append(right(h, a), 0) },
		"empty":              func(_, _, _ []byte) []byte { return []byte{byte(typeProof)} },
	} {
		err := stranger(t, proof)
		if !namesBoth(err) {
			t.Errorf("a proof %s: %v, want ErrRefused that names both", name, err)
		}
	}
	for name, frame := range map[string][]byte{
		"no frame type": {}, "a refusal": {byte(typeRefusal), 0}, "checks": {byte(typeChecks)},
	} {
		if err := stranger(t, func(_, _, _ []byte) []byte { return frame }); !errors.Is(err, ErrFrame) {
			t.Errorf("%s in place of a proof: %v, want ErrFrame", name, err)
		}
	}
}

// What one handshake carried convinces nobody in the next.
func TestHandshakeRefusesAReplay(t *testing.T) {
	a, b := pair()
	opened, accepted := side(Open, a, hello("n1x"), "secret"), side(Accept, b, hello("n2x"), "secret")
	if o, c := <-opened, <-accepted; o.err != nil || c.err != nil {
		t.Fatal(o.err, c.err)
	}
	if _, err := Accept(&script{frames: a.sent}, hello("n2x"), []byte("secret")); !errors.Is(err, ErrRefused) {
		t.Errorf("the dialer's frames again: %v, want ErrRefused", err)
	}
	if _, err := Open(&script{frames: b.sent}, hello("n1x"), []byte("secret")); !errors.Is(err, ErrRefused) {
		t.Errorf("the dialed side's frames again: %v, want ErrRefused", err)
	}
}
