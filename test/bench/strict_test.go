package bench

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/node"
	"github.com/drossel-dev/drossel/node/strict"
)

// strictWays are ways in which Redis decides strict limits.
const strictWays = `
version: 1
policies:
  exact: {key: [user], consistency: strict, limits: [{quota: 1_000_000_000_000/year}]}
  approximate: {key: [user], consistency: strict, strict: {store: approximate}, limits: [{quota: 1_000_000_000_000/year}]}
  prefetch: {key: [user], consistency: strict, strict: {prefetch: 100}, limits: [{quota: 1_000_000_000_000/year}]}
  denied: {key: [user], consistency: strict, limits: [{quota: 1/year}]}
`

// BenchmarkStrict has 64 callers check eight keys each way, and by a plain token bucket in Lua through a bare client, in turns: microseconds
// for each check, all callers together.
func BenchmarkStrict(b *testing.B) {
	client := startRedis(b)
	port, err := redisStat(b.Context(), client, "server", "tcp_port")
	if err != nil {
		b.Fatal(err)
	}
	store, err := strict.Open(strict.Config{URLs: []string{"redis://127.0.0.1:" + port}})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	set, err := policy.Parse("strict.yaml", []byte(strictWays))
	if err != nil {
		b.Fatal(err)
	}
	n, err := node.New(node.Config{Policies: set, Strict: store, Deadline: patience})
	if err != nil {
		b.Fatal(err)
	}
	if err := n.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	defer n.Close()
	type checker struct {
		name  string
		check func(key string) error
	}
	ways := []checker{{"plain-lua", newRedisLimiter(client, ample).check}}
	for _, name := range set.Names() {
		h, err := n.Handle(name)
		if err != nil {
			b.Fatal(err)
		}
		ways = append(ways, checker{name, func(key string) error {
			d, err := h.Check(context.Background(), policy.Request{Key: key})
			if err == nil && (d.DecidedBy != policy.Redis || !d.Allowed && name != "denied") {
				err = fmt.Errorf("%+v", d)
			}
			return err
		}})
	}
	waitFor(b, "redis to be reached", func() bool { return ways[1].check("first") == nil })
	const callers, calls = 64, 50
	took := make([]time.Duration, len(ways))
	var wrong atomic.Pointer[error]
	for b.Loop() {
		for i, w := range ways {
			begun := time.Now()
			var all sync.WaitGroup
			for c := range callers {
				all.Go(func() {
					key := fmt.Sprint("user-", c%8)
					for range calls {
						if err := w.check(key); err != nil {
							wrong.Store(&err)
						}
					}
				})
			}
			all.Wait()
			took[i] += time.Since(begun)
		}
	}
	if err := wrong.Load(); err != nil {
		b.Error(*err)
	}
	b.ReportMetric(0, "ns/op")
	for i, w := range ways {
		b.ReportMetric(float64(took[i].Nanoseconds())/1e3/float64(b.N*callers*calls), w.name+"-µs/check")
	}
}
