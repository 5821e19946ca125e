package node

import (
	"sync"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/bucket/redis"
	"github.com/drossel-dev/drossel/bucket/table"
)

// denials are what Redis has denied lately: until a denial could be another answer, a second at the most, who asks for as much again is
// denied where he asks. The zero value is ready for use.
type denials struct{ shards [denialShards]denialShard }

type denialShard struct {
	mu   sync.Mutex
	byID map[bucket.ID]*denial
	_    [48]byte // a cache line each
}

// denial is one; it is immutable.
type denial struct {
	group    *table.Group // whose limits were asked; pinned by nobody, and only compared
	cost     int64
	each     []int64
	told     bucket.Decision
	which    int
	at, ends bucket.Instant
}

const (
	denialShards = 64
	denialLife   = bucket.Instant(time.Second)
	// maxDenials bounds those of a shard, 200 bytes each.
	maxDenials = 1024
)

func (ds *denials) shard(id bucket.ID) *denialShard { return &ds.shards[id.Hi%denialShards] }

// learn remembers what was denied to a question that was sent at an instant.
func (ds *denials) learn(pl *plan, q *question, sent bucket.Instant, r redis.Reply) {
	life := denialLife
	if !r.Decision.Never() {
		life = min(life, bucket.Instant(r.Decision.RetryAfter))
	}
	one := &denial{pl.group, q.cost, q.each, r.Decision, r.Which, sent, sent + life}
	s := ds.shard(q.id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID == nil {
		s.byID = make(map[bucket.ID]*denial)
	}
	if _, known := s.byID[q.id]; !known && len(s.byID) >= maxDenials {
		for id, other := range s.byID { // those that are over, and if there are none any
			if delete(s.byID, id); other.ends > sent {
				break
			}
		}
	}
	s.byID[q.id] = one
}

// denies says whether a question is denied by what is remembered.
func (ds *denials) denies(pl *plan, q *question, now bucket.Instant, d *policy.Decision) bool {
	s := ds.shard(q.id)
	s.mu.Lock()
	one := s.byID[q.id]
	s.mu.Unlock()
	if one == nil || one.group != pl.group || now < one.at || now >= one.ends || !one.covers(q) {
		return false
	}
	a, ago := one.told, time.Duration(now-one.at)
	if !a.Never() {
		a.RetryAfter -= ago
	}
	a.ResetAfter = max(0, a.ResetAfter-ago)
	pl.tell(d, a, one.which, policy.Redis, pl.node.name)
	return true
}

// covers says whether a question asks for as much as the one that was denied, at least.
func (one *denial) covers(q *question) bool {
	if len(q.each) == 0 && len(one.each) == 0 {
		return q.cost >= one.cost
	}
	if len(q.each) != len(one.each) {
		return false
	}
	for i, c := range q.each {
		if c < one.each[i] {
			return false
		}
	}
	return true
}
