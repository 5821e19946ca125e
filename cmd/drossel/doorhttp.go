package main

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/drossel-dev/drossel/node"
	"github.com/drossel-dev/drossel/node/metrics"
	"github.com/drossel-dev/drossel/node/strict"
	"github.com/drossel-dev/drossel/transport/door"
	"github.com/drossel-dev/drossel/transport/web"
)

// openHTTP makes the server of HTTP.
func (f *serveFlags) openHTTP(d *doors, n *node.Node, shared *strict.Client) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics.NewCollector(n), d.counts, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if shared != nil {
		registry.MustRegister(shared)
	}
	cfg := web.Config{
		Logger:  f.node.Logger,
		Ready:   n.Ready,
		Metrics: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}),
		Members: func() any { return n.Members(context.Background()) },
		Ring:    func() any { return n.Ring() },
		Leases:  func() any { return n.Leases(context.Background()) },

		Partitions: func() any { return n.Partitions() },
		Policies:   livePolicies{n},
		Limits:     n,
		Forget: func(member string) (known bool, err error) {
			err = n.ForgetMember(member)
			return !errors.Is(err, node.ErrNotMember), err
		},
	}
	if lim := d.limiter(door.Auth, n); lim != nil {
		cfg.Auth = f.auth.config(lim, d.styles)
	}
	d.http = web.Server(door.Handler(f.authenticate, web.Handler(d.limiter(door.HTTP, n), cfg)), f.node.Logger)
}
