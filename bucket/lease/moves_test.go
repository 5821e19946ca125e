package lease

import (
	"fmt"

	"github.com/drossel-dev/drossel/bucket"
)

// move is one thing that may happen next: to whom, with which letter, cost or check, and how much is granted.
type move struct {
	do     deed
	who    uint8
	which  uint16
	tokens uint8
}

type deed uint8

const (
	passTime deed = iota
	admit         // at the owner, from the bucket
	ask           // for a lease or a renewal
	again         // the same request, with what is true now
	giveUp        // waiting
	arrive        // a letter, at whomever it is for
	spend
	takeAside // in the purse
	commit
	putBack
	giveBack // the whole lease
	crash
	sendSettlement
	settle
	askSeveral     // a hold at the owner
	holdSeveral    // the owner gets that
	grantedSeveral // and the coordinator its answer
	commitSeveral
	putBackSeveral
	endSeveral // the owner gets either
	moveGroup
)

var deeds = [...]string{
	"tick", "admit at the owner", "ask", "ask again", "give up waiting", "", "spend", "hold in the purse",
	"commit in the purse", "put back into the purse", "return", "crash", "send a settlement", "settle",
	"ask the owner to hold", "the owner holds", "the coordinator is granted", "the coordinator commits",
	"the coordinator gives up", "the owner hears of the end", "move to another owner",
}

// describe says a move in words.
func (m move) describe(w *world) string {
	switch m.do {
	case passTime, admit, sendSettlement, settle, moveGroup:
		return deeds[m.do]
	case arrive:
		l := w.post.letters[m.which]
		if l.answer != nil {
			return fmt.Sprintf("%s gets %v", names[m.who], l)
		}
		return fmt.Sprintf("the owner gets from %s %v, and may grant %d", names[m.who], l, m.tokens)
	case takeAside:
		return fmt.Sprintf("%s: hold %d in the purse", names[m.who], w.costs[m.which])
	case askSeveral, holdSeveral, grantedSeveral, commitSeveral, putBackSeveral, endSeveral:
		return fmt.Sprintf("check %d: %s", m.who, deeds[m.do])
	}
	return fmt.Sprintf("%s: %s", names[m.who], deeds[m.do])
}

// moves lists what may happen next. Some of it turns out to be impossible, or to change nothing.
func (w *world) moves(all []move) []move {
	all = append(all, move{do: passTime}, move{do: admit})
	if w.moved {
		all = append(all, move{do: moveGroup})
	}
	if w.settles && !w.settled[0] {
		all = append(all, move{do: sendSettlement})
	}
	if w.settled[0] {
		all = append(all, move{do: settle})
	}
	for i := range w.checks {
		all = w.severalMoves(all, uint8(i))
	}
	for i := range w.holders {
		all = w.holderMoves(all, uint8(i))
		for _, l := range w.holders[i].letters {
			all = append(all, move{do: arrive, who: uint8(i), which: l})
			if r := w.post.letters[l].request; r != nil && !r.Close {
				for g := 1; g <= w.grant; g++ {
					all = append(all, move{arrive, uint8(i), l, uint8(g)})
				}
			}
		}
	}
	return all
}

// apply makes a move; false if it is none that can happen here.
func (w *world) apply(m move) bool {
	switch m.do {
	case passTime:
		return w.passTime()
	case admit:
		return w.admit()
	case sendSettlement:
		w.settled[0] = true
		return true
	case settle:
		return w.settle()
	case moveGroup:
		return w.moveGroup()
	case arrive:
		l := w.post.letters[m.which]
		if l.request != nil {
			return w.receive(int(m.who), *l.request, int64(m.tokens))
		}
		w.holders[m.who].purse.Accept(w.now, l.answer)
		return true
	case askSeveral, holdSeveral, grantedSeveral, commitSeveral, putBackSeveral, endSeveral:
		return w.severally(m)
	}
	return w.act(m)
}

// lapse notes which holds have lapsed by the last move.
func (w *world) lapse() {
	for i := range w.holders {
		w.holders[i].lapse(w.now)
	}
}

// spent tells the oracle of an admission.
func (w *world) spent(costs []int64) {
	for j, cost := range costs {
		w.ideal[j] -= cost
	}
}

// passTime moves to the next tick, at which the oracle refills, and the owner as well unless it looks seldom. At the
// edge of a window every bucket is full again but for what is out.
func (w *world) passTime() bool {
	w.now += bucket.Instant(tick)
	for j, l := range w.limits {
		w.ideal[j] = min(l.Burst, w.ideal[j]+l.Count)
	}
	if w.now-w.states[0].Last > bucket.Instant(w.late)*bucket.Instant(tick) {
		w.ledger.Refill(w.group(), w.now)
	}
	if w.window > 0 && w.edge() == w.window {
		for j, l := range w.limits {
			w.states[j].Tokens = l.Burst - w.ledger.Out()
			w.ideal[j] = l.Burst
		}
	}
	return true
}
