package strict

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// counts are the calls to one server.
type counts struct {
	calls   atomic.Uint64
	took    atomic.Int64
	latency prometheus.Histogram
	failed  [kinds]atomic.Uint64
}

func (c *counts) add(took time.Duration, err error) {
	if err != nil {
		kind := KindOf(err)
		if c.failed[kind].Add(1); kind == Down {
			return
		}
	}
	c.calls.Add(1)
	c.took.Add(int64(took))
	c.latency.Observe(took.Seconds())
}

func (c *counts) snapshot() Stats {
	s := Stats{Calls: c.calls.Load(), Took: time.Duration(c.took.Load()), Errors: make(map[Kind]uint64)}
	for kind := range kinds {
		if n := c.failed[kind].Load(); n > 0 {
			s.Errors[kind] = n
		}
	}
	return s
}
