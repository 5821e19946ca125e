package strict

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
	"github.com/sony/gobreaker/v2"

	"github.com/drossel-dev/drossel/bucket/redis"
)

// endpoint is one server, or one cluster, or what sentinels say is the master.
type endpoint struct {
	name    string
	option  rueidis.ClientOption
	client  atomic.Pointer[rueidis.Client] // nil before it was reached for the first time
	breaker *gobreaker.TwoStepCircuitBreaker[any]
	log     *slog.Logger
	counts  counts
}

const (
	// tripAfter failures one after the other the endpoint is not asked any more; or when half of at least tripOf calls in tripWithin fail.
	tripAfter  = 5
	tripOf     = 20
	tripWithin = time.Second
	// probeAgain is how long it is left alone before it is probed, and how often; a probe may take probePatience.
	probeAgain    = 200 * time.Millisecond
	probePatience = 100 * time.Millisecond
	dialPatience  = time.Second
	// clusterAgain is how often a cluster is looked at though nothing seems to have moved.
	clusterAgain = 10 * time.Second
	// writePatience is after which time without an answer a connection is given up.
	writePatience = time.Second
)

func newEndpoint(of string, cfg *Config) (*endpoint, error) {
	option, err := rueidis.ParseURL(of)
	if err != nil {
		if bad, ok := errors.AsType[*url.Error](err); ok { // which would repeat the password
			err = bad.Err
		}
		return nil, fmt.Errorf("%w: want redis://USER:PASSWORD@HOST:PORT, rediss:// for TLS, with ?addr=HOST:PORT for further nodes of a "+
			"cluster, and ?master_set=NAME for sentinels", err)
	}
	option.DisableCache, option.DisableRetry = true, true
	option.ClientName = "drossel"
	if option.TLSConfig != nil { // for each server the certificate must have its name
		option.TLSConfig.RootCAs, option.TLSConfig.ServerName = cfg.RootCAs, ""
		option.Sentinel.TLSConfig = option.TLSConfig.Clone()
	}
	option.Sentinel.Dialer = option.Dialer
	option.ClusterOption.ShardsRefreshInterval = clusterAgain
	option.Dialer.Timeout = dialPatience
	option.ConnWriteTimeout = writePatience
	e := &endpoint{name: option.InitAddress[0], option: option, log: cfg.Logger.With("redis", option.InitAddress[0])}
	e.counts.latency = newLatency(e.name)
	e.breaker = gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
		Name: e.name, MaxRequests: 1, Interval: tripWithin, Timeout: probeAgain,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			return c.ConsecutiveFailures >= tripAfter || c.Requests >= tripOf && 2*c.TotalFailures >= c.Requests
		},
		IsExcluded: func(err error) bool { return errors.Is(err, context.Canceled) },
		OnStateChange: func(_ string, from, to gobreaker.State) {
			switch {
			case from == gobreaker.StateClosed:
				e.log.Warn("redis does not answer as it should: strict limits are decided by their rules for failures until it does")
			case to == gobreaker.StateClosed:
				e.log.Info("redis answers again")
			}
		},
	})
	return e, nil
}

// ask does what is asked, once. It is asked only while the breaker is closed: what it is probed with is no check.
func (e *endpoint) ask(ctx context.Context, script *rueidis.Lua, a *redis.Ask, unix int64) (r redis.Reply, err error) {
	c := e.client.Load()
	if c == nil || e.breaker.State() != gobreaker.StateClosed {
		return r, fmt.Errorf("%w: %s does not answer, and is probed", ErrUnavailable, e.name)
	}
	done, err := e.breaker.Allow()
	if err != nil {
		return r, fmt.Errorf("%w: %s: %w", ErrUnavailable, e.name, err)
	}
	say := func(err error) {
		if a.Hasty && errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errReplicas) {
			err = context.Canceled // it says nothing of the server
		}
		done(err)
	}
	if a.Approximate {
		r, err = count(ctx, *c, a, unix)
		say(err)
		return r, err
	}
	var reply []int64
	if a.Replicas > 0 && (a.Do == redis.Take || a.Do == redis.Debit) {
		reply, err = runReplicated(ctx, *c, a, unix)
	} else {
		reply, err = script.Exec(ctx, *c, []string{a.Key()}, a.AppendArgs(nil, unix)).AsIntSlice()
	}
	if say(err); err != nil {
		return r, err
	}
	return a.Read(reply)
}

// watch connects, and probes the endpoint while it is not asked, until ctx ends.
func (e *endpoint) watch(ctx context.Context) {
	ticks := time.NewTicker(probeAgain)
	defer ticks.Stop()
	for said := false; ; {
		if e.client.Load() == nil {
			if err := e.connect(); err != nil && !said {
				said = true
				e.log.Warn("redis is not reached: strict limits are decided by their rules for failures; it is tried again and again", "error", err)
			} else if err == nil && said {
				e.log.Info("redis is reached")
			}
		} else if e.breaker.State() == gobreaker.StateHalfOpen {
			e.probe(ctx)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}

func (e *endpoint) connect() error {
	c, err := rueidis.NewClient(e.option)
	if err == nil {
		e.client.Store(&c)
	}
	return err
}

// probe asks if the endpoint can decide: that it is there is not enough.
func (e *endpoint) probe(ctx context.Context) {
	done, err := e.breaker.Allow()
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	c := *e.client.Load()
	// It writes, as a replica refuses to, and one without memory.
	done(c.Do(ctx, c.B().Set().Key(redis.ProbeKey).Value("1").Ex(time.Minute).Build()).Error())
}

func (e *endpoint) close() {
	if c := e.client.Load(); c != nil {
		(*c).Close()
	}
}
