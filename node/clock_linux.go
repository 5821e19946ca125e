package node

import (
	"time"

	"golang.org/x/sys/unix"
)

// asleep returns how long the machine has slept since it was started: CLOCK_BOOTTIME runs on in suspend,
// CLOCK_MONOTONIC does not. Neither follows changes of the wall clock.
func asleep() time.Duration {
	var all, awake unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &awake) != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &all) != nil {
		return 0
	}
	// The two readings are a few hundred nanoseconds apart; whole milliseconds hide that.
	return time.Duration(all.Nano() - awake.Nano()).Truncate(time.Millisecond)
}
