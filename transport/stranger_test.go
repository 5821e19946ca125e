package transport

import (
	"errors"
	"io"
	"testing"
)

type handshake func(Stream, Hello, []byte) (Hello, error)

var bothSides = map[string]handshake{"open": Open, "accept": Accept}

// Whoever speaks another protocol is turned away by the first frame.
func TestHandshakeWithAStranger(t *testing.T) {
	whole := appendHello(nil, hello("n3x"), nonce())
	for name, first := range map[string][]byte{
		"nothing":          {},
		"HTTP/2":           []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
		"random":           {0xd1, 0x9f, 0x01, 0x44, 0x52},
		"only a type":      {byte(typeHello)},
		"another protocol": append([]byte{byte(typeHello)}, "DROSSEK and then enough bytes for all of the fields"...),
		"a check":          AppendChecks(nil, hundredChecks()),
		"a cut hello":      whole[:len(whole)-1],
	} {
		for side, shake := range bothSides {
			_, err := shake(&script{frames: [][]byte{first}}, hello("n1x"), []byte("secret"))
			if !errors.Is(err, ErrFrame) {
				t.Errorf("%s, %s: %v, want ErrFrame", name, side, err)
			}
		}
	}
	for side, shake := range bothSides {
		if _, err := shake(&script{}, hello("n1x"), nil); !errors.Is(err, io.EOF) {
			t.Errorf("%s with a stream that ends: %v, want the stream's error", side, err)
		}
	}
}

// A node of a later version says more in its hello than we read, and its proof covers all of it.
func TestHandshakeWithALaterHello(t *testing.T) {
	a, b := pair()
	later := hello("n1x")
	later.MaxVersion = MaxVersion + 1
	accepted := side(Accept, b, hello("n2x"), "secret")
	sent := append(appendHello(nil, later, nonce()), "a field of a later version"...)
	a.Send(sent)
	answer, err := a.Recv()
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := a.Recv()
	if err != nil {
		t.Fatal(err)
	}
	if err := checkProof(theirs, []byte("secret"), "accepted", sent, answer); err != nil {
		t.Errorf("the proof does not cover the hello as it was sent: %v", err)
	}
	a.Send(appendProof([]byte("secret"), "opened", sent, answer))
	if c := <-accepted; c.err != nil || c.other != later {
		t.Error(c.err, show(c.other, later))
	}
}
