package bench

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// clients is how many callers there are, each with a connection of its own.
const clients = 64

// contest has systems take turns with the same callers. One operation is a round, a slice of each, in another order each time.
func contest(b *testing.B, systems map[string]contender, names []string, per float64) {
	keys := make([]string, awayKeys)
	for i := range keys {
		keys[i] = fmt.Sprintf("user-%011d", i)
	}
	sums := map[string]*served{}
	ratios := map[string][]float64{}
	for _, name := range names {
		systems[name].serve(b, clients, keys, 4*warmUp)
		sums[name] = new(served)
	}
	round := 0
	for b.Loop() {
		rates := map[string]float64{}
		for i := range names {
			name := names[(i+round)%len(names)]
			s := systems[name].serve(b, clients, keys, slice)
			sums[name].add(s)
			rates[name] = s.perSecond()
		}
		for _, name := range names[1:] {
			ratios[name] = append(ratios[name], rates[names[0]]/rates[name])
		}
		round++
	}
	b.ReportMetric(0, "ns/op") // a round takes as many slices as there are systems, by design
	for _, name := range names {
		s := sums[name]
		within := 0
		for _, l := range s.latencies {
			if l <= 20*time.Millisecond {
				within++
			}
		}
		b.ReportMetric(s.perSecond()*per, name+"-checks/s")
		b.ReportMetric(float64(s.cpu.Microseconds())/float64(s.checks)/per, name+"-cpu-µs/check")
		b.ReportMetric(float64(quantile(s.latencies, 0.5))/1e6, name+"-p50-ms")
		b.ReportMetric(float64(quantile(s.latencies, 0.99))/1e6, name+"-p99-ms")
		b.ReportMetric(100*float64(within)/float64(len(s.latencies)), name+"-%≤20ms")
	}
	for _, name := range names[1:] {
		b.ReportMetric(median(ratios[name]), names[0]+"/"+name)
	}
}

// caller returns a contender that calls with the connection of each caller in turn.
func (c *cluster) contender(call func(ctx context.Context, caller int, key string) error) contender {
	free := make(chan int, len(c.conns))
	for i := range c.conns {
		free <- i
	}
	return contender{
		check: func(key string) error {
			i := <-free
			defer func() { free <- i }()
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			return call(ctx, i, key)
		},
		cpu: c.cpu,
	}
}

const drosselPolicies = `
version: 1
policies:
  bench: {key: [user], limits: [{rate: 1000/s, burst: 1_000_000_000_000}]}
  rls: {when: {domain: bench, descriptor: user}, key: [user], limits: [{rate: 4_000M/h, algorithm: fixed_window}]}
`

const ratelimitConfig = `
domain: bench
descriptors:
  - key: user
    rate_limit: {unit: hour, requests_per_unit: 4000000000}
`

func unaryDrossel(c *cluster) contender {
	return c.contender(func(ctx context.Context, i int, key string) error {
		out, err := invoke(ctx, c.conns[i], "/drossel.v1.RateLimiter/Check", drosselCheck(key))
		if err == nil {
			err = drosselAllows(out)
		}
		return err
	})
}

func unaryGubernator(c *cluster) contender {
	return c.contender(func(ctx context.Context, i int, key string) error {
		out, err := invoke(ctx, c.conns[i], "/pb.gubernator.V1/GetRateLimits", gubernatorBatch([]string{key}))
		if err == nil {
			err = gubernatorAllowsAll(out, 1)
		}
		return err
	})
}

func unaryPing(c *cluster) contender {
	return c.contender(func(ctx context.Context, i int, _ string) error {
		_, err := invoke(ctx, c.conns[i], "/grpc.health.v1.Health/Check", nil)
		return err
	})
}

func askEnvoy(c *cluster) contender {
	return c.contender(func(ctx context.Context, i int, key string) error {
		out, err := invoke(ctx, c.conns[i], "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit", envoyRequest(key))
		if err == nil {
			err = envoyAllows(out)
		}
		return err
	})
}

// BenchmarkUnary: one check a call. The ping is a call of gRPC that does nothing.
func BenchmarkUnary(b *testing.B) {
	systems := map[string]contender{
		"drossel": unaryDrossel(startDrossel(b, clients, drosselPolicies)), "ping": unaryPing(startPing(b, clients)),
	}
	names := []string{"drossel", "ping"}
	if *others {
		systems["gubernator"], names = unaryGubernator(startGubernator(b, clients)), append(names, "gubernator")
	}
	contest(b, systems, names, 1)
}

// batch is how many checks a call of BenchmarkBatch has.
const batch = 100

// batchOf returns keys that begin with one.
func batchOf(key string) []string {
	keys := make([]string, batch)
	var n int
	fmt.Sscanf(key, "user-%d", &n)
	for i := range keys {
		keys[i] = fmt.Sprintf("user-%011d", (n+i*37)%awayKeys)
	}
	return keys
}

// BenchmarkBatch: a hundred checks a call.
func BenchmarkBatch(b *testing.B) {
	drossel := startDrossel(b, clients, drosselPolicies)
	systems := map[string]contender{"drossel": drossel.contender(func(ctx context.Context, i int, key string) error {
		out, err := invoke(ctx, drossel.conns[i], "/drossel.v1.RateLimiter/CheckBatch", drosselBatch(batchOf(key)))
		if err == nil {
			err = drosselAllowsAll(out, batch)
		}
		return err
	})}
	names := []string{"drossel"}
	if *others {
		g := startGubernator(b, clients)
		systems["gubernator"], names = g.contender(func(ctx context.Context, i int, key string) error {
			out, err := invoke(ctx, g.conns[i], "/pb.gubernator.V1/GetRateLimits", gubernatorBatch(batchOf(key)))
			if err == nil {
				err = gubernatorAllowsAll(out, batch)
			}
			return err
		}), append(names, "gubernator")
	}
	contest(b, systems, names, batch)
}

// BenchmarkEnvoyAtEase is BenchmarkEnvoy at a rate that leaves the cores time: each caller asks 20 times a second. The ping shows what of a
// latency is the machine's.
func BenchmarkEnvoyAtEase(b *testing.B) {
	drossel, ping := askEnvoy(startDrossel(b, clients, drosselPolicies)), unaryPing(startPing(b, clients))
	drossel.every, ping.every = time.Second/20, time.Second/20
	systems := map[string]contender{"drossel": drossel, "ping": ping}
	names := []string{"drossel", "ping"}
	if *others {
		ratelimit := askEnvoy(startRatelimit(b, clients, ratelimitConfig))
		ratelimit.every = drossel.every
		systems["ratelimit"], names = ratelimit, append(names, "ratelimit")
	}
	contest(b, systems, names, 1)
}

// BenchmarkEnvoy: what Envoy asks, of one descriptor. envoyproxy/ratelimit is one process and its Redis.
func BenchmarkEnvoy(b *testing.B) {
	systems := map[string]contender{"drossel": askEnvoy(startDrossel(b, clients, drosselPolicies))}
	names := []string{"drossel"}
	if *others {
		systems["ratelimit"], names = askEnvoy(startRatelimit(b, clients, ratelimitConfig)), append(names, "ratelimit")
	}
	contest(b, systems, names, 1)
}
