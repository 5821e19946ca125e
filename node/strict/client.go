package strict

import (
	"context"
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
		e, err := newEndpoint(url, cfg.Logger)
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

// Group is a group of limits of a policy, and what is asked of it. Limits are valid (redis.Validate) and have tags; costs are one for each.
type Group struct {
	Policy string
	ID     bucket.ID
	Limits []bucket.Limit
	Costs  []int64
}

// Decide has a group decided in Redis, by one call of the script, within ctx; look takes nothing. After an error of the kinds Timeout,
// Connection and Script nobody knows if the costs were taken, and it must not be asked again.
func (c *Client) Decide(ctx context.Context, g *Group, look bool) (redis.Reply, error) {
	do := redis.Take
	if look {
		do = redis.Look
	}
	return c.call(ctx, g, do, func(unix int64) []string { return redis.AppendArgs(nil, do, g.Limits, g.Costs, unix) })
}

// Debit takes what was admitted elsewhere, whether it is there or not. A debtor numbers his debits of a group from 1 up; one whose fate
// nobody knows is sent again with the same number, within a minute, and counts once.
func (c *Client) Debit(ctx context.Context, g *Group, debtor string, number uint64) error {
	_, err := c.call(ctx, g, redis.Debit, func(unix int64) []string {
		return redis.AppendDebit(nil, g.Limits, g.Costs, unix, debtor, number)
	})
	return err
}

// Give gives back what a decision has taken, at the instant that it said, and that was not used.
func (c *Client) Give(ctx context.Context, g *Group, taken bucket.Instant) error {
	_, err := c.call(ctx, g, redis.Give, func(unix int64) []string { return redis.AppendGive(nil, g.Limits, g.Costs, unix, taken) })
	return err
}

// call calls the script with arguments that are made for about what time it is.
func (c *Client) call(ctx context.Context, g *Group, do redis.Do, args func(unix int64) []string) (r redis.Reply, err error) {
	e := c.endpoint(g.ID)
	begun := time.Now()
	unix := begun.UnixNano()
	for range 2 {
		var reply []int64
		if reply, err = e.ask(ctx, c.script, redis.Key(g.ID, g.Policy), args(unix)); err == nil {
			r, err = redis.ReadReply(reply, do, g.Limits, g.Costs)
		}
		if !errors.Is(err, redis.ErrOtherTime) {
			break
		}
		unix = int64(r.At) // the windows around the time that it is there
	}
	e.counts.add(time.Since(begun), err)
	if err != nil {
		return r, fmt.Errorf("redis %s: %w", e.name, err)
	}
	return r, nil
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
