package node

import (
	"sync"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
)

// sampler lets most checks of a key follow the verdict on one of them. It has room for some keys at a time; a key that
// has none is decided each time. Safe for concurrent use.
type sampler struct {
	every int   // one check in how many is decided
	most  int64 // that a check may cost: a burst
	slots [sampleSlots]sampleSlot
}

const (
	sampleSlots = 1024
	// sampleLife is for how long a verdict is followed.
	sampleLife = 100 * time.Millisecond
)

type sampleSlot struct {
	mu       sync.Mutex
	known    bool // there is a verdict
	id       bucket.ID
	verdict  policy.Decision
	at       time.Duration // of the verdict, on the node's timer clock
	followed int           // checks since it
	owed     int64         // the cost of those that were let through
}

func newSampler(p *policy.Policy) *sampler {
	if p.Sample <= 1 {
		return nil
	}
	s := &sampler{every: p.Sample, most: p.Limits[0].Burst}
	for _, l := range p.Limits {
		s.most = min(s.most, l.Burst)
	}
	return s
}

func (s *sampler) slot(id bucket.ID) *sampleSlot { return &s.slots[id.Hi%sampleSlots] }

// follows decides a check by the verdict before it. If it is false the check has to be decided, at the cost of those
// that followed on top of its own: one in ten is charged for ten.
func (s *sampler) follows(pl *plan, q *question, d *policy.Decision) bool {
	if q.look || q.refund {
		return false
	}
	t := s.slot(q.id)
	now := pl.node.elapsed()
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.known || t.id != q.id {
		return false
	}
	if now-t.at > sampleLife || t.followed >= s.every-1 {
		q.owed = max(0, min(t.owed, s.most-q.cost))
		q.cost += q.owed
		t.owed -= q.owed
		t.followed, t.at = 0, now // meanwhile others follow the old one
		return false
	}
	t.followed++
	*d = t.verdict
	d.DecidedBy = policy.Sample
	if d.Allowed {
		t.owed += q.cost
	}
	pl.count(q, d.Allowed, decidedBySample)
	return true
}

// learn takes in the verdict on a check that was to be decided, or why there is none. What was owed and could not be
// paid stays so.
func (s *sampler) learn(pl *plan, q *question, d *policy.Decision, err error) {
	if q.look || q.refund {
		return
	}
	t := s.slot(q.id)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.id != q.id {
		t.known, t.id, t.owed = false, q.id, 0
	}
	if err != nil {
		t.owed += q.owed
		return
	}
	t.known, t.verdict, t.at = true, *d, pl.node.elapsed()
	if !d.Allowed {
		t.owed += q.owed
	}
}
