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
	slept  atomic.Int64  // ns
	before time.Duration // what the machine had slept at base
}

func newMachineClock() *machineClock {
	return &machineClock{base: time.Now(), before: asleep()}
}

// Now reads the monotonic clock alone (time.Since does; time.Now reads the wall clock too and takes twice as long).
func (c *machineClock) Now() bucket.Instant {
	return bucket.Instant(int64(time.Since(c.base)) + c.slept.Load())
}

// watchSleep brings the time asleep up to date. The node calls it once a second, so after a sleep buckets look emptier
// than they are for a second at most, never fuller.
func (c *machineClock) watchSleep() { c.slept.Store(int64(max(asleep()-c.before, 0))) }
