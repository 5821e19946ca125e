package table

import "github.com/drossel-dev/drossel/bucket"

// Debit takes tokens, 0 to bucket.MaxTokens, from every limit of group g at now, whether they are there or not: they
// were admitted elsewhere while this partition could not be asked. A bucket goes no lower than its burst below zero; it
// fills from there and denies until then. The error is ErrClosed, ErrFull if the group has no slot and there is no room
// for one, or nil.
func (t *Table) Debit(part int, id bucket.ID, g *Group, now bucket.Instant, tokens int64) error {
	p := &t.parts[part]
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := t.enter(p, now); err != nil {
		return err
	}
	if tokens <= 0 {
		return nil
	}
	w := t.find(p, id, g, now)
	if w == nil {
		if w = t.freshSlot(p, id, g, now); w == nil {
			return ErrFull
		}
	}
	p.refill(w, g, now) // whatever is out is in the way, so that the refill below adds nothing
	for i := range g.limits {
		l := &g.limits[i]
		s := load(w, i)
		s.Refill(l, now)
		if room := s.Tokens + l.Burst; room > 0 {
			s.Tokens -= min(tokens, room)
		}
		store(w, i, s)
	}
	p.touch(w)
	return nil
}
