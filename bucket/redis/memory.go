package redis

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// Memory does what the script does, in this process: for playing traffic against strict limits where there is no Redis. It keeps
// all groups, and of each the limits that were asked for last. The zero value is empty. Safe for concurrent use.
type Memory struct {
	mu     sync.Mutex
	groups map[string]*kept
}

// kept is a group of a Memory, and what was done for askers.
type kept struct {
	bucket.Group
	done map[string]*done
	out  []chunk
}

// chunk was taken to be spent until it ends.
type chunk struct {
	ends bucket.Instant
	cost int64
}

// endOf is when a chunk ends, in slots, so that there are few.
func endOf(taken bucket.Instant, life time.Duration) bucket.Instant {
	const slot = bucket.Instant(62500 * time.Microsecond)
	return (taken + bucket.Instant(life.Truncate(time.Microsecond)) + slot - 1) / slot * slot
}

// flowing is the highest of the costs of limits into which something flows all the time.
func (k *kept) flowing(costs []int64) (most int64) {
	for i, c := range costs {
		if k.flows(i) {
			most = max(most, c)
		}
	}
	return most
}

func (k *kept) flows(i int) bool {
	a := k.Limits[i].Algorithm
	return a == bucket.TokenBucket || a == bucket.Pacer
}

// done is up to which number everything was done for an asker, and which numbers above that.
type done struct {
	floor uint64
	above []uint64
}

// Ask does what is asked, at an instant of Unix time. The error is ErrDone.
func (m *Memory) Ask(now bucket.Instant, a *Ask) (r Reply, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.group(a, now)
	r.At = now
	again := a.Op.Asker != "" && (a.Do == Take || a.Do == Debit) && k.isDone(&a.Op)
	if again && a.Do == Take {
		return r, ErrDone
	}
	k.refill(now)
	switch a.Do {
	case Take:
		k.take(now, a, &r)
	case Debit:
		if costs := k.costs(a); !again {
			k.Debit(now, slices.Max(costs), costs)
			k.note(&a.Op)
		}
	case Give:
		k.give(now, a)
	case Refund:
		out := int64(0)
		for _, c := range k.out {
			out += c.cost
		}
		for i, c := range a.Costs {
			if k.flows(i) {
				k.RefundOne(i, c, out)
			} else {
				k.RefundOne(i, c, 0)
			}
		}
		fallthrough
	default:
		r.Decision, r.Which = k.LookEach(now, slices.Max(a.Costs), a.Costs)
	}
	return r, nil
}

func (k *kept) take(now bucket.Instant, a *Ask, r *Reply) {
	r.Decision, r.Which = k.TakeEach(now, slices.Max(a.Costs), a.Costs)
	if !r.Decision.Allowed {
		return
	}
	k.note(&a.Op)
	if most := k.flowing(a.Costs); a.Chunk >= time.Microsecond && most > 0 {
		k.lend(chunk{endOf(now, a.Chunk), most})
	}
}

// costs are those of the limits that are, by tag: what comes back, or is owed, may be by others that are no more.
func (k *kept) costs(a *Ask) []int64 {
	costs := make([]int64, len(k.Limits))
	for i := range k.Limits {
		if j := slices.IndexFunc(a.Limits, func(l bucket.Limit) bool { return l.Tag == k.Limits[i].Tag }); j >= 0 {
			costs[i] = a.Costs[j]
		}
	}
	return costs
}

// group returns the group, to take or look with the limits that are asked for.
func (m *Memory) group(a *Ask, now bucket.Instant) *kept {
	key := a.Key()
	k := m.groups[key]
	if k == nil {
		if m.groups == nil {
			m.groups = make(map[string]*kept)
		}
		k = &kept{Group: bucket.Group{Limits: a.Limits, States: make([]bucket.State, len(a.Limits)), Log: new(bucket.Log)}, done: make(map[string]*done)}
		k.Start(now)
		m.groups[key] = k
	}
	if a.Do != Debit && a.Do != Give && !slices.Equal(k.Limits, a.Limits) {
		from := make([]int, len(a.Limits))
		was := make([]bucket.Limit, len(a.Limits))
		for i, l := range a.Limits {
			from[i] = slices.IndexFunc(k.Limits, func(old bucket.Limit) bool { return old.Tag == l.Tag })
			if was[i] = l; from[i] >= 0 {
				was[i] = k.Limits[from[i]]
			}
		}
		k.Group = k.Rearranged(from, was, make([]bucket.State, len(a.Limits)), now)
		k.Adopt(a.Limits, now)
	}
	return k
}

func (k *kept) isDone(op *Op) bool {
	d := k.done[op.Asker]
	return d != nil && (op.Number <= d.floor || slices.Contains(d.above, op.Number))
}

func (k *kept) note(op *Op) {
	if op.Asker == "" {
		return
	}
	d := k.done[op.Asker]
	if d == nil {
		d = new(done)
		k.done[op.Asker] = d
	}
	d.floor = max(d.floor, op.Floor)
	d.above = slices.DeleteFunc(append(d.above, op.Number), func(n uint64) bool { return n <= d.floor })
}

// refill brings the states to an instant. What flows does not fill up the room that chunks have left which are out.
func (k *kept) refill(now bucket.Instant) {
	slices.SortFunc(k.out, func(a, b chunk) int { return cmp.Compare(a.ends, b.ends) })
	out := int64(0)
	for _, c := range k.out {
		out += c.cost
	}
	refill := func(at bucket.Instant) {
		for i := range k.Limits {
			if k.flows(i) {
				k.RefillOne(i, at, out)
			}
		}
	}
	for len(k.out) > 0 && k.out[0].ends <= now {
		refill(k.out[0].ends)
		out -= k.out[0].cost
		k.out = k.out[1:]
	}
	refill(now)
	for i := range k.Limits {
		if !k.flows(i) {
			k.RefillOne(i, now, 0)
		}
	}
}

// lend notes a chunk.
func (k *kept) lend(c chunk) {
	for i := range k.out {
		if k.out[i].ends == c.ends {
			k.out[i].cost += c.cost
			return
		}
	}
	k.out = append(k.out, c)
}

// returned takes a chunk back, or a part of it; false if it is out no more.
func (k *kept) returned(now, ends bucket.Instant, cost int64) bool {
	for i := range k.out {
		if c := &k.out[i]; c.ends == ends && ends > now && c.cost >= cost {
			c.cost -= cost
			return true
		}
	}
	return false
}

// give gives back what was taken at an instant.
func (k *kept) give(now bucket.Instant, a *Ask) {
	costs := k.costs(a)
	back := a.Chunk >= time.Microsecond && k.returned(now, endOf(a.Taken, a.Chunk), k.flowing(costs))
	for i, c := range costs {
		s := &k.States[i]
		if k.flows(i) && !back {
			continue
		}
		switch l := &k.Limits[i]; l.Algorithm {
		case bucket.FixedWindow, bucket.CalendarWindow:
			if uint64(l.WindowAt(int64(a.Taken)).Index) != s.Frac {
				continue // it has ended since
			}
		case bucket.FirstHitWindow:
			if bucket.Instant(s.Frac) > a.Taken {
				continue
			}
		}
		k.Restore(i, c, a.Taken)
		if k.Limits[i].Algorithm == bucket.FirstHitWindow {
			s.Tokens = min(s.Tokens, k.Limits[i].Burst)
		}
		k.CapOne(i, 0)
	}
}
