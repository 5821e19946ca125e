package source

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	minWait = 100 * time.Millisecond
	maxWait = 5 * time.Second
)

// Backoff spaces the tries of what fails: 100 ms after the first, twice as long after each that follows, at most 5 s. Each
// wait is cut by up to half, at random, so that a fleet that lost a server together does not come back to it together.
// The zero value is ready. Not safe for concurrent use.
type Backoff struct {
	next time.Duration // 0: minWait
}

// Wait waits until it is time for the next try, or until ctx ends.
func (b *Backoff) Wait(ctx context.Context) {
	wait := max(b.next, minWait)
	b.next = min(2*wait, maxWait)
	timer := time.NewTimer(wait/2 + rand.N(wait/2))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Reset begins anew: a try went well.
func (b *Backoff) Reset() { b.next = 0 }
