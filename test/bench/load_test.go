package bench

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// contender is a system that decides in another process.
type contender struct {
	// check makes one check. It fails unless the other process allowed it.
	check func(key string) error
	// cpu returns the CPU time that all processes of the system have used.
	cpu func() (time.Duration, error)
	// every, if not 0, is how often a caller checks: no faster, and each check's latency is taken.
	every time.Duration
}

// sampled is how many checks there are to one whose latency is taken: looking at the clock costs something.
const sampled = 8

// served is what callers got.
type served struct {
	checks    int
	took, cpu time.Duration
	latencies []time.Duration // of every sampled-th check of a caller
}

// serve lets callers check keys for d, each the next as soon as it has its answer.
func (c contender) serve(b *testing.B, callers int, keys []string, d time.Duration) served {
	b.Helper()
	before, err := c.cpu()
	if err != nil {
		b.Fatal(err)
	}
	var stop atomic.Bool
	var mu sync.Mutex // sum and failed
	var sum served
	var failed error
	var running sync.WaitGroup
	begun := time.Now()
	timer := time.AfterFunc(d, func() { stop.Store(true) })
	defer timer.Stop()
	for caller := range callers {
		running.Go(func() {
			s, err := c.call(keys, newOrder(caller), &stop)
			if err != nil {
				stop.Store(true)
			}
			mu.Lock()
			defer mu.Unlock()
			sum.add(s)
			failed = errors.Join(failed, err)
		})
	}
	running.Wait()
	sum.took = time.Since(begun)
	if failed != nil {
		b.Fatal(failed)
	}
	after, err := c.cpu()
	if err != nil {
		b.Fatal(err)
	}
	sum.cpu = after - before
	return sum
}

// call is what one caller does. It makes at least one check.
func (c contender) call(keys []string, o order, stop *atomic.Bool) (s served, err error) {
	var turn <-chan time.Time
	if c.every > 0 {
		<-time.After(rand.N(c.every)) // callers do not come all at once
		ticks := time.NewTicker(c.every)
		defer ticks.Stop()
		turn = ticks.C
	}
	for {
		key := keys[o.next(len(keys))]
		if turn != nil {
			<-turn
		}
		if turn != nil || s.checks%sampled == 0 {
			begun := time.Now()
			err = c.check(key)
			s.latencies = append(s.latencies, time.Since(begun))
		} else {
			err = c.check(key)
		}
		if err != nil {
			return s, err
		}
		s.checks++
		if stop.Load() {
			return s, nil
		}
	}
}

func (s *served) add(o served) {
	s.checks += o.checks
	s.took += o.took
	s.cpu += o.cpu
	s.latencies = append(s.latencies, o.latencies...)
}

func (s *served) perSecond() float64 { return float64(s.checks) / s.took.Seconds() }

// report adds the figures to the benchmark's, each unit with the prefix.
func (s *served) report(b *testing.B, prefix string) {
	micros := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
	b.ReportMetric(s.perSecond(), prefix+"checks/s")
	b.ReportMetric(micros(s.cpu)/float64(s.checks), prefix+"cpu-µs/check")
	b.ReportMetric(micros(quantile(s.latencies, 0.5)), prefix+"p50-µs")
	b.ReportMetric(micros(quantile(s.latencies, 0.99)), prefix+"p99-µs")
}
