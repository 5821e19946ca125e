package node

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/bucket/table"
)

// Keys may have limits of their own, by entries of the limits store that lie with their buckets. Only the owner of a key knows for certain:
// a node that asks it with other limits is told the entry, and asks again with those. What it was told it remembers, so that the next
// checks of the key come with the right limits.

// specials are the entries that this node was told of, for keys that are asked for here. The zero value is ready for use.
type specials struct {
	count  atomic.Int64
	shards [specialShards]specialShard
}

type specialShard struct {
	mu   sync.Mutex
	byID map[bucket.ID]special
	_    [48]byte // a cache line each
}

type special struct {
	text string
	told time.Duration // when, on the node's timer clock
}

const (
	specialShards = 64
	// maxSpecials bounds the keys of a shard that are remembered, 100 bytes each; of others the owner is asked twice.
	maxSpecials = 4096
	// unlimitedFor is for how long a node takes it from an owner that nothing limits a key.
	unlimitedFor = 250 * time.Millisecond
	// maxTurns is how often a check is asked with other limits: more than once only if they change meanwhile.
	maxTurns = 4
)

func (s *specials) shard(id bucket.ID) *specialShard { return &s.shards[id.Hi%specialShards] }

func (s *specials) find(id bucket.ID) (one special, ok bool) {
	sh := s.shard(id)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	one, ok = sh.byID[id]
	return one, ok
}

// learn remembers the text of a key's entry, or that it has none.
func (s *specials) learn(id bucket.ID, text string, now time.Duration) {
	sh := s.shard(id)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	before := len(sh.byID)
	if text == "" {
		delete(sh.byID, id)
	} else {
		if _, known := sh.byID[id]; !known && before >= maxSpecials {
			for other := range sh.byID { // any
				delete(sh.byID, other)
				break
			}
		}
		if sh.byID == nil {
			sh.byID = make(map[bucket.ID]special)
		}
		sh.byID[id] = special{text, now}
	}
	s.count.Add(int64(len(sh.byID) - before))
}

// specialPlans are the plans of a rule by the texts of entries. The zero value is ready for use.
type specialPlans struct {
	mu sync.Mutex
	by map[specialOf]*plan // nil where nothing limits the key
}

// specialOf says what a plan is for: a text, and if the policy makes nothing of that whatever else a request gets.
type specialOf struct {
	text string
	as   *plan
}

// maxSpecialPlans bounds the plans of a rule, about a kilobyte each; others are made anew each time.
const maxSpecialPlans = 1 << 16

func (s *specialPlans) find(text string, as *plan) (pl *plan, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if pl, known = s.by[specialOf{text, nil}]; !known {
		pl, known = s.by[specialOf{text, as}]
	}
	return pl, known
}

// add keeps a plan, unless somebody else has made one meanwhile, and returns the one that is kept.
func (s *specialPlans) add(of specialOf, pl *plan) *plan {
	s.mu.Lock()
	defer s.mu.Unlock()
	if other, known := s.by[of]; known {
		return other
	}
	if s.by == nil {
		s.by = make(map[specialOf]*plan)
	}
	if len(s.by) >= maxSpecialPlans {
		for other := range s.by { // any
			delete(s.by, other)
			break
		}
	}
	s.by[of] = pl
	return pl
}

// special returns the plan of the keys whose entry has a text; nil if nothing limits them. If the policy makes nothing of it, for it has
// changed since, that is the plan that the request would have without. The error says why there can be none.
func (r *rule) special(text string, as *plan) (*plan, error) {
	if pl, known := r.specials.find(text, as); known {
		return pl, nil
	}
	of := specialOf{text, nil}
	p, err := r.policy.Stored(text)
	if err != nil {
		as.node.log.Warn("limits that are stored for keys of a policy don't fit it any more: they have no effect", "policy", r.policy.Name,
			"limits", text, "error", err)
		of, p = specialOf{text, as}, as.policy
	}
	if p == nil {
		return r.specials.add(of, nil), nil
	}
	pl, err := as.node.newPlan(p, r.book.version, as.counts, nil, table.NameOf(text))
	if err != nil {
		return nil, err
	}
	pl.rule = r
	return r.specials.add(of, pl), nil
}

// wasFree decides a check whose owner can't be asked, if this node was told last that nothing limits the key.
func (pl *plan) wasFree(q *question, d *policy.Decision) bool {
	n := pl.node
	if pl.rule == nil || n.specials.count.Load() == 0 {
		return false
	}
	s, ok := n.specials.find(q.id)
	if !ok {
		return false
	}
	if by, err := pl.rule.special(s.text, pl); by != nil || err != nil {
		return false
	}
	pl.free(q, d)
	d.Degraded = true
	return true
}

// free decides a check of a key that nothing limits.
func (pl *plan) free(q *question, d *policy.Decision) {
	*d = policy.Decision{Allowed: true, DecidedBy: policy.Exempt, Policy: pl.name, Node: pl.node.name}
	q.free, q.hold = true, nil
	pl.node.counters.exempt.Add(1)
}

// known returns the plan that a question is to be asked with, as far as this node was told; nil if it is decided already.
func (pl *plan) known(req *policy.Request, q *question, d *policy.Decision) (*plan, error) {
	n := pl.node
	if pl.rule == nil || pl.strict {
		return pl, nil
	}
	s, ok := n.specials.find(q.id)
	if !ok {
		return pl, nil
	}
	by, err := pl.rule.special(s.text, pl)
	if err != nil || by == nil && (n.elapsed()-s.told > unlimitedFor || n.owns(q.part)) {
		return pl, nil // its owner is asked again
	}
	return pl.turnTo(by, req, q, d)
}

func (n *Node) owns(part int) bool {
	v := n.view.Load()
	return v.owner(part) == v.self
}

// told notes that an owner has said which limits a key has.
func (q *question) toldOf(n *Node, text string) {
	q.told, q.entry = true, text
	n.specials.learn(q.id, text, n.elapsed())
	n.counters.otherLimits.Add(1)
}

// turn returns the plan that a question is to be asked with, after its owner has said so; nil if it is decided already.
func (pl *plan) turn(req *policy.Request, q *question, d *policy.Decision) (*plan, error) {
	base := pl
	if q.base != nil {
		base = q.base
	}
	q.told = false
	if q.turns++; base.rule == nil || q.turns > maxTurns {
		base.unreachable(base.node.view.Load(), q, d)
		return nil, nil
	}
	if q.entry == "" {
		return base.turnTo(base, req, q, d)
	}
	by, err := base.rule.special(q.entry, base)
	if err != nil { // no memory for the limits
		base.unreachable(base.node.view.Load(), q, d)
		return nil, nil
	}
	return base.turnTo(by, req, q, d)
}

// turnTo makes a question one for another plan, or decides it if there is none.
func (pl *plan) turnTo(by *plan, req *policy.Request, q *question, d *policy.Decision) (*plan, error) {
	q.base, q.by = pl, by
	if by == nil {
		pl.free(q, d)
		return nil, nil
	}
	q.owed = 0
	if err := by.cost(req, q); err != nil {
		return nil, err
	}
	if q.hold != nil {
		q.hold.costs = by.costsOf(q)
	}
	return by, nil
}

// heed has a question decided by the limits that its owner has said the key has.
func (pl *plan) heed(ctx context.Context, q *question, req *policy.Request, d *policy.Decision) error {
	by, err := pl.turn(req, q, d)
	if by == nil || err != nil {
		return err
	}
	return by.elsewhere(ctx, q, req, d)
}
