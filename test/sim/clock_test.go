package sim

import (
	"sync"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// clock is the decision clock of one node: the virtual time since the run began, some millionths faster or slower, from
// a beginning of its own. It can stand still, as it does for a process that is stopped.
type clock struct {
	began  time.Time
	offset bucket.Instant
	ppm    int64 // -10,000 to 10,000: ±1 %

	mu      sync.Mutex
	stopped bool
	at      bucket.Instant
}

// Now implements node.Clock.
func (c *clock) Now() bucket.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return c.at
	}
	return c.running()
}

// running is exact for runs of up to ten days.
func (c *clock) running() bucket.Instant {
	elapsed := int64(time.Since(c.began))
	return c.offset + bucket.Instant(elapsed+elapsed*c.ppm/1_000_000)
}

func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stopped {
		c.stopped, c.at = true, c.running()
	}
}

// resume has the clock jump to where it would be.
func (c *clock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = false
}

func (c *clock) isStopped() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopped
}
