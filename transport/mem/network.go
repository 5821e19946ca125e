package mem

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/drossel-dev/drossel/transport"
)

// ErrNoSuchAddress is returned by Dial for an address where nobody listens, as a refused connection is.
var ErrNoSuchAddress = errors.New("nobody listens at this address")

// Network connects nodes in one process. The zero value is a network without delays; all methods are safe for
// concurrent use.
type Network struct {
	// Delay says how long a frame is under way between two addresses. Nil means no time at all.
	Delay func(from, to string) time.Duration
	// After calls f once d has passed; it is needed only with Delay. time.AfterFunc serves.
	After func(d time.Duration, f func())

	mu    sync.Mutex
	nodes map[string]*Node
	pairs map[[2]string]*direction
}

// direction is one ordered pair of addresses.
type direction struct {
	cut    bool
	healed chan struct{} // closed when the cut ends; nil while there is none
	pipes  map[*pipe]struct{}
}

// Node is one place on a network. It implements the network that a node of the cluster needs.
type Node struct {
	net    *Network
	addr   string
	own    transport.Hello
	secret []byte

	mu      sync.Mutex
	handler transport.Handler
	closed  bool
	peers   map[*peer]struct{}
	serving sync.WaitGroup
}

// Node returns the place at addr, from which nodes that say hello with own can be dialed. Frame versions that own
// leaves at zero are those of this build.
func (n *Network) Node(addr string, own transport.Hello, secret []byte) *Node {
	return &Node{net: n, addr: addr, own: own.WithVersions(), secret: secret, peers: make(map[*peer]struct{})}
}

// Listen opens the place to those who dial it, and returns its address.
func (d *Node) Listen(h transport.Handler) (string, error) {
	d.net.mu.Lock()
	defer d.net.mu.Unlock()
	if d.net.nodes == nil {
		d.net.nodes = make(map[string]*Node)
	}
	if d.net.nodes[d.addr] != nil {
		return "", fmt.Errorf("address %s is in use", d.addr)
	}
	d.net.nodes[d.addr] = d
	d.handler = h
	return d.addr, nil
}

// Dial opens a connection to the place at addr. It blocks while the way there or back is cut, until ctx ends.
func (d *Node) Dial(ctx context.Context, addr string) (transport.Peer, error) {
	for _, way := range [][2]string{{d.addr, addr}, {addr, d.addr}} {
		if err := d.net.passable(ctx, way); err != nil {
			return nil, err
		}
	}
	d.net.mu.Lock()
	to := d.net.nodes[addr]
	d.net.mu.Unlock()
	if to == nil {
		return nil, fmt.Errorf("dial %s: %w", addr, ErrNoSuchAddress)
	}
	return d.connect(ctx, to)
}

// Close ends every connection, waits until all handlers have returned, and frees the address.
func (d *Node) Close() error {
	d.net.mu.Lock()
	if d.net.nodes[d.addr] == d {
		delete(d.net.nodes, d.addr)
	}
	d.net.mu.Unlock()
	d.mu.Lock()
	d.closed = true
	peers := make([]*peer, 0, len(d.peers))
	for p := range d.peers {
		peers = append(peers, p)
	}
	d.mu.Unlock()
	for _, p := range peers {
		p.Close()
	}
	d.serving.Wait()
	return nil
}

// Cut stops what goes from one address to another, in that direction only: frames wait, and dials in either direction
// block, until Heal.
func (n *Network) Cut(from, to string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if d := n.direction([2]string{from, to}); !d.cut {
		d.cut, d.healed = true, make(chan struct{})
	}
}

// Heal undoes Cut: what waited arrives, in order.
func (n *Network) Heal(from, to string) {
	n.mu.Lock()
	d := n.direction([2]string{from, to})
	if !d.cut {
		n.mu.Unlock()
		return
	}
	d.cut = false
	close(d.healed)
	pipes := make([]*pipe, 0, len(d.pipes))
	for p := range d.pipes {
		pipes = append(pipes, p)
	}
	n.mu.Unlock()
	for _, p := range pipes {
		p.heal()
	}
}

// direction returns the record of an ordered pair. The lock is held.
func (n *Network) direction(way [2]string) *direction {
	if n.pairs == nil {
		n.pairs = make(map[[2]string]*direction)
	}
	d := n.pairs[way]
	if d == nil {
		d = &direction{pipes: make(map[*pipe]struct{})}
		n.pairs[way] = d
	}
	return d
}

func (n *Network) isCut(way [2]string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.pairs[way] != nil && n.pairs[way].cut
}

// passable waits until a direction is not cut.
func (n *Network) passable(ctx context.Context, way [2]string) error {
	for {
		n.mu.Lock()
		d := n.direction(way)
		cut, healed := d.cut, d.healed
		n.mu.Unlock()
		if !cut {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("dial %s: %w", way[1], ctx.Err())
		case <-healed:
		}
	}
}
