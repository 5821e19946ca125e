package node

import (
	"context"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/redis"
)

// MemoryStore is a Strict in this process, for playing traffic where there is no Redis: nodes that were given the same one share it. Safe
// for concurrent use.
type MemoryStore struct {
	memory redis.Memory
	clock  Clock
}

// NewMemoryStore returns an empty one that goes by a clock; nil is the machine's.
func NewMemoryStore(c Clock) *MemoryStore { return &MemoryStore{clock: c} }

// Ask does what is asked, at once.
func (m *MemoryStore) Ask(_ context.Context, a *redis.Ask) (redis.Reply, error) {
	now := bucket.Instant(time.Now().UnixNano())
	if m.clock != nil {
		now = m.clock.Now()
	}
	return m.memory.Ask(now, a)
}
