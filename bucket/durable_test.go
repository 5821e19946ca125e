package bucket_test

import (
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// TestIsDurable: by its window, or because it says so; and who reads the limit knows it too.
func TestIsDurable(t *testing.T) {
	for _, tt := range []struct {
		limit bucket.Limit
		want  bool
	}{
		{bucket.Limit{Count: 1000, Per: time.Hour, Burst: 1000}, true},
		{bucket.Limit{Count: 1000, Per: time.Hour, Burst: 999}, false},
		{bucket.Limit{Count: 1, Per: time.Second, Burst: 10}, false},
		{bucket.Limit{Count: 1, Per: time.Second, Burst: 10, Durable: true}, true},
		{bucket.Limit{Algorithm: bucket.FixedWindow, Count: 5, Per: time.Hour, Burst: 5}, true},
		{bucket.Limit{Algorithm: bucket.FixedWindow, Count: 5, Per: time.Minute, Burst: 5, Durable: true, Tag: 7, OwnerLoss: bucket.LossEmpty}, true},
		{bucket.Limit{Algorithm: bucket.CalendarWindow, Count: 5, Burst: 5, Calendar: bucket.Month}, true},
		{bucket.Limit{Algorithm: bucket.CalendarWindow, Count: 5, Burst: 5, Calendar: bucket.Minute}, false},
	} {
		if got := tt.limit.IsDurable(); got != tt.want {
			t.Errorf("%+v: %v, want %v", tt.limit, got, tt.want)
		}
		got, rest, err := bucket.ReadLimit(tt.limit.Append(nil))
		if err != nil || len(rest) > 0 || got != tt.limit {
			t.Errorf("%+v is read as %+v, %v", tt.limit, got, err)
		}
	}
}
