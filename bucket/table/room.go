package table

import "github.com/drossel-dev/drossel/bucket"

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
	t.sweepSome(s, now, min(handSlots, s.slots+s.used))
	return s, (s.used+1)*16 <= s.slots*15
}

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

// handSlots is how many slots a refused insert looks at for a full group: enough to find one where they are common,
// and little enough that a flood of new keys cannot make every check pay for a whole sweep.
const handSlots = 256

// sweepSome looks at up to n slots from where the last call stopped, and removes the groups that are full at now.
func (t *Table) sweepSome(s *slab, now bucket.Instant, n int) (removed int) {
	for range n {
		if s.hand >= s.slots {
			s.hand = 0
		}
		w := s.at(s.hand)
		if w[2] == 0 {
			s.hand++
			continue
		}
		g := t.limits.at(unpack(w[2]))
		if !g.full(w, now) {
			s.hand++
			continue
		}
		s.remove(s.hand) // another slot may have moved here: look again
		g.Release()
		removed++
	}
	return removed
}

// Sweep removes from one partition every group that is full at now, gives memory back where little is used, and
// returns how many groups it removed. It holds the partition's lock for some 10 ns a slot.
func (t *Table) Sweep(part int, now bucket.Instant) (removed int) {
	p := &t.parts[part]
	p.mu.Lock()
	defer p.mu.Unlock()
	p.each(func(s *slab) {
		s.hand = 0
		removed += t.sweepSome(s, now, s.slots+s.used) // a removal looks at its slot twice
		if s.slots > minSlots && s.used*4 < s.slots {
			t.resize(s, max(minSlots, s.used*2))
		}
	})
	return removed
}
