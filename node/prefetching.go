package node

import (
	"context"
	"sync"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
)

// chunks are what this node has fetched from Redis to decide with by itself. Each may be spent for a moment; Redis does not fill up its room
// meanwhile. What is left then is given back. The zero value is ready for use.
type chunks struct{ shards [chunkShards]chunkShard }

type chunkShard struct {
	mu   sync.Mutex
	byID map[bucket.ID]*chunk
	_    [48]byte // a cache line each
}

type chunk struct {
	plan    *plan
	shard   shard
	left    int64          // of each limit
	ends    bucket.Instant // it must not be spent from then on
	taken   bucket.Instant // when, at Redis
	told    bucket.Decision
	which   int
	fetched chan struct{} // closed when the fetch that is under way is over; nil if none is
}

const (
	chunkShards = 64
	// chunkLife is for how long a chunk is out as Redis sees it, and chunkUse for how long it is spent here: what is left has to come back
	// before it ends there.
	chunkLife     = time.Second
	chunkUse      = 800 * time.Millisecond
	chunkInterval = 50 * time.Millisecond
)

func (cs *chunks) shard(id bucket.ID) *chunkShard { return &cs.shards[id.Hi%chunkShards] }

// spendFetched decides a check with what was fetched. It does not wait.
func (pl *plan) spendFetched(q *question, sh shard, d *policy.Decision) bool {
	s := pl.node.chunks.shard(sh.id)
	s.mu.Lock()
	a, which, ok := s.byID[sh.id].spend(pl, q.cost, pl.node.clock.Now())
	s.mu.Unlock()
	if ok {
		pl.tell(d, a, which, policy.Redis, pl.node.name)
		pl.count(q, true, decidedByChunk)
	}
	return ok
}

// spend takes a cost off a chunk, which may be nil, if it may. The shard is locked.
func (c *chunk) spend(pl *plan, cost int64, now bucket.Instant) (a bucket.Decision, which int, ok bool) {
	if c == nil || c.plan != pl || now >= c.ends || c.left < cost {
		return a, 0, false
	}
	c.left -= cost
	a = c.told
	a.Remaining += c.left
	return a, c.which, true
}

// spend decides a check with what was fetched, or fetches more. It is false if there is not enough, and Redis has to be asked for what the
// check costs; ctx ends when there is no more time for that.
func (pl *plan) spend(ctx context.Context, q *question, sh shard, d *policy.Decision) bool {
	n := pl.node
	s := n.chunks.shard(sh.id)
	for ctx.Err() == nil {
		now := n.clock.Now()
		s.mu.Lock()
		c := s.byID[sh.id]
		if c == nil {
			if s.byID == nil {
				s.byID = make(map[bucket.ID]*chunk)
			}
			c = &chunk{plan: pl, shard: sh}
			s.byID[sh.id] = c
		}
		if a, which, ok := c.spend(pl, q.cost, now); ok {
			s.mu.Unlock()
			pl.tell(d, a, which, policy.Redis, n.name)
			pl.count(q, true, decidedByChunk)
			return true
		}
		wait := c.fetched
		if wait == nil && !pl.worthFetching(q, sh, now) {
			s.mu.Unlock()
			return false
		}
		if wait == nil {
			c.fetched = make(chan struct{})
		}
		s.mu.Unlock()
		if wait == nil {
			return pl.fetch(ctx, q, s, c, sh, d)
		}
		select {
		case <-wait:
		case <-ctx.Done():
		}
	}
	return false
}

// worthFetching says whether Redis has as much, as far as it is known.
func (pl *plan) worthFetching(q *question, sh shard, now bucket.Instant) bool {
	if q.cost >= pl.strictness.Prefetch {
		return false
	}
	_, _, denied := pl.node.denials.find(pl, sh.id, pl.strictness.Prefetch, nil, now)
	return !denied
}

// fetch fetches a chunk, and decides a check with it. What was left of the one before is given back.
func (pl *plan) fetch(ctx context.Context, q *question, s *chunkShard, c *chunk, sh shard, d *policy.Decision) bool {
	n := pl.node
	costs := make([]int64, len(sh.limits))
	for i := range costs {
		costs[i] = pl.strictness.Prefetch
	}
	r, unsure, err := pl.askShard(ctx, q, sh, costs, chunkLife, true)
	n.ops.end(sh.id, unsure) // if it was done nobody spends it
	if err != nil || !r.Decision.Allowed {
		s.fetchedNothing(c)
		return false
	}
	s.mu.Lock()
	old := *c
	c.plan, c.shard, c.left, c.taken, c.told, c.which = pl, sh, pl.strictness.Prefetch-q.cost, r.At, r.Decision, r.Which
	c.ends = r.sent + bucket.Instant(usable(sh.limits, r.At))
	inTime := n.clock.Now() < c.ends
	if !inTime { // all of it is given back
		c.left += q.cost
	}
	a := c.told
	a.Remaining += c.left
	close(c.fetched)
	c.fetched = nil
	s.mu.Unlock()
	if old.left > 0 {
		old.plan.giveChunk(old.shard, old.left, old.taken)
	}
	if inTime {
		pl.tell(d, a, r.Which, policy.Redis, n.name)
		pl.count(q, true, decidedByRedis)
	}
	return inTime
}

func (s *chunkShard) fetchedNothing(c *chunk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(c.fetched)
	c.fetched = nil
}

// usable is for how long what was taken at an instant of Unix time may be spent: not beyond its window.
func usable(limits []bucket.Limit, taken bucket.Instant) time.Duration {
	life := chunkUse
	for i := range limits {
		if l := &limits[i]; l.Algorithm == bucket.FixedWindow || l.Algorithm == bucket.CalendarWindow {
			life = min(life, time.Duration(l.WindowAt(int64(taken)).End-int64(taken)))
		}
	}
	return life
}

func (pl *plan) giveChunk(sh shard, left int64, taken bucket.Instant) {
	costs := make([]int64, len(sh.limits))
	for i := range costs {
		costs[i] = left
	}
	pl.give(sh, costs, taken, chunkLife)
}

// keepChunks gives back what was fetched and not spent, until ctx ends.
func (n *Node) keepChunks(ctx context.Context) {
	ticks := time.NewTicker(chunkInterval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			n.returnChunks(n.clock.Now())
		}
	}
}

// returnChunks gives back chunks that have ended at now.
func (n *Node) returnChunks(now bucket.Instant) {
	for i := range n.chunks.shards {
		s := &n.chunks.shards[i]
		s.mu.Lock()
		for id, c := range s.byID {
			if c.fetched == nil && now >= c.ends {
				delete(s.byID, id)
				if c.left > 0 {
					c.plan.giveChunk(c.shard, c.left, c.taken)
				}
			}
		}
		s.mu.Unlock()
	}
}
