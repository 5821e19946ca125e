package node

import (
	"sync"
	"time"

	"github.com/drossel-dev/drossel/bucket"
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

// learn remembers what was denied to a question that was sent at an instant, about one of the groups of a key, or all of them.
func (ds *denials) learn(pl *plan, id bucket.ID, cost int64, each []int64, sent bucket.Instant, told bucket.Decision, which int) {
	life := denialLife
	if !told.Never() {
		life = min(life, bucket.Instant(told.RetryAfter))
	}
	one := &denial{pl.group, cost, each, told, which, sent, sent + life}
	s := ds.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID == nil {
		s.byID = make(map[bucket.ID]*denial)
	}
	was := s.byID[id]
	if was != nil && was.group == pl.group && sent < was.ends && was.covers(cost, each) && !told.Never() {
		return // it denies more
	}
	if was == nil && len(s.byID) >= maxDenials {
		for old, other := range s.byID { // those that are over, and if there are none any
			if delete(s.byID, old); other.ends > sent {
				break
			}
		}
	}
	s.byID[id] = one
}

// find returns what is remembered that denies such costs as well.
func (ds *denials) find(pl *plan, id bucket.ID, cost int64, each []int64, now bucket.Instant) (a bucket.Decision, which int, ok bool) {
	s := ds.shard(id)
	s.mu.Lock()
	one := s.byID[id]
	s.mu.Unlock()
	if one == nil || one.group != pl.group || now < one.at || now >= one.ends || !one.covers(cost, each) {
		return a, 0, false
	}
	a = one.told
	ago := time.Duration(now - one.at)
	if !a.Never() {
		a.RetryAfter -= ago
	}
	a.ResetAfter = max(0, a.ResetAfter-ago)
	return a, one.which, true
}

// covers says whether as much is asked for as was denied, at least.
func (one *denial) covers(cost int64, each []int64) bool {
	if len(each) == 0 && len(one.each) == 0 {
		return cost >= one.cost
	}
	if len(each) != len(one.each) {
		return false
	}
	for i, c := range each {
		if c < one.each[i] {
			return false
		}
	}
	return true
}
