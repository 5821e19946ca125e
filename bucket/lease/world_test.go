package lease

import (
	"slices"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// The model runs the very ledger and purses through every order of events that small constants allow. This file is what
// it keeps of one moment.

const (
	mostStates  = 2
	mostHolders = 3
	mostHolds   = 2 // in one purse at a time
	mostChecks  = 2 // over several keys
)

// tick is the time between two moments. It is a little longer than the life of one tick that leases and holds are
// given, by just what their owner waits in addition: so a lease of n ticks dies with its holder before, and burns at
// its owner at, the n-th tick after the grant, and there is no slack in which a mistake could hide.
const tick = (burnSlack + 1) * time.Millisecond

// lives is the life of something that its owner gives up after this many ticks.
func lives(ticks int) time.Duration { return time.Duration(ticks) * burnSlack * time.Millisecond }

// world is one moment: the real machines at both ends, every message ever sent, and the oracle.
type world struct {
	*rules
	now     bucket.Instant
	ledger  Ledger
	states  []bucket.State
	holders []holder
	checks  []several
	settled [2]bool // whether the settlement was sent, and whether it has arrived once
	crashed int
	// ideal is what one bucket in one place would hold after the same admissions. Below zero, more was admitted than the
	// limit allows over some window, by as much.
	ideal [mostStates]int64
	wrong string // what the last move has shown to be broken
}

// holder is one node that borrows. Its name is its place.
type holder struct {
	purse   Purse
	number  Number   // of its newest request
	asked   int      // requests made in all its lives
	holds   []taken  // of checks that are not decided
	letters []uint16 // all that it ever sent or was sent, sorted: where post keeps them
}

// taken is a hold in a purse. It lapses for good as soon as its lease ends, for the check is denied then.
type taken struct {
	Hold
	lease  ID
	lapsed bool
}

// several is a check over several keys, as far as this group goes. Every message of it may come at any time again.
type several struct {
	phase   phase
	costs   []int64
	pledge  Pledge // its life is of the answer that was taken in
	answers uint8  // the lives granted, one bit for each number of ticks
}

// phase is how far a check over several keys is at the node that coordinates it.
type phase uint8

const (
	unsent phase = iota
	waits
	granted
	committed
	givenUp
)

var names = [mostHolders]string{"a", "b", "c"}

func (w *world) group() *bucket.Group { return &bucket.Group{Limits: w.limits, States: w.states} }

// begin returns the first moment.
func begin(r *rules) *world {
	w := &world{
		rules:   r,
		ledger:  Ledger{Last: ID{Epoch: 1}},
		states:  make([]bucket.State, len(r.limits)),
		holders: make([]holder, r.holders),
		checks:  make([]several, r.checks),
	}
	for j, l := range r.limits {
		w.states[j] = bucket.Full(&l, 0)
		w.ideal[j] = l.Burst
	}
	for i := range w.holders {
		w.holders[i].number.Incarnation = 1
	}
	return w
}

// copyTo makes another world the same, reusing its memory; they share nothing that any machine writes to.
func (w *world) copyTo(to *world) {
	l, states, holders, checks := to.ledger, to.states, to.holders, to.checks
	*to = *w
	to.states = append(states[:0], w.states...)
	to.checks = append(checks[:0], w.checks...)
	to.ledger.entries = append(l.entries[:0], w.ledger.entries...)
	for i := range to.ledger.entries {
		e := &to.ledger.entries[i]
		e.under = slices.Clone(e.under)
	}
	to.ledger.holds = append(l.holds[:0], w.ledger.holds...) // the costs of a hold never change
	to.ledger.settled = append(l.settled[:0], w.ledger.settled...)
	if cap(holders) < len(w.holders) {
		holders = make([]holder, len(w.holders))
	}
	to.holders = holders
	for i := range w.holders {
		w.holders[i].copyTo(&to.holders[i])
	}
}

func (h *holder) copyTo(to *holder) {
	holds, letters := to.holds, to.letters
	*to = *h
	to.purse.under = slices.Clone(h.purse.under)
	to.holds = append(holds[:0], h.holds...)
	to.letters = append(letters[:0], h.letters...)
}

// lapse notes which holds have lapsed by the last move.
func (h *holder) lapse(now bucket.Instant) {
	for i := range h.holds {
		held := &h.holds[i]
		held.lapsed = held.lapsed || h.purse.Lease(now) != held.lease
	}
}

// edge returns how many ticks the window still lasts.
func (w *world) edge() int { return w.window - int(w.now/bucket.Instant(tick))%w.window }

// cut returns a life of so many ticks, cut at the edge of the window. Whoever is told of the life has to be told this
// one.
func (w *world) cut(ticks int) int {
	if w.window > 0 {
		ticks = min(ticks, w.edge())
	}
	return ticks
}

// sends adds a letter to those that may arrive from now on.
func (h *holder) sends(letter uint16) {
	if at, found := slices.BinarySearch(h.letters, letter); !found {
		h.letters = slices.Insert(h.letters, at, letter)
	}
}
