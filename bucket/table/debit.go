package table

import "github.com/drossel-dev/drossel/bucket"

// Debit takes tokens, 0 to bucket.MaxTokens, from every limit of group g at now, or as many as each says, whether they are there or not: they
// were admitted elsewhere while this partition could not be asked. A bucket goes no lower than its burst below zero; it
// fills from there and denies until then. The error is ErrClosed, ErrFull if the group has no slot and there is no room
// for one, or nil.
func (t *Table) Debit(part int, id bucket.ID, g *Group, now bucket.Instant, tokens int64, each ...int64) error {
	p := &t.parts[part]
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := t.enter(p, now); err != nil {
		return err
	}
	if tokens <= 0 {
		return nil
	}
	w, of, err := t.findFor(p, id, g, now, (*Group).accounts)
	if err != nil {
		return err
	}
	if w == nil {
		if p.rightful(id, g) != nil {
			of = t.limits.by(g, NameOf(p.entryText(id)))
			defer of.Release()
		}
		if w, err = t.freshSlot(p, id, of, now); err != nil {
			return err
		}
	}
	t.refill(p, w, of, now) // whatever is out is in the way, so that Debit does not fill it up
	var room [MaxStates]bucket.State
	s := t.take(p, w, of, &room)
	s.Debit(now, tokens, of.costs(g, each))
	put(w, s.States)
	p.touch(w)
	return nil
}
