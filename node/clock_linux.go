package node

import (
	"time"

	"golang.org/x/sys/unix"
)

// asleep returns how long the machine has slept since it was started, or false if it can't be told now: CLOCK_BOOTTIME
// runs on in suspend, CLOCK_MONOTONIC does not. Neither follows changes of the wall clock.
//
// A thread that is held up between the two readings would take that for sleep, and buckets would fill with it; so the
// one is read before and after the other, and the readings count only if they are close together.
func asleep() (time.Duration, bool) {
	for range 100 {
		var before, all, after unix.Timespec
		if unix.ClockGettime(unix.CLOCK_MONOTONIC, &before) != nil ||
			unix.ClockGettime(unix.CLOCK_BOOTTIME, &all) != nil ||
			unix.ClockGettime(unix.CLOCK_MONOTONIC, &after) != nil {
			return 0, false
		}
		if after.Nano()-before.Nano() < int64(100*time.Microsecond) {
			// Never more than was slept: the later reading is taken off, and whole milliseconds hide the difference.
			return max(time.Duration(all.Nano()-after.Nano()).Truncate(time.Millisecond), 0), true
		}
	}
	return 0, false
}
