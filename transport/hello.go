package transport

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrRefused is wrapped when a handshake fails because the two sides do not belong together. The text names the value
// of both sides.
var ErrRefused = errors.New("peer refused")

// Hello is what a node says of itself when a stream opens. The zero Hello is never sent.
type Hello struct {
	// ID is the stable id, Boot the incarnation.
	ID   string
	Boot uint64
	// Label names the cluster.
	Label string
	// Fingerprint tells whether two nodes lay out the ring alike: parameters and a hash of the secret, as text.
	Fingerprint string
	// MinVersion and MaxVersion are the frame versions spoken.
	MinVersion, MaxVersion uint8
	// Kind says what the stream will carry. Both sides say the same.
	Kind Kind
}

const (
	nonceBytes = 16
	proofBytes = sha256.Size
	magic      = "DROSSEL"
)

// accepts says whether the other side belongs to us.
func (h Hello) accepts(other Hello) error {
	refuse := func(what string, ours, theirs any) error {
		return fmt.Errorf("%w: %s: %s has %v, %s has %v", ErrRefused, what, h.ID, ours, other.ID, theirs)
	}
	switch {
	case other.MaxVersion < h.MinVersion || other.MinVersion > h.MaxVersion:
		return refuse("frame versions do not overlap",
			fmt.Sprintf("%d to %d", h.MinVersion, h.MaxVersion), fmt.Sprintf("%d to %d", other.MinVersion, other.MaxVersion))
	case other.Label != h.Label:
		return refuse("another cluster label", fmt.Sprintf("%q", h.Label), fmt.Sprintf("%q", other.Label))
	case other.Fingerprint != h.Fingerprint:
		return refuse("another ring fingerprint", h.Fingerprint, other.Fingerprint)
	case other.Kind != h.Kind:
		return refuse("another kind of stream", h.Kind, other.Kind)
	case other.ID == h.ID && other.Boot != h.Boot:
		return refuse("two processes use one name", h.Boot, other.Boot)
	}
	return nil
}

func appendHello(b []byte, h Hello, nonce []byte) []byte {
	b = append(b, byte(typeHello))
	b = append(b, magic...)
	b = append(b, h.MinVersion, h.MaxVersion, byte(h.Kind))
	b = append(b, nonce...)
	b = binary.BigEndian.AppendUint64(b, h.Boot)
	b = appendBytes(b, h.ID)
	b = appendBytes(b, h.Label)
	return appendBytes(b, h.Fingerprint)
}

// decodeHello reads a hello. Fields that a later version adds behind the known ones are skipped, so that it can be
// refused, or spoken to, by its version.
func decodeHello(frame []byte) (h Hello, err error) {
	r := open(frame, typeHello)
	if r.err == nil && !bytes.HasPrefix(r.b, []byte(magic)) {
		r.fail("no hello of this protocol")
	}
	if r.err != nil {
		return h, r.err
	}
	r.b = r.b[len(magic):]
	h.MinVersion, h.MaxVersion, h.Kind = r.byte(), r.byte(), Kind(r.byte())
	for range nonceBytes {
		r.byte()
	}
	h.Boot = r.uint64()
	h.ID = string(r.bytes(maxNameBytes))
	h.Label = string(r.bytes(maxNameBytes))
	h.Fingerprint = string(r.bytes(1 << 10))
	return h, r.err
}

// Open shakes hands as the side that dialed, and returns what the other side said of itself. Both sides prove that
// they know the secret without sending it. The error wraps ErrRefused if the two do not belong together.
func Open(s Stream, own Hello, secret []byte) (Hello, error) {
	hello := appendHello(nil, own, nonce())
	if err := s.Send(hello); err != nil {
		return Hello{}, err
	}
	frame, err := s.Recv()
	if err != nil {
		return Hello{}, err
	}
	if err := refusal(frame); err != nil {
		return Hello{}, err
	}
	answer := bytes.Clone(frame)
	other, err := decodeHello(answer)
	if err != nil {
		return Hello{}, err
	}
	if err := own.accepts(other); err != nil {
		return other, err
	}
	frame, err = s.Recv()
	if err != nil {
		return other, err
	}
	if err := checkProof(frame, secret, "accepted", hello, answer); err != nil {
		return other, fmt.Errorf("%w: %s does not know the secret of %s", err, other.ID, own.ID)
	}
	return other, s.Send(appendProof(secret, "opened", hello, answer))
}

// Accept shakes hands as the side that was dialed, and returns what the other side said of itself. A side that does
// not belong here is told why before the error is returned.
func Accept(s Stream, own Hello, secret []byte) (Hello, error) {
	frame, err := s.Recv()
	if err != nil {
		return Hello{}, err
	}
	hello := bytes.Clone(frame)
	other, err := decodeHello(hello)
	if err != nil {
		return other, err
	}
	own.Kind = other.Kind
	if other.Kind != Checks && other.Kind != Bulk {
		err = fmt.Errorf("%w: unknown kind of stream %d", ErrRefused, other.Kind)
	} else {
		err = own.accepts(other)
	}
	if err != nil {
		return other, errors.Join(err, s.Send(appendBytes([]byte{byte(typeRefusal)}, cut(err.Error()))))
	}
	answer := appendHello(nil, own, nonce())
	if err := s.Send(answer); err != nil {
		return other, err
	}
	if err := s.Send(appendProof(secret, "accepted", hello, answer)); err != nil {
		return other, err
	}
	if frame, err = s.Recv(); err != nil {
		return other, err
	}
	if err := checkProof(frame, secret, "opened", hello, answer); err != nil {
		return other, fmt.Errorf("%w: %s does not know the secret of %s", err, other.ID, own.ID)
	}
	return other, nil
}

const maxRefusalBytes = 2 << 10

func cut(text string) string { return text[:min(len(text), maxRefusalBytes)] }

// refusal returns the error that a frame carries if it is a refusal.
func refusal(frame []byte) error {
	if len(frame) == 0 || frameType(frame[0]) != typeRefusal {
		return nil
	}
	r := open(frame, typeRefusal)
	text := string(r.bytes(maxRefusalBytes))
	if err := r.end(); err != nil {
		return err
	}
	return fmt.Errorf("%w by the other side: %s", ErrRefused, text)
}

func nonce() []byte {
	b := make([]byte, nonceBytes)
	rand.Read(b)
	return b
}

// prove binds the secret to both hellos, nonces included, and to the side that proves.
func prove(secret []byte, side string, hello, answer []byte) []byte {
	m := hmac.New(sha256.New, secret)
	m.Write(appendBytes(appendBytes(appendBytes(nil, side), hello), answer))
	return m.Sum(nil)
}

func appendProof(secret []byte, side string, hello, answer []byte) []byte {
	return append([]byte{byte(typeProof)}, prove(secret, side, hello, answer)...)
}

func checkProof(frame, secret []byte, side string, hello, answer []byte) error {
	r := open(frame, typeProof)
	if r.err != nil {
		return r.err
	}
	if len(r.b) != proofBytes || !hmac.Equal(r.b, prove(secret, side, hello, answer)) {
		return ErrRefused
	}
	return nil
}
