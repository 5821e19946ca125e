package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/drossel-dev/drossel/transport"
)

// Config says where a node listens for its peers and what it says of itself. All of it is required but Logger.
type Config struct {
	// Bind is the "host:port" to listen on; port 0 picks a free one.
	Bind string
	// Own is what the node says when a stream opens. Kind is filled in, and frame versions that are zero.
	Own transport.Hello
	// Secret is what both sides prove to know.
	Secret []byte
	// Logger is told of refused peers. Nil means no log.
	Logger *slog.Logger
}

// Network connects one node to its peers over gRPC. Safe for concurrent use.
type Network struct {
	cfg    Config
	server *grpc.Server

	mu     sync.Mutex
	peers  map[*conn]struct{}
	closed bool
	done   sync.WaitGroup
}

// New returns a network that neither listens nor dials yet.
func New(cfg Config) *Network {
	cfg.Own = cfg.Own.WithVersions()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Network{cfg: cfg, peers: make(map[*conn]struct{})}
}

const (
	serviceName = "drossel.peer.v1.Peer"
	method      = "/" + serviceName + "/Stream"
	// maxMessage leaves room around the largest frame.
	maxMessage = transport.MaxFrameBytes + 1024
	// handshakeTimeout bounds how long who opened a stream may take to say who it is.
	handshakeTimeout = 5 * time.Second
	// maxStreams is per connection; a peer opens two.
	maxStreams = 16
)

// Listen opens the port and serves those who dial it. It returns the bound address.
func (n *Network) Listen(h transport.Handler) (string, error) {
	l, err := net.Listen("tcp", n.cfg.Bind)
	if err != nil {
		return "", fmt.Errorf("listen for peers on %s: %w (choose another --peer address; it is --gossip's port plus 1 by default)", n.cfg.Bind, err)
	}
	n.server = grpc.NewServer(
		grpc.WaitForHandlers(true),
		// A stranger who connects and says nothing holds up Close for as long.
		grpc.ConnectionTimeout(2*time.Second),
		grpc.MaxRecvMsgSize(maxMessage),
		grpc.MaxConcurrentStreams(maxStreams),
		// Clients ping every 10 s even without streams; the default policy would end the connection for that.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 10 * time.Second, Timeout: 5 * time.Second}),
	)
	n.server.RegisterService(&grpc.ServiceDesc{
		ServiceName: serviceName,
		HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{{
			StreamName: "Stream", ServerStreams: true, ClientStreams: true,
			Handler: func(_ any, s grpc.ServerStream) error { return n.serve(h, s) },
		}},
	}, n)
	n.done.Go(func() { n.server.Serve(l) }) // ends when Close stops the server
	return l.Addr().String(), nil
}

func (n *Network) serve(h transport.Handler, s grpc.ServerStream) error {
	st := &stream{s: s}
	from, err := n.accept(st)
	if errors.Is(err, transport.ErrRefused) {
		n.cfg.Logger.Warn("refused a peer", "error", err)
		return status.Error(codes.PermissionDenied, err.Error())
	}
	if err != nil {
		return err
	}
	if err := h.Serve(s.Context(), from, from.Kind, st); err != nil && !errors.Is(err, io.EOF) {
		return status.Error(codes.Aborted, err.Error())
	}
	return nil
}

// accept shakes hands. A stranger who opens a stream and says nothing is sent away: when serve returns, the stream ends
// and with it the handshake. One who hangs up ends the stream himself, and is judged by what he said until then: who is
// refused does so as soon as he reads it.
func (n *Network) accept(st *stream) (transport.Hello, error) {
	type result struct {
		from transport.Hello
		err  error
	}
	done := make(chan result, 1)
	go func() {
		from, err := transport.Accept(st, n.cfg.Own, n.cfg.Secret)
		done <- result{from, err}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTimeout)
	defer cancel()
	select {
	case r := <-done:
		return r.from, r.err
	case <-ctx.Done():
		return transport.Hello{}, status.FromContextError(ctx.Err()).Err()
	}
}

// Dial opens a connection to the peer at addr and shakes hands on both streams, all within ctx. The error wraps
// transport.ErrRefused if the two nodes do not belong together.
func (n *Network) Dial(ctx context.Context, addr string) (transport.Peer, error) {
	cc, err := grpc.NewClient("passthrough:///"+addr,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.CallContentSubtype(contentSubtype), grpc.MaxCallRecvMsgSize(maxMessage)),
		grpc.WithIdleTimeout(0),
		grpc.WithNoProxy(), // peers are reached directly, whatever HTTPS_PROXY says
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 5 * time.Second, PermitWithoutStream: true}),
	)
	if err != nil {
		return nil, fmt.Errorf("dial peer %s: %w", addr, err)
	}
	life, cancel := context.WithCancel(context.Background())
	c := &conn{net: n, cc: cc, cancel: cancel}
	if !n.adopt(c) {
		c.Close()
		return nil, fmt.Errorf("dial peer %s: the network is closed", addr)
	}
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	for _, open := range []struct {
		kind transport.Kind
		to   **stream
	}{{transport.Checks, &c.checks}, {transport.Bulk, &c.bulk}} {
		if *open.to, c.hello, err = n.open(life, cc, open.kind); err != nil {
			c.Close()
			return nil, fmt.Errorf("dial peer %s: %w", addr, err)
		}
	}
	if !stop() {
		c.Close()
		return nil, fmt.Errorf("dial peer %s: %w", addr, ctx.Err())
	}
	return c, nil
}

func (n *Network) open(ctx context.Context, cc *grpc.ClientConn, kind transport.Kind) (*stream, transport.Hello, error) {
	s, err := cc.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		return nil, transport.Hello{}, err
	}
	own := n.cfg.Own
	own.Kind = kind
	st := &stream{s: s}
	hello, err := transport.Open(st, own, n.cfg.Secret)
	return st, hello, err
}

func (n *Network) adopt(c *conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.closed {
		n.peers[c] = struct{}{}
	}
	return !n.closed
}

// Close ends every connection, dialed or served, and waits for the handlers.
func (n *Network) Close() error {
	n.mu.Lock()
	n.closed = true
	peers := make([]*conn, 0, len(n.peers))
	for c := range n.peers {
		peers = append(peers, c)
	}
	n.mu.Unlock()
	for _, c := range peers {
		c.Close()
	}
	if n.server != nil {
		n.server.Stop()
	}
	n.done.Wait()
	return nil
}
