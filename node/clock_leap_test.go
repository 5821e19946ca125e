package node

import (
	"testing"
	"time"
)

// TestLeapOfTheWallClock: a wall clock that goes on while the monotonic one stands still means that this machine was stopped.
func TestLeapOfTheWallClock(t *testing.T) {
	for _, c := range []struct {
		wall, monotonic time.Duration
		want            bool
	}{
		{10 * time.Millisecond, 10 * time.Millisecond, false},
		{150 * time.Millisecond, 10 * time.Millisecond, false}, // adjusted a little
		{time.Hour, time.Hour, false},                          // both went on: authority has run out by itself
		{time.Hour, 10 * time.Millisecond, true},
		{-time.Hour, 10 * time.Millisecond, false}, // set back: no time has passed unseen
	} {
		if got := leapt(c.wall, c.monotonic); got != c.want {
			t.Errorf("wall %v, monotonic %v: %v, want %v", c.wall, c.monotonic, got, c.want)
		}
	}
}
