package envoy

import (
	"math"
	"time"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// windows are the units of windows, the longest first. Of a month and a year there are two: a span, and what a quota of the calendar says
// that it is.
var windows = []struct {
	length time.Duration
	unit   rls.RateLimitResponse_RateLimit_Unit
	whole  bool // several of them are one window as well
}{
	{366 * day, rls.RateLimitResponse_RateLimit_YEAR, false},
	{365 * day, rls.RateLimitResponse_RateLimit_YEAR, false},
	{31 * day, rls.RateLimitResponse_RateLimit_MONTH, false},
	{30 * day, rls.RateLimitResponse_RateLimit_MONTH, false},
	{7 * day, rls.RateLimitResponse_RateLimit_WEEK, false},
	{day, rls.RateLimitResponse_RateLimit_DAY, true},
	{time.Hour, rls.RateLimitResponse_RateLimit_HOUR, true},
	{time.Minute, rls.RateLimitResponse_RateLimit_MINUTE, true},
	{time.Second, rls.RateLimitResponse_RateLimit_SECOND, true},
}

// unitOf returns the unit of a window, and how many of it the window has; nil of one. A window that is no number of whole seconds has no
// unit: it is UNKNOWN.
func unitOf(window time.Duration) (unit rls.RateLimitResponse_RateLimit_Unit, times *wrapperspb.UInt32Value) {
	for _, w := range windows {
		n := window / w.length
		switch {
		case n == 0 || window%w.length != 0 || n > math.MaxUint32:
		case n == 1:
			return w.unit, nil
		case w.whole:
			return w.unit, wrapperspb.UInt32(uint32(n))
		}
	}
	return rls.RateLimitResponse_RateLimit_UNKNOWN, nil
}
