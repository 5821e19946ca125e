package pace

import (
	"context"
	"math"
	"testing"
	"time"
)

func TestLast(t *testing.T) {
	tests := []struct {
		name     string
		maxWait  time.Duration
		deadline int // in seconds after start; 0 is none
		want     time.Time
	}{
		{"default", 0, 0, at(10)},
		{"own", time.Minute, 0, at(60)},
		{"never", -1, 0, start},
		{"deadline before", time.Minute, 5, at(5)},
		{"deadline after", time.Minute, 90, at(60)},
	}
	for _, tt := range tests {
		ctx := context.Background()
		if tt.deadline > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, at(tt.deadline))
			defer cancel()
		}
		if got := (&Options{MaxWait: tt.maxWait}).last(ctx, start); !got.Equal(tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestBelieved(t *testing.T) {
	tests := []struct{ most, wait, want time.Duration }{
		{0, time.Minute, time.Minute},
		{0, 0, least},
		{0, math.MaxInt64, time.Hour},
		{time.Minute, math.MaxInt64, time.Minute},
		{24 * time.Hour, 12 * time.Hour, 12 * time.Hour},
		{1, time.Second, least},
	}
	for _, tt := range tests {
		if got := (&Options{MaxClosed: tt.most}).believed(tt.wait); got != tt.want {
			t.Errorf("at most %v: %v is believed as %v, want %v", tt.most, tt.wait, got, tt.want)
		}
	}
}
