package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// BenchmarkForwardedAgainstRedis lets Drossel with two processes, and Redis with a client and a server, take turns with
// the same callers and keys. One operation is a round, a slice of each; it reports the sums of the slices, and the
// median over the rounds of checks per second by Drossel over those by Redis.
func BenchmarkForwardedAgainstRedis(b *testing.B) {
	limiter := newRedisLimiter(startRedis(b), ample)
	p := newPair(b)
	for _, k := range p.keys {
		if err := limiter.check(k); err != nil {
			b.Fatal(err)
		}
	}
	drossel, redis := p.contender(), limiter.contender()
	for _, callers := range callerCounts {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			drossel.serve(b, callers, p.keys, warmUp)
			redis.serve(b, callers, p.keys, warmUp)
			var ofDrossel, ofRedis served
			var ratio []float64
			for b.Loop() {
				var d, r served
				if len(ratio)%2 == 0 {
					d = drossel.serve(b, callers, p.keys, slice)
					r = redis.serve(b, callers, p.keys, slice)
				} else {
					r = redis.serve(b, callers, p.keys, slice)
					d = drossel.serve(b, callers, p.keys, slice)
				}
				ofDrossel.add(d)
				ofRedis.add(r)
				ratio = append(ratio, d.perSecond()/r.perSecond())
			}
			b.ReportMetric(0, "ns/op") // a round takes two slices by design
			ofDrossel.report(b, "drossel-")
			ofRedis.report(b, "redis-")
			b.ReportMetric(median(ratio), "drossel/redis")
			b.ReportMetric(quantile(ratio, 0.25), "ratio-p25")
			b.ReportMetric(quantile(ratio, 0.75), "ratio-p75")
		})
	}
}

func TestRedisIsATokenBucket(t *testing.T) {
	client := startRedis(t)
	scarce := newRedisLimiter(client, bucket.Limit{Count: 1, Per: time.Hour, Burst: 3})
	for i, want := range []struct {
		allowed   bool
		remaining int64
	}{{true, 2}, {true, 1}, {true, 0}, {false, 0}, {false, 0}} {
		allowed, remaining, err := scarce.take(t.Context(), "scarce")
		if err != nil || allowed != want.allowed || remaining != want.remaining {
			t.Errorf("take %d: %v, %d left, %v, want %v, %d left", i+1, allowed, remaining, err, want.allowed, want.remaining)
		}
	}
	refilled := newRedisLimiter(client, bucket.Limit{Count: 1000, Per: time.Second, Burst: 1})
	if err := refilled.check("refilled"); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "a token to flow in", func() bool {
		allowed, _, err := refilled.take(t.Context(), "refilled")
		return err == nil && allowed
	})
	if _, err := refilled.cpu(); err != nil {
		t.Error(err)
	}
}
