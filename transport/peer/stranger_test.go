package peer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	"github.com/drossel-dev/drossel/transport"
	"github.com/drossel-dev/drossel/transport/peer"
)

// raw is a codec of its own with the name that nodes use on the wire, for a client that is not ours.
type raw struct{}

func (raw) Name() string { return "drossel-frame" }

func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(bytes.Clone(*v.(*[]byte)))}, nil
}

func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// rawStream is a stream of the service without any of its bounds.
type rawStream struct{ grpc.ClientStream }

func (s rawStream) Send(frame []byte) error { return s.SendMsg(&frame) }

func (s rawStream) Recv() (frame []byte, err error) {
	err = s.RecvMsg(&frame)
	return frame, err
}

// rawClient opens a stream to the service by its name on the wire, which nodes of other builds use.
func rawClient(t *testing.T, addr string) rawStream {
	t.Helper()
	cc, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cc.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	s, err := cc.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true},
		"/drossel.peer.v1.Peer/Stream", grpc.ForceCodecV2(raw{}))
	if err != nil {
		t.Fatal(err)
	}
	return rawStream{s}
}

func greet(t *testing.T, s transport.Stream) {
	t.Helper()
	own := hello("n3x")
	own.MinVersion, own.MaxVersion, own.Kind = transport.MinVersion, transport.MaxVersion, transport.Checks
	if _, err := transport.Open(s, own, secret); err != nil {
		t.Fatal(err)
	}
}

// A message that is larger than any frame ends the stream it came on, and nothing else.
func TestTooLargeMessage(t *testing.T) {
	for name, before := range map[string]func(*testing.T, transport.Stream){
		"in place of a hello":   func(*testing.T, transport.Stream) {},
		"after the handshake":   greet,
		"after frames as usual": func(t *testing.T, s transport.Stream) { greet(t, s); mustEcho(t, s) },
	} {
		t.Run(name, func(t *testing.T) {
			leaks(t)
			received := make(chan error, 8)
			_, addr := listen(t, peer.Config{Own: hello("n1x"), Secret: secret},
				func(ctx context.Context, from transport.Hello, kind transport.Kind, s transport.Stream) error {
					err := echo(ctx, from, kind, s)
					if from.ID == "n3x" {
						received <- err
					}
					return err
				})
			other := dial(t, addr)
			s := rawClient(t, addr)
			before(t, s)
			if err := s.Send(make([]byte, transport.MaxFrameBytes*2)); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() {
				_, err := s.Recv()
				ended <- err
			}()
			if err := wait(t, "the stream to end", ended); err == nil || errors.Is(err, io.EOF) {
				t.Errorf("the stream of the large message: %v, want an error", err)
			}
			if name != "in place of a hello" {
				if err := wait(t, "the handler", received); status.Code(err) != codes.ResourceExhausted {
					t.Errorf("the handler: %v, want ResourceExhausted", err)
				}
			}
			works(t, other)
			works(t, dial(t, addr))
		})
	}
}

func mustEcho(t *testing.T, s transport.Stream) {
	t.Helper()
	if err := s.Send([]byte("hi")); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Recv(); err != nil || string(got) != "hi" {
		t.Fatalf("%q, %v", got, err)
	}
}

// The dialer is as careful: a message that is too large from the node it dialed ends that stream.
func TestTooLargeAnswer(t *testing.T) {
	leaks(t)
	_, addr := listen(t, peer.Config{Own: hello("n1x"), Secret: secret},
		func(ctx context.Context, from transport.Hello, kind transport.Kind, s transport.Stream) error {
			if kind == transport.Checks {
				return echo(ctx, from, kind, s)
			}
			return s.Send(make([]byte, transport.MaxFrameBytes*2))
		})
	p := dial(t, addr)
	ended := make(chan error, 1)
	go func() {
		_, err := p.Bulk().Recv()
		ended <- err
	}()
	if err := wait(t, "the stream to end", ended); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("%v, want an error", err)
	}
	if err := p.Checks().Send([]byte("hi")); err != nil {
		t.Error(err)
	}
	if got, err := p.Checks().Recv(); err != nil || string(got) != "hi" {
		t.Errorf("the other stream: %q, %v", got, err)
	}
}

// Someone who speaks gRPC and then anything but the handshake is turned away.
func TestStrangerOverGRPC(t *testing.T) {
	leaks(t)
	_, addr := listen(t, peer.Config{Own: hello("n1x"), Secret: secret},
		func(ctx context.Context, from transport.Hello, kind transport.Kind, s transport.Stream) error {
			if from.ID != "n2x" {
				t.Errorf("served %+v", from)
			}
			return echo(ctx, from, kind, s)
		})
	for _, first := range []string{"", "\x01", "GET / HTTP/1.1\r\n\r\n", "\x04\x00\x00"} {
		s := rawClient(t, addr)
		if err := s.Send([]byte(first)); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			_, err := s.Recv()
			ended <- err
		}()
		if err := wait(t, "the stream to end", ended); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("first frame %q: %v, want an error", first, err)
		}
	}
	works(t, dial(t, addr))
}

// Raw connections that say something else are closed, and disturb nobody.
func TestGarbageOverTCP(t *testing.T) {
	leaks(t)
	_, addr := listen(t, peer.Config{Own: hello("n1x"), Secret: secret}, echo)
	other := dial(t, addr)
	preface := "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	for name, garbage := range map[string]string{
		"HTTP/1":                    "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"zeros":                     string(make([]byte, 1000)),
		"TLS":                       "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 and so on, longer than the preface",
		"a preface and garbage":     preface + "garbage that is no frame of HTTP/2 at all",
		"a preface and a huge size": preface + "\xff\xff\xff\x04\x00\x00\x00\x00\x00",
	} {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, garbage); err != nil {
			t.Fatal(err)
		}
		c.SetReadDeadline(time.Now().Add(limit))
		// The server may speak first, but it hangs up. A reset is an end like any other.
		if _, err := io.Copy(io.Discard, c); isTimeout(err) {
			t.Errorf("%s: the connection was not closed: %v", name, err)
		}
		c.Close()
		works(t, other)
	}
	works(t, dial(t, addr))
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// Connections that stay half open, with nothing or half of something said, disturb nobody: neither those who work nor
// the end of the network.
func TestHalfOpenConnections(t *testing.T) {
	for name, said := range map[string]string{
		"nothing":        "",
		"half a preface": "PRI * HTTP/2.0\r\n",
		"a preface":      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			leaks(t)
			n, addr := listen(t, peer.Config{Own: hello("n1x"), Secret: secret}, echo)
			other := dial(t, addr)
			for i := range 20 {
				c, err := net.Dial("tcp", addr)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				if _, err := io.WriteString(c, said); err != nil {
					t.Fatal(fmt.Errorf("connection %d: %w", i, err))
				}
			}
			works(t, other)
			works(t, dial(t, addr))
			shut(t, n)
		})
	}
}

// A stream whose client never says hello does not hold up the others, nor the end of the network.
func TestNoHello(t *testing.T) {
	leaks(t)
	n, addr := listen(t, peer.Config{Own: hello("n1x"), Secret: secret}, echo)
	for range 20 {
		rawClient(t, addr)
	}
	works(t, dial(t, addr))
	shut(t, n)
}
