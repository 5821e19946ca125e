package bucket

import (
	"math"
	"time"
)

// Window is one period of a limit that counts anew at times that are the same for everybody: on the hour, at midnight, on the
// first of the month. All instants of Unix time, in nanoseconds, belong to exactly one window of a period.
type Window struct {
	// Index says which window it is. A later one has a higher index, wherever it is computed: of days and longer periods
	// it counts on the calendar, so nodes whose time zone tables differ agree on it.
	Index int64
	// Start and End are in nanoseconds of Unix time: Start is the first that belongs to the window, End the first that does
	// not. They are cut to what an int64 holds, the years 1678 to 2262.
	Start, End int64
}

// AlignedWindow returns the window of a fixed period that a time belongs to: those of an hour begin at whole hours of Unix time,
// which are whole hours in UTC. The period is above zero.
func AlignedWindow(unix int64, per time.Duration) Window {
	p := int64(per)
	i := unix / p
	if unix%p < 0 {
		i--
	}
	w := Window{Index: i, Start: math.MinInt64, End: math.MaxInt64}
	if into := unix - i*p; unix >= math.MinInt64+into { // i*p may wrap around, and so may the difference, back to what it is
		w.Start = unix - into
	}
	if left := p - (unix - i*p); unix <= math.MaxInt64-left {
		w.End = unix + left
	}
	return w
}
