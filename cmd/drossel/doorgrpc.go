package main

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/drossel-dev/drossel/node"
	"github.com/drossel-dev/drossel/transport/api"
	"github.com/drossel-dev/drossel/transport/door"
	"github.com/drossel-dev/drossel/transport/envoy"
)

// What a client of gRPC may hold. Messages are of 4 MiB at most, by gRPC's own default.
const (
	// maxStreams is how many calls one connection has at a time; more wait at the client.
	maxStreams = 1000
	// maxHeaderBytes bounds the metadata of a call.
	maxHeaderBytes = 64 << 10
	// shakeHands is how long a new connection may take to begin.
	shakeHands = 5 * time.Second
	// A client that says nothing for silent, and does not answer a ping within pingTimeout, has gone.
	silent, pingTimeout = time.Minute, 20 * time.Second
	// Connections are ended after maxAge, so that clients look for new nodes, and that a call which never sends its message holds nothing for
	// ever. Calls under way have grace.
	maxAge, grace = 30 * time.Minute, 30 * time.Second
	// minPing is how often a client may ping.
	minPing = 10 * time.Second
)

// openGRPC makes the server of gRPC.
func (f *serveFlags) openGRPC(d *doors, n *node.Node) {
	d.grpc = grpc.NewServer(append(door.Options(f.authenticate), bounds(maxAge, grace)...)...)
	if lim := d.limiter(door.GRPC, n); lim != nil {
		api.Register(d.grpc, lim, f.node.Logger)
	}
	api.RegisterLimits(d.grpc, n, f.node.Logger)
	if lim := d.limiter(door.Envoy, n); lim != nil {
		envoy.Register(d.grpc, lim, envoy.Options{Headers: d.envoyStyles, Logger: f.node.Logger})
	}
	d.health = api.RegisterHealth(d.grpc)
	api.RegisterReflection(d.grpc)
}

// bounds are the options by which no client holds more than that, with connections that are ended after age and grace.
func bounds(age, grace time.Duration) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxConcurrentStreams(maxStreams), grpc.MaxHeaderListSize(maxHeaderBytes), grpc.ConnectionTimeout(shakeHands),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: silent, Timeout: pingTimeout, MaxConnectionAge: age, MaxConnectionAgeGrace: grace}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPing, PermitWithoutStream: true}),
	}
}
