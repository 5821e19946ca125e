package node

import (
	"math"
	"math/bits"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/bucket/table"
)

// shares are the parts that this node has had of a policy's limits, by its rank. They are kept, and pinned, until the
// number of nodes is another: few of them differ, for what bursts are rounded by is one token at most. The zero shares
// is ready for use, and safe for concurrent use.
type shares struct {
	mu     sync.Mutex
	byRank []*table.Group // as many as there are nodes; nil where not asked for yet
}

// share returns what the node of a rank gets of the limits that have shares; the caller releases it.
func (pl *plan) share(nodes, rank int) (*table.Group, error) {
	if pl.inline { // gone after this check
		return pl.divide(nodes, rank)
	}
	s := pl.shares
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.byRank) != nodes {
		s.releaseLocked()
		s.byRank = make([]*table.Group, nodes)
	}
	g := s.byRank[rank]
	if g == nil {
		var err error
		if g, err = pl.divide(nodes, rank); err != nil {
			return nil, err
		}
		s.byRank[rank] = g
	}
	g.Pin()
	return g, nil
}

func (s *shares) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.releaseLocked()
}

func (s *shares) releaseLocked() {
	for _, g := range s.byRank {
		if g != nil {
			g.Release()
		}
	}
	s.byRank = nil
}

func (pl *plan) divide(nodes, rank int) (*table.Group, error) {
	var room [policy.MaxLimits]bucket.Limit
	limits := room[:pl.rules.locals]
	for i := range limits {
		limits[i] = part(pl.group.Limits()[pl.rules.local[i]], nodes, rank)
	}
	return pl.node.limits.InternAs(limits, pl.version)
}

// part returns what the node of a rank gets of a limit: of N, the N-th part of the rate, and of what is admitted at a time whole
// tokens that sum up to it over all ranks. A pacer paces at each node; one request may go at once at each of them.
func part(l bucket.Limit, nodes, rank int) bucket.Limit {
	share := func(n int64) int64 {
		upTo := func(rank int) int64 {
			hi, lo := bits.Mul64(uint64(n), uint64(rank))
			q, _ := bits.Div64(hi, lo, uint64(nodes)) // rank <= nodes, so the quotient is at most n
			return int64(q)
		}
		return upTo(rank+1) - upTo(rank)
	}
	l.OwnerLoss = bucket.LossReplica
	l.Burst = share(l.Burst)
	switch {
	case l.Algorithm == bucket.CalendarWindow:
		l.Count = min(share(l.Count), l.Burst)
	case l.Algorithm != bucket.TokenBucket && l.Algorithm != bucket.Pacer:
		l.Count = l.Burst
	case l.Per > math.MaxInt64/time.Duration(nodes): // one token in more than 292 years
		l.Count, l.Per, l.MaxWait = 0, 0, 0
	default:
		l.Per *= time.Duration(nodes)
	}
	return l
}

// rankOf returns how many nodes share a key, and this node's place among them, which differs from key to key so that the
// remainders of bursts are spread.
func (v *view) rankOf(id bucket.ID) (nodes, rank int) {
	members := v.members
	if v.rank == outside {
		return len(members) + 1, len(members)
	}
	var room [128]byte
	key := id.Bytes()
	text := append(room[:0], key[:]...)
	weight := func(i int) uint64 {
		text = append(text[:len(key)], members[i]...)
		return xxhash.Sum64(text)
	}
	own := weight(v.rank)
	for i := range members {
		if w := weight(i); w < own || w == own && i < v.rank {
			rank++
		}
	}
	return len(members), rank
}
