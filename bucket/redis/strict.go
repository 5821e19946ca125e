package redis

import (
	"fmt"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// maxMicros bounds periods, in microseconds, and what the script multiplies: 71 years.
const maxMicros = 1 << 51

// WhyNot says why a valid limit can't be decided by a script in Redis exactly as package bucket decides it: whose clock counts microseconds,
// and whose numbers are exact to 2^53. It is "" if it can.
func WhyNot(l *bucket.Limit) string {
	if l.Burst > maxMicros {
		return fmt.Sprintf("it admits %d at a time, want at most %d", l.Burst, int64(maxMicros))
	}
	switch l.Algorithm {
	case bucket.TokenBucket, bucket.Pacer:
		if l.Burst > 0 && l.Count == 0 {
			return "nothing flows in, so Redis would have to keep it for ever"
		}
		if _, per := perMicro(l); per >= maxMicros {
			return fmt.Sprintf("%d tokens in %v is a ratio of numbers that Redis can't count with: want a rounder rate", l.Count, l.Per)
		}
	case bucket.CalendarWindow:
	default:
		switch {
		case l.Per%time.Microsecond != 0:
			return fmt.Sprintf("a window of %v, and the clock of Redis counts microseconds", l.Per)
		case l.Per/time.Microsecond >= maxMicros:
			return fmt.Sprintf("a window of %v, want less than 71 years", l.Per)
		}
	}
	return ""
}

// perMicro returns how many tokens flow in, and in how many microseconds, in the smallest numbers. It is 0 in 1 if none do.
func perMicro(l *bucket.Limit) (count, per int64) {
	r := l.Reduced()
	if r.Count == 0 {
		return 0, 1
	}
	a, b := int64(time.Microsecond), int64(r.Per)
	for b != 0 {
		a, b = b, a%b
	}
	// r.Count and r.Per have no divisor in common, so only one of the thousand is left. What overflows is no rate that there is.
	scale := int64(time.Microsecond) / a
	if r.Count > maxMicros/scale {
		return maxMicros, maxMicros
	}
	return r.Count * scale, int64(r.Per) / a
}
