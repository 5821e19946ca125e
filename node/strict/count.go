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
	if a.Do == redis.Refund { // of which window nobody knows
		return r, fmt.Errorf("%w: counters give nothing back", redis.ErrNotDone)
	}
	counters := a.Counters(unix)
	var counts []int64
	if a.Do == redis.Look || a.Do == redis.Take && isNever(a) {
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
	if a.Do == redis.Take && err == nil && !r.Decision.Allowed && !isNever(a) {
		takeOff(c, counters)
	}
	return r, err
}

// isNever says whether more is asked for than there ever is, which must not be counted for a moment.
func isNever(a *redis.Ask) bool {
	for i, cost := range a.Costs {
		if cost > a.Limits[i].Burst {
			return true
		}
	}
	return false
}

// takeOff takes off what was denied. It is tried once: twice would let too much through.
func takeOff(c rueidis.Client, counters []redis.Counter) {
	ctx, done := context.WithTimeout(context.Background(), time.Second)
	defer done()
	add(ctx, c, counters, -1)
}

// errPartly is the error about counters of which some were added to.
var errPartly = errors.New("some counters have it, others have not")

// add adds the costs, so many times, and returns what the counters are then. Each has an end before it has a count.
func add(ctx context.Context, c rueidis.Client, counters []redis.Counter, times int64) ([]int64, error) {
	var commands rueidis.Commands
	for _, k := range counters {
		commands = append(commands, c.B().Set().Key(k.Key).Value("0").Nx().PxMilliseconds(int64(k.Life/time.Millisecond)+1).Build(),
			c.B().Incrby().Key(k.Key).Increment(times*k.Cost).Build())
	}
	counts := make([]int64, len(counters))
	added := false
	var failed error
	for i, reply := range c.DoMulti(ctx, commands...) {
		if i%2 == 0 {
			if err := reply.Error(); err != nil && !rueidis.IsRedisNil(err) && failed == nil {
				failed = err
			}
			continue
		}
		n, err := reply.AsInt64()
		if err != nil && failed == nil {
			failed = err
		}
		counts[i/2], added = n, added || err == nil
	}
	if failed != nil && added {
		return nil, fmt.Errorf("%w: %w", errPartly, failed)
	}
	return counts, failed
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
	for range 2 {
		err = c.Dedicated(func(d rueidis.DedicatedClient) (err error) {
			reply, err = replicated(ctx, d, a, unix)
			return err
		})
		if err == nil || KindOf(err) != Cluster {
			break
		}
		// The slot is elsewhere, so nothing was done. A command that is no part of this finds out where.
		c.Do(ctx, c.B().Exists().Key(a.Key()).Build())
	}
	return reply, err
}

func replicated(ctx context.Context, d rueidis.DedicatedClient, a *redis.Ask, unix int64) ([]int64, error) {
	key, args := a.Key(), a.AppendArgs(nil, unix)
	reply, err := d.Do(ctx, d.B().Evalsha().Sha1(scriptName).Numkeys(1).Key(key).Arg(args...).Build()).AsIntSlice()
	if said, ok := rueidis.IsRedisErr(err); ok && said.IsNoScript() {
		reply, err = d.Do(ctx, d.B().Eval().Script(redis.Script).Numkeys(1).Key(key).Arg(args...).Build()).AsIntSlice()
	}
	if err != nil {
		return nil, err
	}
	patience := time.Second
	if at, ok := ctx.Deadline(); ok { // a little less, so that what is known by then is told in time
		patience = time.Until(at) - waitMargin
	}
	waiting, done := context.WithTimeout(ctx, patience)
	defer done()
	heard, err := d.Do(waiting, d.B().Wait().Numreplicas(int64(a.Replicas)).Timeout(max(1, int64(patience/time.Millisecond))).Build()).AsInt64()
	if err != nil || heard < int64(a.Replicas) { // Redis says so late, if nothing else happens there
		return nil, fmt.Errorf("%w: %d of %d", errReplicas, heard, a.Replicas)
	}
	return reply, nil
}

const waitMargin = time.Millisecond
