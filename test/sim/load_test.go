package sim

import (
	"math/rand/v2"
	"sync"
	"time"
)

// source is where checks come from: callers of one node, who do not wait for each other.
type source struct {
	node   int
	random *rand.Rand
	// peak is the most checks per second; rate what it is at a time since the load began, nil for always the peak.
	peak float64
	rate func(time.Duration) float64
	// pick draws whom a check is about.
	pick func(time.Duration) *group
	// cost draws its cost; nil is 1.
	cost func() int64
}

// always picks one group.
func always(g *group) func(time.Duration) *group { return func(time.Duration) *group { return g } }

// bursts is a rate that is zero but in the first part of every period.
func bursts(high float64, part, period time.Duration) func(time.Duration) float64 {
	return func(at time.Duration) float64 {
		if at%period < part {
			return high
		}
		return 0
	}
}

// zipf returns the share of each of n, the first the largest.
func zipf(n int, skew func(rank int) float64) []float64 {
	shares, sum := make([]float64, n), 0.0
	for i := range shares {
		shares[i] = skew(i + 1)
		sum += shares[i]
	}
	for i := range shares {
		shares[i] /= sum
	}
	return shares
}

// pickBy draws an index by shares.
func pickBy(r *rand.Rand, shares []float64) int {
	p := r.Float64()
	for i, s := range shares {
		if p -= s; p < 0 {
			return i
		}
	}
	return len(shares) - 1
}

// arrive calls back for each arrival of a Poisson process, thinned where the rate is below its peak, until the load has
// lasted.
func (c *cluster) arrive(s source, begun time.Time, lasts time.Duration, arrived func(*group, int64)) {
	if s.peak <= 0 {
		return
	}
	for {
		c.sleep(time.Duration(s.random.ExpFloat64() / s.peak * float64(time.Second)))
		at := time.Since(begun)
		if at >= lasts {
			return
		}
		if s.rate != nil && s.random.Float64()*s.peak >= s.rate(at) || c.isSilent(s.node) {
			continue
		}
		g, cost := s.pick(at), int64(1)
		if s.cost != nil {
			cost = s.cost()
		}
		arrived(g, cost)
	}
}

// load is a run of sources, and others who ask for themselves, with what came of it.
func (c *cluster) load(lasts time.Duration, sources []source, others ...func()) *stats {
	st := newStats(c, lasts)
	var running, checks sync.WaitGroup
	for _, s := range sources {
		running.Go(func() {
			c.arrive(s, st.begun, lasts, func(g *group, cost int64) {
				asked := st.asked(s.node, g, cost)
				checks.Go(func() { st.answered(asked, c.check(s.node, g, cost)) })
			})
		})
	}
	for _, f := range others {
		running.Go(f)
	}
	running.Go(func() {
		c.sleep(st.warm)
		warm := c.tap.messages()
		c.sleep(lasts - st.warm)
		st.messages = c.tap.messages().since(warm)
	})
	running.Wait()
	checks.Wait()
	return st
}
