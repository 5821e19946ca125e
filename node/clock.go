package node

import (
	"sync/atomic"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// machineClock is the decision clock of a real node: monotonic, and it runs on while the machine sleeps. Go's own
// monotonic time may stand still then, so what was slept is added; watchSleep looks for it.
type machineClock struct {
	base   time.Time
	slept  atomic.Int64                 // ns, since base
	asleep func() (time.Duration, bool) // since the machine was started
	before time.Duration                // of that, until base
}

func newMachineClock() *machineClock {
	c := &machineClock{base: time.Now(), asleep: asleep}
	c.before, _ = asleep()
	return c
}

// Now reads the monotonic clock alone (time.Since does; time.Now reads the wall clock too and takes twice as long).
func (c *machineClock) Now() bucket.Instant {
	return bucket.Instant(int64(time.Since(c.base)) + c.slept.Load())
}

// ahead is by how many nanoseconds Unix time is ahead of the clock, as the wall clock says at this moment.
func (c *machineClock) ahead() int64 {
	before := c.Now()
	wall := time.Now().UnixNano()
	return wall - int64(before+(c.Now()-before)/2)
}

// watchSleep brings the time asleep up to date. The node calls it once a second, so after a sleep buckets look emptier
// than they are for a second at most, never fuller; and twenty times a second while it holds leases, which may have
// ended in the sleep. Of two calls at once the one that saw more counts.
func (c *machineClock) watchSleep() {
	if all, ok := c.asleep(); ok {
		for now := int64(all - c.before); ; {
			old := c.slept.Load()
			if now <= old || c.slept.CompareAndSwap(old, now) {
				return
			}
		}
	}
}
