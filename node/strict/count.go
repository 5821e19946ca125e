package strict

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/redis/rueidis"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/redis"
)

// count does what is asked by counters in place of the script. What is denied is taken off again, and counts until then.
func count(ctx context.Context, c rueidis.Client, a *redis.Ask, unix int64) (r redis.Reply, err error) {
	if a.Do == redis.Give {
		_, err := add(ctx, c, a.Counters(int64(a.Taken)), -1)
		return redis.Reply{At: bucket.Instant(unix)}, err
	}
	counters := a.Counters(unix)
	var counts []int64
	if a.Do == redis.Look {
		counts, err = get(ctx, c, counters)
	} else {
		counts, err = add(ctx, c, counters, 1)
		for i := range counts {
			counts[i] -= counters[i].Cost
		}
	}
	if err != nil {
		return r, err
	}
	r, err = a.Counted(unix, counts)
	if a.Do == redis.Take && err == nil && !r.Decision.Allowed {
		_, err = add(ctx, c, counters, -1)
	}
	return r, err
}

// add adds the costs, so many times, and returns what the counters are then.
func add(ctx context.Context, c rueidis.Client, counters []redis.Counter, times int64) ([]int64, error) {
	var commands rueidis.Commands
	for _, k := range counters {
		commands = append(commands, c.B().Incrby().Key(k.Key).Increment(times*k.Cost).Build(),
			c.B().Pexpire().Key(k.Key).Milliseconds(int64(k.Life/time.Millisecond)+1).Build())
	}
	counts := make([]int64, len(counters))
	for i, reply := range c.DoMulti(ctx, commands...) {
		n, err := reply.AsInt64()
		if err != nil {
			return nil, err
		}
		if i%2 == 0 {
			counts[i/2] = n
		}
	}
	return counts, nil
}

func get(ctx context.Context, c rueidis.Client, counters []redis.Counter) ([]int64, error) {
	var commands rueidis.Commands
	for _, k := range counters {
		commands = append(commands, c.B().Get().Key(k.Key).Build())
	}
	counts := make([]int64, len(counters))
	for i, reply := range c.DoMulti(ctx, commands...) {
		n, err := reply.AsInt64()
		if err != nil && !rueidis.IsRedisNil(err) {
			return nil, err
		}
		counts[i] = n
	}
	return counts, nil
}

// errReplicas is the error about what too few replicas have heard of.
var errReplicas = errors.New("too few replicas have heard of it in time")

var scriptName = func() string {
	sum := sha1.Sum([]byte(redis.Script))
	return hex.EncodeToString(sum[:])
}()

// runReplicated has the script run, and waits until replicas have heard of it, on a connection of its own: others would wait with it.
func runReplicated(ctx context.Context, c rueidis.Client, a *redis.Ask, unix int64) (reply []int64, err error) {
	patience := time.Second
	if at, ok := ctx.Deadline(); ok {
		patience = time.Until(at)
	}
	key, args := a.Key(), a.AppendArgs(nil, unix)
	err = c.Dedicated(func(d rueidis.DedicatedClient) error {
		wait := func() rueidis.Completed {
			return d.B().Wait().Numreplicas(int64(a.Replicas)).Timeout(max(1, int64(patience/time.Millisecond))).Build()
		}
		all := d.DoMulti(ctx, d.B().Evalsha().Sha1(scriptName).Numkeys(1).Key(key).Arg(args...).Build(), wait())
		if said, ok := rueidis.IsRedisErr(all[0].Error()); ok && said.IsNoScript() {
			all = d.DoMulti(ctx, d.B().Eval().Script(redis.Script).Numkeys(1).Key(key).Arg(args...).Build(), wait())
		}
		if reply, err = all[0].AsIntSlice(); err != nil {
			return err
		}
		heard, err := all[1].AsInt64()
		if err == nil && heard < int64(a.Replicas) {
			return fmt.Errorf("%w: %d of %d", errReplicas, heard, a.Replicas)
		}
		return err
	})
	return reply, err
}
