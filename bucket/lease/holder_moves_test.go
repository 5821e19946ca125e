package lease

import (
	"fmt"
	"slices"
)

// What a holder does in the model.

// holderMoves lists what may happen to a holder but for letters.
func (w *world) holderMoves(all []move, i uint8) []move {
	h := &w.holders[i]
	add := func(do deed) { all = append(all, move{do: do, who: i}) }
	_, waiting := h.purse.Waiting()
	switch {
	case waiting:
		add(giveUp)
		if w.resends {
			add(again)
		}
	case h.asked < w.requests:
		add(ask)
	}
	if h.purse.Left(w.now) > 0 {
		add(spend)
		if len(h.holds) < w.holds {
			for v := range w.costs {
				all = append(all, move{do: takeAside, who: i, which: uint16(v)})
			}
		}
	}
	for held := range h.holds {
		all = append(all, move{do: commit, who: i, which: uint16(held)}, move{do: putBack, who: i, which: uint16(held)})
	}
	if h.purse.Lease(w.now) != (ID{}) {
		add(giveBack)
	}
	if w.crashed < w.crashes && h.asked > 0 {
		add(crash)
	}
	return all
}

// act makes a move of a holder.
func (w *world) act(m move) bool {
	h := &w.holders[m.who]
	p := &h.purse
	switch m.do {
	case ask:
		h.asked++
		h.number.Seq++
		if !w.remembers {
			h.forgetAnswers(w.post)
		}
		h.sends(w.post.request(p.Ask(w.now, h.number)))
	case again:
		h.sends(w.post.request(p.Again()))
	case giveUp:
		p.GiveUp()
	case spend:
		if !p.Spend(w.now, 1) {
			return false
		}
		w.spent(one[:len(w.states)])
	case takeAside:
		held, ok := p.Hold(w.now, w.costs[m.which])
		if !ok {
			return false
		}
		h.holds = append(h.holds, taken{Hold: held, lease: p.Lease(w.now)})
	case commit:
		held := h.holds[m.which]
		h.holds = slices.Delete(h.holds, int(m.which), int(m.which)+1)
		if !p.Commit(w.now, held.Hold) {
			return true
		}
		w.spent(held.costs)
		if held.lapsed {
			w.wrong = fmt.Sprintf("I9: %s commits a hold of lease %d, which has ended since", names[m.who], held.lease)
		}
	case putBack:
		held := h.holds[m.which]
		h.holds = slices.Delete(h.holds, int(m.which), int(m.which)+1)
		p.PutBack(w.now, held.Hold)
	case giveBack:
		return w.giveBack(h)
	case crash:
		w.crashed++
		h.purse, h.holds = Purse{}, h.holds[:0]
		h.number = Number{Incarnation: h.number.Incarnation + 1}
		if !w.remembers {
			h.forgetAnswers(w.post)
		}
	}
	return true
}

// giveBack returns the lease.
func (w *world) giveBack(h *holder) bool {
	r, ok := h.purse.Close(w.now)
	if !ok {
		return false
	}
	if slices.ContainsFunc(h.holds, func(held taken) bool { return !held.lapsed }) {
		w.wrong = fmt.Sprintf("I5: lease %d is returned while a check holds tokens of it", r.Lease)
	}
	h.sends(w.post.request(r))
	return true
}

// forgetAnswers drops the answers to requests before the one that is sent now: a purse takes none of them. One set of
// rules keeps them, to show that.
func (h *holder) forgetAnswers(p *post) {
	h.letters = slices.DeleteFunc(h.letters, func(l uint16) bool { return p.letters[l].answer != nil })
}
