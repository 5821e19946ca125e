package node

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/redis"
)

// ops numbers what is asked of Redis, and knows of each group which numbers are still open: those that were not answered yet, and those of
// which nobody knows if they were done and that will be asked for again. The zero value is ready for use.
type ops struct {
	last   atomic.Uint64
	shards [opsShards]opsShard
}

type opsShard struct {
	mu   sync.Mutex
	open map[bucket.ID][]uint64 // rising
	_    [48]byte               // a cache line each
}

const opsShards = 64

func (o *ops) shard(id bucket.ID) *opsShard { return &o.shards[id.Hi%opsShards] }

// begin opens a number.
func (o *ops) begin(id bucket.ID, asker string) redis.Op {
	s := o.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = make(map[bucket.ID][]uint64)
	}
	number := o.last.Add(1) // under the lock, so that those of a group rise
	open := append(s.open[id], number)
	s.open[id] = open
	return redis.Op{Asker: asker, Number: number, Floor: open[0] - 1}
}

// again is a number that is open, to be asked for once more.
func (o *ops) again(id bucket.ID, asker string, number uint64) redis.Op {
	s := o.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	return redis.Op{Asker: asker, Number: number, Floor: s.open[id][0] - 1}
}

// end closes a number; 0 is none.
func (o *ops) end(id bucket.ID, number uint64) {
	if number == 0 {
		return
	}
	s := o.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	open := s.open[id]
	if i := slices.Index(open, number); i >= 0 {
		open = slices.Delete(open, i, i+1)
	}
	if len(open) == 0 {
		delete(s.open, id)
	} else {
		s.open[id] = open
	}
}
