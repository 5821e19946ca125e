package node

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"github.com/drossel-dev/drossel/bucket"
)

// shard is one of the groups in Redis that a key has: it has one, or as many as its policy says, among which what the limits admit is
// divided.
type shard struct {
	id     bucket.ID
	limits []bucket.Limit
}

// sharded divides the limits of a plan among n groups.
func sharded(limits []bucket.Limit, n int) (all [][]bucket.Limit) {
	for i := range n {
		one := make([]bucket.Limit, len(limits))
		for j := range limits {
			one[j] = part(limits[j], n, i)
		}
		all = append(all, one)
	}
	return all
}

// shard returns group i of a key. Each has an id of its own, and so a place of its own in a cluster.
func (pl *plan) shard(q *question, i int) shard {
	if len(pl.shards) == 0 {
		return shard{q.id, pl.group.Limits()}
	}
	var b [24]byte
	id := q.id.Bytes()
	n := copy(b[:], id[:])
	binary.LittleEndian.PutUint32(b[n:], uint32(i))
	lo := xxhash.Sum64(b[:])
	b[23] = 1
	return shard{bucket.ID{Hi: xxhash.Sum64(b[:]), Lo: lo}, pl.shards[i]}
}

// shardSum is what several groups of a key have said. The zero value is nothing.
type shardSum struct {
	told  bucket.Decision
	which int
	some  bool
	sent  bucket.Instant // the first question
}

// add adds what one has denied, or has shown: what is left adds up, and the first that admits as much says when.
func (s *shardSum) add(r asked) {
	a := r.Decision
	if !s.some {
		s.told, s.which, s.some, s.sent = a, r.Which, true, r.sent
		return
	}
	s.sent = min(s.sent, r.sent)
	left := s.told.Remaining + a.Remaining
	reset := max(s.told.ResetAfter, a.ResetAfter)
	if better := a.Allowed && !s.told.Allowed || a.Allowed == s.told.Allowed && !a.Never() && (s.told.Never() || a.RetryAfter < s.told.RetryAfter); better {
		s.told, s.which = a, r.Which
	}
	s.told.Remaining, s.told.ResetAfter = left, reset
}

// with returns what one that admits has said, with what is left in the others: of those that were not asked as much as in this one.
func (s *shardSum) with(pl *plan, r asked) bucket.Decision {
	a := r.Decision
	if n := int64(len(pl.shards)); n > 1 {
		a.Remaining = min(a.Remaining*n, pl.spoken[r.Which].capacity)
	}
	return a
}
