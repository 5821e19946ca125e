package etcd

import (
	"crypto/tls"
	"io"
	"net"
	"sync"
	"testing"
)

// link is a network in front of an etcd: it carries what is said, loses it without a word, or is cut.
type link struct {
	l    net.Listener
	done sync.WaitGroup

	mu    sync.Mutex
	to    string // host:port
	state linkState
	conns map[net.Conn]struct{}
}

type linkState uint8

const (
	whole linkState = iota
	lossy           // connections stand, and nothing comes through
	cut             // connections end as soon as they begin
)

// lay lays a link that ends with the test. With a certificate it speaks TLS, and etcd behind it none.
func lay(t *testing.T, to string, certificates ...tls.Certificate) *link {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	if len(certificates) > 0 {
		l = tls.NewListener(l, &tls.Config{Certificates: certificates, NextProtos: []string{"h2"}})
	}
	k := &link{l: l, to: to, conns: make(map[net.Conn]struct{})}
	k.done.Go(k.accept) // ends when the listener is closed
	t.Cleanup(func() {
		l.Close()
		k.turn(cut)
		k.done.Wait()
	})
	return k
}

func (k *link) address() string { return k.l.Addr().String() }

// lead leads to another etcd from now on.
func (k *link) lead(to string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.to = to
}

// turn changes the state. Connections live on when it turns lossy, and end otherwise.
func (k *link) turn(to linkState) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.state = to
	if to == lossy {
		return
	}
	for c := range k.conns {
		c.Close()
	}
	clear(k.conns)
}

func (k *link) accept() {
	for {
		near, err := k.l.Accept()
		if err != nil {
			return
		}
		if far := k.open(near); far != nil {
			k.done.Go(func() { k.carry(near, far) })
			k.done.Go(func() { k.carry(far, near) })
		} else {
			near.Close()
		}
	}
}

// open connects to etcd for a connection that has come, unless the link is cut.
func (k *link) open(near net.Conn) net.Conn {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.state == cut {
		return nil
	}
	far, err := net.Dial("tcp", k.to)
	if err != nil {
		return nil
	}
	k.conns[near], k.conns[far] = struct{}{}, struct{}{}
	return far
}

// carry ends when one of the two is closed.
func (k *link) carry(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	_, _ = io.Copy(carrier{k, to}, from)
}

// carrier writes to a connection while the link is not lossy.
type carrier struct {
	k  *link
	to net.Conn
}

func (c carrier) Write(p []byte) (int, error) {
	c.k.mu.Lock()
	lost := c.k.state == lossy
	c.k.mu.Unlock()
	if lost {
		return len(p), nil
	}
	return c.to.Write(p)
}
