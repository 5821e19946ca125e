package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"

	"github.com/drossel-dev/drossel/node"
	"github.com/drossel-dev/drossel/node/metrics"
	"github.com/drossel-dev/drossel/node/strict"
	"github.com/drossel-dev/drossel/transport/door"
	"github.com/drossel-dev/drossel/transport/headers"
)

// doorNames are the doors there are.
var doorNames = []string{door.GRPC, door.HTTP, door.Auth, door.Envoy}

// doors are the servers of one node.
type doors struct {
	grpc                *grpc.Server
	health              *health.Server
	http                *http.Server
	grpcAddr, httpAddr  string
	listeners           []net.Listener
	serving             []func() error
	failed              chan error
	counts              metrics.Doors // of the doors that are open
	styles, envoyStyles []headers.Style
}

// wrongDoors says what is wrong with which doors are open, and where.
func (f *serveFlags) wrongDoors() (err error) {
	for _, name := range f.doors {
		if !slices.Contains(doorNames, name) {
			err = errors.Join(err, fmt.Errorf("--doors: there is no door %q, want some of %q", name, doorNames))
		}
	}
	if _, wrong := headers.ParseStyles(f.headers); wrong != nil {
		err = errors.Join(err, fmt.Errorf("--headers: %w", wrong))
	}
	if _, wrong := headers.ParseStyles(f.envoyHeaders); wrong != nil {
		err = errors.Join(err, fmt.Errorf("--envoy-headers: %w", wrong))
	}
	err = errors.Join(err, f.auth.wrong())
	for _, d := range []struct{ flag, addr string }{{"--grpc", f.grpc}, {"--http", f.http}} {
		if _, _, wrong := net.SplitHostPort(d.addr); d.addr != "" && wrong != nil {
			err = errors.Join(err, fmt.Errorf("%s is %q, want HOST:PORT, or nothing for none: %w", d.flag, d.addr, wrong))
		} else if d.addr != "" && len(f.node.Secret) == 0 && !f.node.Insecure && node.OffLoopback(d.addr) {
			err = errors.Join(err, fmt.Errorf("%s is %s, off loopback, and there is no secret: listen on 127.0.0.1, "+
				"give all nodes one --secret-file, or say --insecure", d.flag, d.addr))
		}
	}
	return err
}

// open listens, and makes the servers. What the flags say of doors is right.
func (f *serveFlags) open(n *node.Node, shared *strict.Client) (*doors, error) {
	d := &doors{failed: make(chan error, 3), counts: metrics.Doors{}}
	d.styles, _ = headers.ParseStyles(f.headers) // wrongDoors has nothing against them
	d.envoyStyles, _ = headers.ParseStyles(f.envoyHeaders)
	for _, name := range f.doors {
		d.counts[name] = new(door.Counts)
	}
	forGRPC, forHTTP, err := d.listen(f.grpc, f.http)
	if err != nil {
		d.close()
		return nil, err
	}
	if forGRPC != nil {
		f.openGRPC(d, n)
		d.grpcAddr = forGRPC.Addr().String()
		d.serving = append(d.serving, func() error { return d.grpc.Serve(forGRPC) })
	}
	if forHTTP != nil {
		f.openHTTP(d, n, shared)
		d.httpAddr = forHTTP.Addr().String()
		d.serving = append(d.serving, func() error { return d.http.Serve(forHTTP) })
	}
	return d, nil
}

// limiter returns the node as it is asked through a door; nil if that is not open.
func (d *doors) limiter(name string, n *node.Node) door.Limiter {
	if c := d.counts[name]; c != nil {
		return c.Of(n)
	}
	return nil
}

// serve lets callers in, to be told that the node is not ready.
func (d *doors) serve() {
	for _, serve := range d.serving {
		go func() { d.failed <- serve() }() // ends when drain or close stops the server
	}
}

func (d *doors) ready() {
	if d.health != nil {
		d.health.Resume()
	}
}

func (d *doors) unready() {
	if d.health != nil {
		d.health.Shutdown()
	}
}

// drain ends the servers once what they do is done, or ctx ends.
func (d *doors) drain(ctx context.Context) {
	if d.http != nil {
		d.http.Shutdown(ctx)
	}
	if d.grpc != nil {
		stop := context.AfterFunc(ctx, d.grpc.Stop)
		d.grpc.GracefulStop()
		stop()
	}
}

func (d *doors) close() {
	for _, l := range d.listeners { // those that were never served are nobody else's to close
		l.Close()
	}
	if d.http != nil {
		d.http.Close()
	}
	if d.grpc != nil {
		d.grpc.Stop()
	}
}
