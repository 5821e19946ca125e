package strict_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/redis"
)

// BenchmarkDecide compares decisions for 64 callers with the same script and arguments through a bare client, in turns.
func BenchmarkDecide(b *testing.B) {
	s := newServer(b).start()
	bare := s.admin()
	c := open(b, s.url())
	limits, costs := []bucket.Limit{{Count: 1000, Per: time.Second, Burst: 1 << 40, Tag: 1}}, []int64{1}
	var number atomic.Uint64
	take := func(key uint64) *redis.Ask {
		n := number.Add(1)
		return &redis.Ask{Do: redis.Take, Policy: "api", ID: idOf(key), Limits: limits, Costs: costs, Op: redis.Op{Asker: "n1", Number: n, Floor: n - 1}}
	}
	script := rueidis.NewLuaScript(redis.Script)
	answered(b, c, 0, redis.Look, 0)
	ctx := context.Background()
	ways := []func(key uint64) error{
		func(key uint64) error {
			_, err := c.Ask(ctx, take(key))
			return err
		},
		func(key uint64) error {
			a := take(key)
			_, err := script.Exec(ctx, bare, []string{a.Key()}, a.AppendArgs(nil, 0)).AsIntSlice()
			return err
		},
	}
	const callers, calls = 64, 100
	var took [2]time.Duration
	var failed atomic.Int64
	for b.Loop() {
		for i, way := range ways {
			begun := time.Now()
			var all sync.WaitGroup
			for caller := range uint64(callers) {
				all.Go(func() {
					for range calls {
						if way(caller) != nil {
							failed.Add(1)
						}
					}
				})
			}
			all.Wait()
			took[i] += time.Since(begun)
		}
	}
	if failed.Load() > 0 {
		b.Errorf("%d calls failed", failed.Load())
	}
	for i, unit := range []string{"µs/decision", "µs/script"} {
		b.ReportMetric(float64(took[i].Microseconds())/float64(b.N*callers*calls), unit)
	}
	b.ReportMetric(float64(took[1])/float64(took[0]), "of-script/s")
}
