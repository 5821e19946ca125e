package table

import (
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// room returns the slab for groups of that many states with room for one more slot, or false. It grows the slab while
// the memory bound allows, then looks for full groups to remove, then fills it denser than it otherwise would.
func (t *Table) room(p *partition, states int, now bucket.Instant) (*slab, bool) {
	s := p.slab(states)
	if s == nil {
		s = &slab{stride: headWords + states*stateWords}
		if !t.resize(s, minSlots) {
			return nil, false
		}
		if states == 1 {
			p.one = s
		} else {
			for len(p.more) < states-1 {
				p.more = append(p.more, nil)
			}
			p.more[states-2] = s
		}
		return s, true
	}
	if (s.used+1)*5 <= s.slots*4 {
		return s, true
	}
	if t.resize(s, s.slots+max(s.slots/2, minSlots)) {
		return s, true
	}
	if s.tries++; s.tries > s.slots/sweepShare || now-s.swept >= sweepAgain {
		t.sweep(p, s, now)
	}
	return s, (s.used+1)*16 <= s.slots*15
}

// A slab that may not grow is swept after as many inserts as are this part of its slots, and when some time has passed:
// a flood of new keys pays for looking at as many slots each, and not for a whole sweep each.
const (
	sweepShare = 8
	sweepAgain = bucket.Instant(time.Second)
)

// resize gives a slab another capacity if the memory bound allows.
func (t *Table) resize(s *slab, slots int) bool {
	more := int64(slots-s.slots) * int64(s.stride) * wordBytes
	if t.bytes.Add(more) > t.max && more > 0 {
		t.bytes.Add(-more)
		return false
	}
	*s = s.resized(slots)
	return true
}

// sweep removes every group that is as good as new at now.
func (t *Table) sweep(p *partition, s *slab, now bucket.Instant) (removed int) {
	s.tries, s.swept = 0, now
	for i := 0; i < s.slots; {
		w := s.at(i)
		if w[2] != 0 {
			g := t.limits.at(unpack(w[2]))
			if isHot(w[2]) {
				t.cool(p, w, g, now)
			}
			if !isHot(w[2]) && !p.listed(w) && t.dropIfNew(p, w, g, now) {
				s.remove(i) // another slot may have moved here: look again
				g.Release()
				removed++
				continue
			}
		}
		i++
	}
	return removed
}

// dropIfNew says whether a group is no different from one that was never seen. It then has nothing in the log any more, and else
// not what has ended.
func (t *Table) dropIfNew(p *partition, w []uint64, g *Group, now bucket.Instant) bool {
	if w[2]&heldFlag != 0 {
		if t.refill(p, w, g, now); w[2]&heldFlag != 0 {
			return false
		}
	}
	if g.plain && !p.loss.known { // nearly all
		return load(w, 0).IsFull(&g.limits[0], now)
	}
	var room [MaxStates]bucket.State
	s := t.take(p, w, g, &room)
	if t.asNew(p, g, &s, now) {
		s.Drop()
		return true
	}
	if g.logs > 0 {
		s.Refill(now, 0)
		put(w, s.States)
	}
	return false
}

// Sweep removes from one partition, open or closed, every group that is full at now, gives memory back where little is used, and
// returns how many groups it removed. It holds the partition's lock for some 10 ns a slot.
func (t *Table) Sweep(part int, now bucket.Instant) (removed int) {
	p := &t.parts[part]
	p.mu.Lock()
	defer p.mu.Unlock()
	removed = t.shrink(p, now)
	t.countLog(p)
	t.forgetRemoved(p, now)
	return removed
}

// shrink removes every group that is full at now, and gives memory back where little is used.
func (t *Table) shrink(p *partition, now bucket.Instant) (removed int) {
	p.each(func(s *slab) {
		removed += t.sweep(p, s, now)
		if s.slots > minSlots && s.used*4 < s.slots {
			t.resize(s, max(minSlots, s.used*2))
		}
	})
	return removed
}
