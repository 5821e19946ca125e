package table

import "github.com/drossel-dev/drossel/bucket"

// The changed bit of a slot's meta word says that a group has changed since somebody asked. While a partition is
// tracked a slot has the bit if, and only if, the group's id stands in the partition's list. Else the bit means
// nothing; slots are made with it, so that takes go the fast way, and one that has lost it gets it back at the next
// take.

// touch notes that a group has changed by more than time.
func (p *partition) touch(w []uint64) {
	if w[2]&changedFlag != 0 {
		return
	}
	w[2] |= changedFlag
	if p.tracked {
		p.changed = append(p.changed, bucket.ID{Hi: w[0], Lo: w[1]})
	}
}

// listed says whether a group waits to be collected. It is not removed before, full as it may be: whoever has a copy
// from when it was not would never hear of it.
func (p *partition) listed(w []uint64) bool { return p.tracked && w[2]&changedFlag != 0 }

// Track begins, or ends, to note which groups of a partition change, for Changed. To copy a partition that is in use:
// Track, then IDs and Export all of them, then Changed and Export those, again and again. Beginning again, or ending
// again, does nothing; was is how it was before.
//
// While it is on, the first take from a group after each Changed costs some 20 ns more, and a group that has changed is
// not removed before Changed was called: whoever tracks has to collect often, or to stop.
func (t *Table) Track(part int, on bool) (was bool) {
	p := &t.parts[part]
	p.mu.Lock()
	defer p.mu.Unlock()
	if was = p.tracked; was == on {
		return was
	}
	p.tracked, p.changed = on, nil
	if on {
		p.eachSlot(func(w []uint64) { w[2] &^= changedFlag })
	}
	return was
}

// Changed appends the ids of the groups whose levels, limits, leases or entries have changed since the last call, or since Track
// began, and forgets them. That time has passed is no change, nor is that a group was removed because it was full. They
// come in no order, and one twice if there are two groups of it, as after a change of limits without tags, or if its entry has changed too.
func (t *Table) Changed(part int, ids []bucket.ID) []bucket.ID {
	p := &t.parts[part]
	p.mu.Lock()
	defer p.mu.Unlock()
	ids = append(ids, p.changed...)
	for _, id := range p.changed {
		p.each(func(s *slab) {
			if w := s.find(id); w != nil {
				w[2] &^= changedFlag
			}
		})
	}
	if p.changed = p.changed[:0]; cap(p.changed) > keepChanged {
		p.changed = nil
	}
	return ids
}

// keepChanged is how long a list may be and not be given back when it is empty.
const keepChanged = 1024

// IDs appends the ids of all groups and entries of a partition, each once, in no order.
func (t *Table) IDs(part int, ids []bucket.ID) []bucket.ID {
	p := &t.parts[part]
	p.mu.Lock()
	defer p.mu.Unlock()
	p.each(func(s *slab) {
		for i := range s.slots {
			w := s.at(i)
			if id := (bucket.ID{Hi: w[0], Lo: w[1]}); w[2] != 0 && !p.smaller(id, s.states()) {
				ids = append(ids, id)
			}
		}
	})
	if p.stored != nil {
		for id := range p.stored.by {
			if !p.smaller(id, MaxStates+1) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// smaller says whether there is also a group of this id with fewer limits than so many, as after a change of limits without tags.
func (p *partition) smaller(id bucket.ID, states int) bool {
	for n := 1; n < states; n++ {
		if s := p.slab(n); s != nil && s.find(id) != nil {
			return true
		}
	}
	return false
}
