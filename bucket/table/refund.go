package table

import (
	"cmp"

	"github.com/drossel-dev/drossel/bucket"
)

// Refund gives tokens back, 0 to bucket.MaxTokens, to every limit of group g at now, or as many as each says, as bucket.Group.Refund does:
// never more than was taken and is not out. It answers what a look at one token would afterwards. The error is ErrClosed, an OtherLimits,
// ErrFull or nil.
func (t *Table) Refund(part int, id bucket.ID, g *Group, now bucket.Instant, tokens int64, each ...int64) (d bucket.Decision, which int, err error) {
	p := &t.parts[part]
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := cmp.Or(t.enter(p, now), p.rightful(id, g)); err != nil {
		return d, 0, err
	}
	w, of, err := t.find(p, id, g, now)
	if err != nil {
		return d, 0, err
	}
	var room [MaxStates]bucket.State
	if w == nil { // nothing counts as taken
		s := t.start(p, g, &room, now)
		d, which = s.Look(now, 1)
		s.Drop()
		return d, which, nil
	}
	t.refill(p, w, of, now)
	s := t.take(p, w, of, &room)
	out := p.out(w)
	if p.loss.reserved {
		out = max(out, of.reserve)
	}
	s.Refund(now, out, tokens, of.costs(g, each))
	d, which = s.Look(now, 1)
	put(w, s.States)
	p.touch(w)
	return d, of.place(g, which), nil
}
