package strict

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/redis/rueidis"
	"github.com/sony/gobreaker/v2"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/redis"
)

// Config says where Redis is.
type Config struct {
	// URLs are one or several independent servers, among which groups are spread by rendezvous hashing: the same on all nodes, in any
	// order. Each is "redis://USER:PASSWORD@HOST:PORT/DB"; "rediss://" is TLS. "?addr=HOST:PORT" names further nodes of a cluster;
	// "?master_set=NAME" says that these are sentinels.
	URLs []string
	// RootCAs are the authorities that the certificates of servers over TLS are by. Nil means those of the machine.
	RootCAs *x509.CertPool
	// Logger is told when a server does not answer, and when it does again. Nil means no log.
	Logger *slog.Logger
}

// Client asks Redis. All methods are safe for concurrent use.
type Client struct {
	endpoints []*endpoint
	script    *rueidis.Lua
	end       context.CancelFunc
	watching  sync.WaitGroup
}

// Open returns a client at once: servers that are not reached are tried again and again. The error says what is wrong with a URL.
func Open(cfg Config) (*Client, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if len(cfg.URLs) == 0 {
		return nil, errors.New("no URL of a Redis server")
	}
	c := &Client{script: rueidis.NewLuaScript(redis.Script)}
	for _, url := range cfg.URLs {
		e, err := newEndpoint(url, &cfg)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(c.endpoints, func(o *endpoint) bool { return o.name == e.name }) {
			return nil, fmt.Errorf("the Redis server %s is named twice", e.name)
		}
		c.endpoints = append(c.endpoints, e)
	}
	ctx, end := context.WithCancel(context.Background())
	c.end = end
	for _, e := range c.endpoints {
		c.watching.Go(func() { e.watch(ctx) })
	}
	return c, nil
}

// Close ends all connections.
func (c *Client) Close() error {
	c.end()
	c.watching.Wait()
	for _, e := range c.endpoints {
		e.close()
	}
	return nil
}

// endpoint returns the server that has a group.
func (c *Client) endpoint(id bucket.ID) *endpoint {
	best, most := c.endpoints[0], uint64(0)
	if len(c.endpoints) == 1 {
		return best
	}
	key := id.Bytes()
	var room [128]byte
	for _, e := range c.endpoints {
		if w := xxhash.Sum64(append(append(room[:0], key[:]...), e.name...)); w >= most {
			best, most = e, w
		}
	}
	return best
}

// Ask has the script do what is asked of a group, by one call, within ctx. After an error that does not wrap redis.ErrNotDone nobody knows
// if it was done; only what has an Op may be asked for again.
func (c *Client) Ask(ctx context.Context, a *redis.Ask) (r redis.Reply, err error) {
	e := c.endpoint(a.ID)
	begun := time.Now()
	r, err = within(ctx, func() (r redis.Reply, err error) {
		unix := begun.UnixNano()
		for range 2 {
			r, err = e.ask(ctx, c.script, a, unix)
			if !errors.Is(err, redis.ErrOtherTime) {
				break
			}
			unix = int64(r.At) // the windows around the time that it is there
		}
		return r, err
	})
	e.counts.add(time.Since(begun), err)
	if err != nil {
		if isUndone(err) {
			return r, fmt.Errorf("%w: redis %s: %w", redis.ErrNotDone, e.name, err)
		}
		return r, fmt.Errorf("redis %s: %w", e.name, err)
	}
	return r, nil
}

// within does what may take longer than ctx says, and is left alone then: a connection that is being made is waited for by all who need it.
func within(ctx context.Context, do func() (redis.Reply, error)) (redis.Reply, error) {
	type result struct {
		reply redis.Reply
		err   error
	}
	done := make(chan result, 1)
	go func() { // ends when the client closes, at the latest
		r, err := do()
		done <- result{r, err}
	}()
	select {
	case r := <-done:
		return r.reply, r.err
	case <-ctx.Done():
		return redis.Reply{}, ctx.Err()
	}
}

// Stats is what a client knows of one server.
type Stats struct {
	Server string
	// Open says that it is not asked, because it did not answer.
	Open bool
	// Calls were made, of which Errors failed, by kind; those that were not made are among the errors.
	Calls  uint64
	Errors map[Kind]uint64
	// Took is the time of all calls together.
	Took time.Duration
}

// Stats returns what is known of each server, in the order of the URLs.
func (c *Client) Stats() (all []Stats) {
	for _, e := range c.endpoints {
		s := e.counts.snapshot()
		s.Server = e.name
		s.Open = e.client.Load() == nil || e.breaker.State() != gobreaker.StateClosed
		all = append(all, s)
	}
	return all
}
