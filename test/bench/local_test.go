package bench

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// each runs f for every number of keys and goroutines; name says which.
func each(b *testing.B, f func(b *testing.B, name string, l *locals, goroutines int)) {
	for _, keys := range []int{1, 1_000_000} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			l := newLocals(b, keys)
			for _, goroutines := range []int{1, 2} {
				f(b, fmt.Sprintf("goroutines=%d", goroutines), l, goroutines)
			}
		})
	}
}

// BenchmarkCheck times a check that is decided where it is made: the time between two checks of the whole process, so
// with two goroutines half of what a check takes. Both systems take turns for some rounds.
func BenchmarkCheck(b *testing.B) {
	const rounds = 3
	each(b, func(b *testing.B, name string, l *locals, goroutines int) {
		for round := range rounds {
			name := fmt.Sprintf("%s/round=%d/system=", name, round+1)
			b.Run(name+"drossel", func(b *testing.B) { l.count(b, l.drossel, goroutines) })
			b.Run(name+"xtime", func(b *testing.B) { l.count(b, l.xtime, goroutines) })
		}
	})
}

// count makes b.N checks, shared among goroutines.
func (l *locals) count(b *testing.B, system limiter, goroutines int) {
	b.ReportAllocs()
	var denied atomic.Int64
	var running sync.WaitGroup
	for g := range goroutines {
		running.Go(func() {
			o := newOrder(g)
			denied.Add(int64(l.checks(system, &o, (b.N+g)/goroutines)))
		})
	}
	running.Wait()
	if n := denied.Load(); n != 0 {
		b.Fatalf("%d of %d checks were denied, want none", n, b.N)
	}
}

// BenchmarkRatio lets both systems take turns of a twentieth of a second. One operation is a round, a turn of each; of
// the rounds it reports the median time per check, and the median ratio of the times.
func BenchmarkRatio(b *testing.B) {
	each(b, func(b *testing.B, name string, l *locals, goroutines int) {
		b.Run(name, func(b *testing.B) { l.ratio(b, goroutines) })
	})
}

// ratio is BenchmarkRatio for one number of goroutines.
func (l *locals) ratio(b *testing.B, goroutines int) {
	const turn = 50 * time.Millisecond
	orders := make([]order, goroutines) // they go on from turn to turn, lest the first keys be the only ones
	for g := range orders {
		orders[g] = newOrder(g)
	}
	var drossel, xtime, ratio []float64
	for b.Loop() {
		var d, x float64
		if len(ratio)%2 == 0 {
			d = l.turn(b, l.drossel, orders, turn)
			x = l.turn(b, l.xtime, orders, turn)
		} else {
			x = l.turn(b, l.xtime, orders, turn)
			d = l.turn(b, l.drossel, orders, turn)
		}
		drossel, xtime, ratio = append(drossel, d), append(xtime, x), append(ratio, x/d)
	}
	b.ReportMetric(0, "ns/op") // a round takes two turns by design
	b.ReportMetric(median(drossel), "drossel-ns/check")
	b.ReportMetric(median(xtime), "xtime-ns/check")
	b.ReportMetric(median(ratio), "xtime/drossel")
	b.ReportMetric(quantile(ratio, 0.25), "ratio-p25")
	b.ReportMetric(quantile(ratio, 0.75), "ratio-p75")
}

// turn makes checks for about d, in one goroutine for each order, and returns the nanoseconds between two checks of the
// whole process.
func (l *locals) turn(b *testing.B, system limiter, orders []order, d time.Duration) float64 {
	const batch = 256 // checks between two looks at the clock
	var made, denied atomic.Int64
	var running sync.WaitGroup
	begun := time.Now()
	for g := range orders {
		running.Go(func() {
			o, n := orders[g], 0
			for ; time.Since(begun) < d; n += batch {
				denied.Add(int64(l.checks(system, &o, batch)))
			}
			orders[g] = o
			made.Add(int64(n))
		})
	}
	running.Wait()
	took := time.Since(begun)
	if n := denied.Load(); n != 0 {
		b.Fatalf("%d of %d checks were denied, want none", n, made.Load())
	}
	return float64(took) / float64(made.Load())
}

func TestCheckAllocatesNothing(t *testing.T) {
	a := newAlone(t)
	keys := makeKeys(0, 1000)
	for _, k := range keys {
		a.allow(k) // a new key may need room in the table
	}
	ctx, i := context.Background(), 0
	if allocs := testing.AllocsPerRun(10_000, func() {
		d, err := a.handle.Check(ctx, policy.Request{Key: keys[i%len(keys)]})
		if err != nil || !d.Allowed || d.DecidedBy != policy.Owner {
			t.Fatalf("%+v, %v, want it allowed by the owner", d, err)
		}
		i++
	}); allocs != 0 {
		t.Errorf("%v allocations for a check, want none", allocs)
	}
}
