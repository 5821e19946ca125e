package lease

import (
	"fmt"
	"math"
	"reflect"
	"time"
)

// What the owner does in the model.

var one = [mostStates]int64{1, 1}

// admit is a check at the owner.
func (w *world) admit() bool {
	w.ledger.Refill(w.group(), w.now)
	if d, _ := w.group().Take(w.now, 1); !d.Allowed {
		return false
	}
	w.spent(one[:len(w.states)])
	return true
}

// receive is the arrival of a request, to which the owner grants tokens if it grants any.
func (w *world) receive(who int, r Request, tokens int64) bool {
	last := w.ledger.Last
	asked := false
	a, ok := w.ledger.Request(w.group(), w.now, names[who], r, lives(w.cut(w.ttl)), func() int64 {
		asked = true
		return tokens
	})
	if !ok {
		return tokens == 0
	}
	if tokens > 0 && (!asked || a.Tokens < tokens) { // no other than a smaller grant
		return false
	}
	if asked && a.Lease != r.Lease && a.Lease != (ID{}) && a.Lease.Number <= last.Number {
		w.wrong = fmt.Sprintf("I4: lease %d is used again, after %d", a.Lease, last)
	}
	if w.ledger.Last.Number > uint64(w.leases) {
		return false
	}
	w.holders[who].sends(w.post.answer(*a))
	return true
}

// settlement is the one that the model knows, of one token. It is remembered for good, for it may always come again.
var settlement1 = HoldID{Node: 1, Number: 1}

const forGood = time.Duration(math.MaxInt64 / 2)

// settle is the arrival of the settlement.
func (w *world) settle() bool {
	if !w.settled[1] { // whatever the owner does with later ones, there was one
		for j, l := range w.limits {
			w.ideal[j] = min(l.Burst, w.ideal[j]+1)
		}
	}
	w.settled[1] = true
	w.ledger.Settle(w.group(), w.now, settlement1, 1, forGood)
	return true
}

// moveGroup writes the ledger down at its owner and reads it at another: nothing that matters is different there. Ids go
// on where they are, as if all owners had one epoch.
func (w *world) moveGroup() bool {
	w.ledger.Refill(w.group(), w.now)
	b := w.ledger.AppendLedger(nil, w.now)
	l, rest, err := LenderFrom(w.limits, b, w.ledger.Last, w.now)
	switch {
	case err != nil || len(rest) > 0:
		w.wrong = fmt.Sprintf("the ledger can't be read, or %d bytes are left: %v", len(rest), err)
	case !sameLedger(&w.ledger, &l.Ledger):
		w.wrong = fmt.Sprintf("the ledger was %+v and is %+v", w.ledger, l.Ledger)
	default:
		w.ledger = l.Ledger
	}
	return true
}

// sameLedger says whether two ledgers will do the same whatever comes.
func sameLedger(a, b *Ledger) bool {
	x, y := *a, *b
	x.burned, y.burned = 0, 0
	x.soonest, y.soonest = x.nextBurn(), y.nextBurn()
	return reflect.DeepEqual(bare(x), bare(y))
}

// bare makes what is empty nil.
func bare(l Ledger) Ledger {
	if len(l.entries) == 0 {
		l.entries = nil
	}
	if len(l.holds) == 0 {
		l.holds = nil
	}
	if len(l.settled) == 0 {
		l.settled = nil
	}
	return l
}

func checkID(i int) HoldID { return HoldID{Node: 2, Number: uint64(i)} }

// severalMoves lists what may happen to a check over several keys.
func (w *world) severalMoves(all []move, i uint8) []move {
	c := &w.checks[i]
	if c.phase == unsent {
		if i > 0 && w.checks[i-1].phase == unsent {
			return all
		}
		for v := range w.costs {
			all = append(all, move{do: askSeveral, who: i, which: uint16(v)})
		}
		return all
	}
	all = append(all, move{do: holdSeveral, who: i})
	switch c.phase {
	case waits:
		for ticks := range 8 {
			if c.answers&(1<<ticks) != 0 {
				all = append(all, move{do: grantedSeveral, who: i, which: uint16(ticks)})
			}
		}
		all = append(all, move{do: putBackSeveral, who: i})
	case granted:
		all = append(all, move{do: commitSeveral, who: i}, move{do: putBackSeveral, who: i})
	case committed, givenUp:
		all = append(all, move{do: endSeveral, who: i})
	}
	return all
}

// severally makes a move of a check over several keys.
func (w *world) severally(m move) bool {
	c := &w.checks[m.who]
	switch m.do {
	case askSeveral:
		*c = several{phase: waits, costs: w.costs[m.which], pledge: Pledge{Sent: w.now}}
	case holdSeveral:
		life := w.cut(w.life)
		if !w.ledger.setAside(w.group(), w.now, checkID(int(m.who)), c.costs, lives(life)) {
			return false
		}
		if c.phase == waits {
			c.answers |= 1 << life
		}
	case grantedSeveral:
		c.phase, c.pledge.Life, c.answers = granted, lives(int(m.which)), 0
	case commitSeveral:
		if !c.pledge.Stands(w.now) {
			return false
		}
		c.phase = committed
		w.spent(c.costs)
	case putBackSeveral:
		c.phase, c.answers = givenUp, 0
	case endSeveral:
		if c.phase == committed {
			return w.ledger.Commit(w.group(), w.now, checkID(int(m.who)))
		}
		return w.ledger.PutBack(w.group(), w.now, checkID(int(m.who)))
	}
	return true
}
