package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// Fallback says what a Client answers when no node has decided in time. A node that can't reach another goes by the limit's own rule, and
// that is an answer; this is for when no node could be asked. The zero Fallback allows.
type Fallback uint8

const (
	// FallbackAllow admits the request: a limiter that is away is no reason to be away.
	FallbackAllow Fallback = iota
	// FallbackDeny denies it, to be tried again in a second.
	FallbackDeny
	// FallbackError returns an error that wraps policy.ErrUnavailable, for the caller to decide.
	FallbackError
)

// ClientConfig says whom a Client asks. Only Endpoints has no default.
type ClientConfig struct {
	// Endpoints are the gRPC addresses of nodes, HOST:PORT, all or some of them; dns:///NAME:PORT stands for all addresses of a name, which is
	// looked up again every half minute. With TLS the certificate is to be for NAME.
	Endpoints []string
	// Deadline is how long a check may take in all; a context that ends earlier counts. Default: 20 ms.
	Deadline time.Duration
	// Fallback decides what no node has decided within Deadline.
	Fallback Fallback
	// MaxWaiting bounds the checks that wait for a node to be asked; more are decided by Fallback at once. About half a kilobyte each.
	// Default: 10,000.
	MaxWaiting int
	// TLS are the credentials of connections. Default: none, plain text.
	TLS credentials.TransportCredentials
	// Token is sent with each call, such as a bearer token. One that asks for a secure transport needs TLS. Default: none.
	Token credentials.PerRPCCredentials
	// Logger gets which nodes can be asked, at level Info, and what is wrong with those that can't, at Warn. Default: nothing is said.
	Logger *slog.Logger
}

// ErrClientConfig is wrapped by errors about the configuration of a client.
var ErrClientConfig = errors.New("client configuration")

// Validate says all that is wrong with the configuration. The error wraps ErrClientConfig.
func (c ClientConfig) Validate() (err error) {
	if len(c.Endpoints) == 0 {
		err = fmt.Errorf("%w: Endpoints is empty: name the gRPC address of at least one node", ErrClientConfig)
	}
	for _, e := range c.Endpoints {
		if _, _, wrong := target(e); wrong != nil {
			err = errors.Join(err, fmt.Errorf("%w: Endpoints has %q, want HOST:PORT or dns:///NAME:PORT: %w", ErrClientConfig, e, wrong))
		}
	}
	if c.Deadline < 0 {
		err = errors.Join(err, fmt.Errorf("%w: Deadline is %v, want a time above zero, or 0 for 20 ms", ErrClientConfig, c.Deadline))
	}
	if c.MaxWaiting < 0 {
		err = errors.Join(err, fmt.Errorf("%w: MaxWaiting is %d, want a number above zero, or 0 for 10,000", ErrClientConfig, c.MaxWaiting))
	}
	if c.Fallback > FallbackError {
		err = errors.Join(err, fmt.Errorf("%w: Fallback is %d, want FallbackAllow, FallbackDeny or FallbackError", ErrClientConfig, c.Fallback))
	}
	if c.Token != nil && c.Token.RequireTransportSecurity() && (c.TLS == nil || c.TLS.Info().SecurityProtocol == "insecure") {
		err = errors.Join(err, fmt.Errorf("%w: Token must not be sent in plain text, it says: set TLS", ErrClientConfig))
	}
	return err
}

// Client asks nodes of a cluster, for a program that is none of them: Check is that of a node. It is what middleware takes.
//
// Nodes that are not connected, that say by gRPC's health checks that they take no checks, or that have not answered lately are not asked
// while others are, and come back by themselves; one that has not answered is asked by one call at a time if there is no other. It asks them in turn, all alike: a key that is asked for often is lent to each of them.
//
// Checks that come while others are on their way wait for those, and go together in one call; none waits for a timer. A check that a node
// has refused to decide is asked of another one. One whose answer was lost is not: it may have been charged, and a limiter that asks twice
// charges twice. Make it with Dial. All methods are safe for concurrent use.
type Client struct {
	cfg    ClientConfig
	life   context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	counts clientCounts

	mu        sync.Mutex // guards:
	closed    bool
	queue     []*asking
	endpoints []*endpoint
	turn      int
}

// Dial returns a client, at once: it connects by itself, and is ready for checks, which wait until it has. The error says all that is wrong
// with the configuration.
func Dial(cfg ClientConfig) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Deadline == 0 {
		cfg.Deadline = 20 * time.Millisecond
	}
	if cfg.MaxWaiting == 0 {
		cfg.MaxWaiting = 10_000
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Client{cfg: cfg}
	c.life, c.cancel = context.WithCancel(context.Background())
	for _, text := range cfg.Endpoints {
		addr, isName, _ := target(text) // Validate has nothing against it
		if isName {
			c.work.Go(func() { c.follow(addr) }) // ends with the client
			continue
		}
		if err := c.add(addr, ""); err != nil {
			c.Close()
			return nil, fmt.Errorf("%w: endpoint %q: %w", ErrClientConfig, text, err)
		}
	}
	return c, nil
}

// Check decides one request, as a node does. It blocks at most for the deadline, and then answers by the Fallback: DecidedBy is
// policy.Timeout, and Degraded is set.
//
// The error wraps policy.ErrInvalid or policy.ErrUnknownPolicy if the request is wrong, policy.ErrUnavailable if the client is closed or
// the Fallback is FallbackError, or is the error of ctx. A check that is under way when ctx ends, or at its deadline, may be charged.
func (c *Client) Check(ctx context.Context, req policy.Request) (policy.Decision, error) {
	a, err := c.ask(ctx, &req)
	if err != nil {
		return policy.Decision{}, err
	}
	return c.finish(ctx, a)
}

// CheckBatch decides the requests as Check does each, and returns the results in the same order.
func (c *Client) CheckBatch(ctx context.Context, reqs []policy.Request) []policy.Result {
	results := make([]policy.Result, len(reqs))
	all := make([]*asking, len(reqs))
	for i := range reqs {
		all[i], results[i].Err = c.ask(ctx, &reqs[i])
	}
	for i, a := range all {
		if results[i].Err == nil {
			results[i].Decision, results[i].Err = c.finish(ctx, a)
		}
	}
	return results
}

// Close ends the client and returns when nothing of it runs any more. Checks under way fail. It is safe to call it again.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	queue, endpoints := c.queue, c.endpoints
	c.queue, c.endpoints = nil, nil
	c.mu.Unlock()
	c.cancel()
	for _, a := range queue {
		a.answer(policy.Decision{}, errClosed)
	}
	for _, e := range endpoints {
		e.conn.Close()
	}
	c.work.Wait()
	return nil
}

var errClosed = fmt.Errorf("%w: the client is closed", policy.ErrUnavailable)
