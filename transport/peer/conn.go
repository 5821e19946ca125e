package peer

import (
	"context"

	"google.golang.org/grpc"

	"github.com/drossel-dev/drossel/transport"
)

// conn is a connection seen from the side that dialed.
type conn struct {
	net          *Network
	cc           *grpc.ClientConn
	cancel       context.CancelFunc
	hello        transport.Hello
	checks, bulk *stream
}

func (c *conn) Hello() transport.Hello   { return c.hello }
func (c *conn) Version() uint8           { return transport.Version(c.net.cfg.Own, c.hello) }
func (c *conn) Checks() transport.Stream { return c.checks }
func (c *conn) Bulk() transport.Stream   { return c.bulk }

func (c *conn) Close() error {
	c.net.mu.Lock()
	delete(c.net.peers, c)
	c.net.mu.Unlock()
	c.cancel()
	c.cc.Close() // its only error is that it was closed before
	return nil
}

// stream makes frames of the messages of a gRPC stream of either side.
type stream struct {
	s interface {
		SendMsg(m any) error
		RecvMsg(m any) error
	}
	in, out frame
}

func (s *stream) Send(b []byte) error {
	s.out.b = b
	err := s.s.SendMsg(&s.out)
	s.out.b = nil
	return err
}

func (s *stream) Recv() ([]byte, error) {
	err := s.s.RecvMsg(&s.in)
	return s.in.b, err
}
