package envoy

import (
	"testing"
	"time"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/drossel-dev/drossel/bucket"
)

func TestUnitOf(t *testing.T) {
	month := bucket.Limit{Algorithm: bucket.CalendarWindow, Calendar: bucket.Month}.Window()
	year := bucket.Limit{Algorithm: bucket.CalendarWindow, Calendar: bucket.Year}.Window()
	for _, tt := range []struct {
		window time.Duration
		unit   string
		times  uint32 // 0 if it is not said
	}{
		{0, "UNKNOWN", 0},
		{250 * time.Millisecond, "UNKNOWN", 0},
		{1500 * time.Millisecond, "UNKNOWN", 0},
		{time.Second, "SECOND", 0},
		{30 * time.Second, "SECOND", 30},
		{time.Minute, "MINUTE", 0},
		{90 * time.Second, "SECOND", 90},
		{time.Hour, "HOUR", 0},
		{2 * time.Hour, "HOUR", 2},
		{day, "DAY", 0},
		{7 * day, "WEEK", 0},
		{14 * day, "DAY", 14},
		{30 * day, "MONTH", 0},
		{month, "MONTH", 0},
		{60 * day, "DAY", 60},
		{365 * day, "YEAR", 0},
		{year, "YEAR", 0},
		{1<<63 - 1, "UNKNOWN", 0},
		{200*365*day + time.Second, "UNKNOWN", 0}, // more seconds than the field holds
	} {
		unit, times := unitOf(tt.window)
		if unit.String() != tt.unit || times.GetValue() != tt.times || (times == nil) != (tt.times == 0) {
			t.Errorf("%v: %v of %v, want %d of %s", tt.window, times, unit, tt.times, tt.unit)
		}
	}
	for _, w := range windows {
		if unit, _ := unitOf(w.length); unit != w.unit || unit == rls.RateLimitResponse_RateLimit_UNKNOWN {
			t.Errorf("%v is %v, want %v", w.length, unit, w.unit)
		}
	}
}
