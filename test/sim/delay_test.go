package sim

import (
	"math/rand/v2"
	"sync"
	"time"
)

// delays draws how long frames take, each way from numbers of its own.
type delays struct {
	seed    uint64
	oneWay  func(*rand.Rand) time.Duration
	mu      sync.Mutex
	randoms map[way]*rand.Rand
}

func (d *delays) delay(from, to string) time.Duration {
	w := way{from, to}
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.randoms[w]
	if r == nil {
		if d.randoms == nil {
			d.randoms = make(map[way]*rand.Rand)
		}
		r = draw(d.seed, "delay", w)
		d.randoms[w] = r
	}
	return d.oneWay(r)
}

// steadyDelay is that of a network whose round trips differ by 5 % at the most.
func steadyDelay(roundTrip time.Duration, seed uint64) func(from, to string) time.Duration {
	d := &delays{seed: seed, oneWay: func(r *rand.Rand) time.Duration {
		return time.Duration(float64(roundTrip) / 2 * (0.95 + 0.1*r.Float64()))
	}}
	return d.delay
}

// roughDelay is that of a network which mostly takes one time and now and then a much longer one.
func roughDelay(usual, longest time.Duration, longer float64, seed uint64) func(from, to string) time.Duration {
	d := &delays{seed: seed, oneWay: func(r *rand.Rand) time.Duration {
		if r.Float64() < longer {
			return time.Duration(r.Int64N(int64(longest) + 1))
		}
		return time.Duration(float64(usual) * (0.5 + r.Float64()))
	}}
	return d.delay
}
