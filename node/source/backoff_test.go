package source_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drossel-dev/drossel/node/source"
)

func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b source.Backoff
		wait := func() time.Duration {
			start := time.Now()
			b.Wait(t.Context())
			return time.Since(start)
		}
		for range 3 {
			for _, most := range []time.Duration{100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000} {
				most *= time.Millisecond
				if got := wait(); got < most/2 || got > most {
					t.Errorf("waited %v, want %v to %v", got, most/2, most)
				}
			}
			b.Reset()
		}
	})
}

// Waits differ: a fleet that has lost its source does not ask in step.
func TestBackoffJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := make(map[time.Duration]bool)
		for range 20 {
			var b source.Backoff
			start := time.Now()
			b.Wait(t.Context())
			seen[time.Since(start)] = true
		}
		if len(seen) < 15 {
			t.Errorf("%d different waits of 20", len(seen))
		}
	})
}

func TestBackoffEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		start := time.Now()
		new(source.Backoff).Wait(ctx)
		if waited := time.Since(start); waited != 0 {
			t.Errorf("waited %v though the context had ended", waited)
		}
	})
}
