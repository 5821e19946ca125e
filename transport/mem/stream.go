package mem

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/drossel-dev/drossel/transport"
)

// pipe is one direction of one stream: frames under way, then frames that have arrived.
type pipe struct {
	net *Network
	way [2]string

	mu      sync.Mutex
	flight  [][]byte // sent, not arrived; oldest first
	due     int      // how many of them would have arrived by now if the way had not been cut
	arrived [][]byte
	closed  bool
	ended   bool          // nothing more is sent; what is under way still arrives
	wake    chan struct{} // holds one token while there may be something to receive
}

func (n *Network) pipe(from, to string) *pipe {
	p := &pipe{net: n, way: [2]string{from, to}, wake: make(chan struct{}, 1)}
	n.mu.Lock()
	n.direction(p.way).pipes[p] = struct{}{}
	n.mu.Unlock()
	return p
}

func (p *pipe) send(frame []byte) error {
	if len(frame) > transport.MaxFrameBytes {
		return fmt.Errorf("a frame of %d bytes, want at most %d", len(frame), transport.MaxFrameBytes)
	}
	p.mu.Lock()
	if p.closed || p.ended {
		p.mu.Unlock()
		return io.ErrClosedPipe
	}
	p.flight = append(p.flight, bytes.Clone(frame))
	p.mu.Unlock()
	if p.net.Delay != nil {
		if d := p.net.Delay(p.way[0], p.way[1]); d > 0 {
			p.net.After(d, p.arrive)
			return nil
		}
	}
	p.arrive()
	return nil
}

// arrive brings the oldest frame under way to the other end. Frames with different delays still arrive in order: each
// arrival is that of whichever frame is next.
func (p *pipe) arrive() {
	p.mu.Lock()
	p.due++
	if !p.net.isCut(p.way) {
		p.deliverLocked()
	}
	p.mu.Unlock()
}

func (p *pipe) heal() {
	p.mu.Lock()
	p.deliverLocked()
	p.mu.Unlock()
}

func (p *pipe) deliverLocked() {
	n := min(p.due, len(p.flight))
	p.arrived = append(p.arrived, p.flight[:n]...)
	p.flight = p.flight[n:]
	p.due = 0
	p.signal()
}

func (p *pipe) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *pipe) recv() ([]byte, error) {
	for {
		p.mu.Lock()
		if len(p.arrived) > 0 {
			frame := p.arrived[0]
			p.arrived = p.arrived[1:]
			more := len(p.arrived) > 0
			p.mu.Unlock()
			if more {
				p.signal()
			}
			return frame, nil
		}
		closed := p.closed || p.ended && len(p.flight) == 0
		p.mu.Unlock()
		if closed {
			p.signal() // for the next call
			return nil, io.EOF
		}
		<-p.wake
	}
}

// end is the orderly end by the sender.
func (p *pipe) end() {
	p.mu.Lock()
	p.ended = true
	p.signal()
	p.mu.Unlock()
}

func (p *pipe) close() {
	p.mu.Lock()
	p.closed = true
	p.flight = nil
	p.signal()
	p.mu.Unlock()
	p.net.mu.Lock()
	delete(p.net.direction(p.way).pipes, p)
	p.net.mu.Unlock()
}

// stream is one end of a pair of pipes.
type stream struct{ out, in *pipe }

func (s stream) Send(frame []byte) error { return s.out.send(frame) }
func (s stream) Recv() ([]byte, error)   { return s.in.recv() }

func (s stream) close() {
	s.out.close()
	s.in.close()
}

// peer is a connection seen from the side that dialed.
type peer struct {
	hello        transport.Hello
	checks, bulk stream
	from, to     *Node
	cancel       context.CancelFunc
}

// connect opens both streams to another node and shakes hands on each.
func (d *Node) connect(ctx context.Context, to *Node) (transport.Peer, error) {
	serve, cancel := context.WithCancel(context.Background())
	p := &peer{from: d, to: to, cancel: cancel}
	var serving [2]stream
	for i, s := range []*stream{&p.checks, &p.bulk} {
		there, back := d.net.pipe(d.addr, to.addr), d.net.pipe(to.addr, d.addr)
		*s, serving[i] = stream{out: there, in: back}, stream{out: back, in: there}
	}
	if !d.adopt(p, 0) {
		return nil, io.ErrClosedPipe
	}
	if !to.adopt(p, len(serving)) {
		p.Close()
		return nil, fmt.Errorf("dial %s: %w", to.addr, ErrNoSuchAddress)
	}
	stop := context.AfterFunc(ctx, func() { p.Close() })
	defer stop()
	for _, s := range serving {
		go func() {
			defer to.serving.Done()
			defer func() {
				s.out.end()
				s.in.close()
			}()
			if from, err := transport.Accept(s, to.own, to.secret); err == nil {
				to.handler.Serve(serve, from, from.Kind, s)
			}
		}()
	}
	for kind, s := range map[transport.Kind]stream{transport.Checks: p.checks, transport.Bulk: p.bulk} {
		own := d.own
		own.Kind = kind
		hello, err := transport.Open(s, own, d.secret)
		if err != nil {
			p.Close()
			return nil, err
		}
		p.hello = hello
	}
	if !stop() {
		p.Close()
		return nil, fmt.Errorf("dial %s: %w", to.addr, ctx.Err())
	}
	return p, nil
}

// adopt has a node close the connection when it closes, and wait for as many streams that it serves. It is false if the
// node has closed already.
func (d *Node) adopt(p *peer, serves int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false
	}
	d.peers[p] = struct{}{}
	d.serving.Add(serves)
	return true
}

func (p *peer) Hello() transport.Hello   { return p.hello }
func (p *peer) Version() uint8           { return transport.Version(p.from.own, p.hello) }
func (p *peer) Checks() transport.Stream { return p.checks }
func (p *peer) Bulk() transport.Stream   { return p.bulk }

func (p *peer) Close() error {
	p.cancel()
	p.checks.close()
	p.bulk.close()
	for _, d := range []*Node{p.from, p.to} {
		d.mu.Lock()
		delete(d.peers, p)
		d.mu.Unlock()
	}
	return nil
}
