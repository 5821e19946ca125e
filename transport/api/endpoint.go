package api

import (
	"context"
	"net"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/health" // has a connection be ready only while the node says that it takes checks
	"google.golang.org/grpc/keepalive"

	"github.com/drossel-dev/drossel/transport/api/drosselv1"
)

// endpoint is a node, as a client sees it.
type endpoint struct {
	addr   string
	name   string // HOST:PORT that stands for it; "" if it is configured by its address
	conn   *grpc.ClientConn
	checks drosselv1.RateLimiterClient

	// The client's lock guards:
	underWay int
	leaves   bool // it is not asked any more, and closed when nothing is under way
	ready    bool
	rest     time.Duration // the last one
	restsTo  time.Time
}

const (
	// A node that has not answered in time is not asked for minRest, and each time for twice as long, up to maxRest.
	minRest, maxRest = 100 * time.Millisecond, 5 * time.Second
	// lookUpEvery is how often names are looked up.
	lookUpEvery = 30 * time.Second
	// pingEvery is after how long a silent connection is pinged; one whose end has gone is noticed then.
	pingEvery, pingTimeout = 20 * time.Second, 5 * time.Second
)

// service has gRPC ask a node's health, which takes a balancer even where there is one address. A call whose fate is unknown is not repeated.
const service = `{"loadBalancingConfig": [{"round_robin": {}}], "healthCheckConfig": {"serviceName": "drossel.v1.RateLimiter"}}`

// target reads an endpoint as it is configured: an address, or a name that stands for several.
func target(text string) (addr string, isName bool, err error) {
	addr, isName = strings.CutPrefix(text, "dns:///")
	_, _, err = net.SplitHostPort(addr)
	return addr, isName, err
}

// add connects to one more node, which a name may stand for. It is the name that its certificate is for then.
func (c *Client) add(addr, name string) error {
	creds := c.cfg.TLS
	if creds == nil {
		creds = insecure.NewCredentials()
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(creds), grpc.WithDefaultServiceConfig(service), grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingEvery, Timeout: pingTimeout, PermitWithoutStream: true}),
		grpc.WithUserAgent("drossel-client"), grpc.WithIdleTimeout(0),
	}
	//lint:ignore SA1019 who has set a name in the credentials still means it
	if name != "" && creds.Info().ServerName == "" {
		options = append(options, grpc.WithAuthority(name))
	}
	if c.cfg.Token != nil {
		options = append(options, grpc.WithPerRPCCredentials(c.cfg.Token))
	}
	conn, err := grpc.NewClient("passthrough:///"+addr, options...)
	if err != nil {
		return err
	}
	e := &endpoint{addr: addr, name: name, conn: conn, checks: drosselv1.NewRateLimiterClient(conn)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return conn.Close()
	}
	c.endpoints = append(c.endpoints, e)
	conn.Connect()
	c.work.Go(func() { c.watch(e) }) // ends when the connection is closed
	return nil
}

// watch notes if an endpoint can be asked.
func (c *Client) watch(e *endpoint) {
	for state := e.conn.GetState(); state != connectivity.Shutdown; state = e.conn.GetState() {
		ready := state == connectivity.Ready
		c.mu.Lock()
		changed := ready != e.ready
		if e.ready = ready; changed {
			c.sendLocked()
		}
		c.mu.Unlock()
		if changed {
			c.cfg.Logger.Info("a node can be asked, or no more", "endpoint", e.addr, "ready", ready)
		}
		if state == connectivity.Idle {
			e.conn.Connect()
		}
		if !e.conn.WaitForStateChange(c.life, state) {
			return
		}
	}
}

// takes says whether an endpoint can be asked. After a rest it is asked once, to find out, and during it if it has to be.
func (e *endpoint) takes(now time.Time, anyhow bool) bool {
	switch {
	case !e.ready:
		return false
	case e.rest == 0:
		return e.underWay < window
	}
	return e.underWay == 0 && (anyhow || !now.Before(e.restsTo))
}

// rests notes how a call went, and says whether the endpoint is not asked for a while.
func (e *endpoint) rests(now time.Time, err error, refused bool) bool {
	if !refused && !isLate(err) {
		e.rest = 0
		return false
	}
	e.rest = min(max(minRest, 2*e.rest), maxRest)
	e.restsTo = now.Add(e.rest)
	return true
}

// follow keeps the endpoints of a name what it stands for.
func (c *Client) follow(name string) {
	host, port, _ := net.SplitHostPort(name) // target has split it
	known := 0
	for {
		ctx, cancel := context.WithTimeout(c.life, lookUpEvery)
		ips, err := net.DefaultResolver.LookupHost(ctx, host)
		cancel()
		if err != nil && c.life.Err() == nil {
			c.cfg.Logger.Warn("a name of nodes could not be looked up; those known are asked", "name", host, "err", err)
		} else if err == nil {
			var addrs []string
			for _, ip := range ips {
				addrs = append(addrs, net.JoinHostPort(ip, port))
			}
			c.change(name, addrs)
			known = len(addrs)
		}
		wait := lookUpEvery
		if known == 0 {
			wait = time.Second
		}
		t := time.NewTimer(wait)
		select {
		case <-c.life.Done():
			t.Stop()
			return
		case <-t.C:
		}
	}
}

// change takes in which addresses a name stands for now.
func (c *Client) change(name string, addrs []string) {
	var idle []*endpoint
	known := map[string]bool{}
	c.mu.Lock()
	c.endpoints = slices.DeleteFunc(c.endpoints, func(e *endpoint) bool {
		if e.name != name {
			return false
		}
		known[e.addr] = true
		if e.leaves = !slices.Contains(addrs, e.addr); e.leaves && e.underWay == 0 {
			idle = append(idle, e)
		}
		return e.leaves
	})
	c.mu.Unlock()
	for _, e := range idle {
		e.conn.Close()
	}
	for _, addr := range addrs {
		if known[addr] {
			continue
		}
		known[addr] = true
		if err := c.add(addr, name); err != nil {
			c.cfg.Logger.Warn("a node can't be asked", "endpoint", addr, "err", err)
		}
	}
}
