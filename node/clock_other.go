//go:build !linux

package node

import "time"

// asleep is not known here: buckets do not refill while the machine sleeps.
func asleep() (time.Duration, bool) { return 0, false }
