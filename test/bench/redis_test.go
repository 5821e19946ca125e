package bench

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/drossel-dev/drossel/bucket"
)

//go:embed testdata/token_bucket.lua
var tokenBucket string

// redisLimiter is one limit of a token bucket in Redis.
type redisLimiter struct {
	client rueidis.Client
	script *rueidis.Lua
	args   []string
}

func newRedisLimiter(c rueidis.Client, l bucket.Limit) *redisLimiter {
	perSecond := float64(l.Count) / l.Per.Seconds()
	return &redisLimiter{c, rueidis.NewLuaScript(tokenBucket),
		[]string{strconv.FormatFloat(perSecond, 'g', -1, 64), strconv.FormatInt(l.Burst, 10), "1"}}
}

// take asks for one token, with one EVALSHA.
func (r *redisLimiter) take(ctx context.Context, key string) (allowed bool, remaining int64, err error) {
	answer, err := r.script.Exec(ctx, r.client, []string{key}, r.args).AsIntSlice()
	if err != nil {
		return false, 0, fmt.Errorf("key %s: %w", key, err)
	}
	if len(answer) != 2 {
		return false, 0, fmt.Errorf("key %s: redis answered %v, want two numbers", key, answer)
	}
	return answer[0] == 1, answer[1], nil
}

// check makes one check. It fails unless Redis allowed it.
func (r *redisLimiter) check(key string) error {
	allowed, remaining, err := r.take(context.Background(), key)
	if err == nil && !allowed {
		err = fmt.Errorf("key %s: denied with %d left, want it allowed", key, remaining)
	}
	return err
}

// cpu returns the CPU time that this process and the server have used.
func (r *redisLimiter) cpu() (time.Duration, error) {
	sum, err := cpu()
	for _, name := range []string{"used_cpu_user", "used_cpu_sys"} {
		text, failed := redisStat(context.Background(), r.client, "cpu", name)
		used, wrong := time.ParseDuration(text + "s")
		if err = errors.Join(err, failed); err == nil {
			err = wrong
		}
		sum += used
	}
	return sum, err
}

func (r *redisLimiter) contender() contender { return contender{check: r.check, cpu: r.cpu} }
