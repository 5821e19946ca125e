package lease

import (
	"math"

	"github.com/drossel-dev/drossel/bucket"
)

// nobody is an epoch that no owner reaches, and an incarnation that no holder does.
const nobody = math.MaxUint64

// unclaimed is what is out to a holder that nobody can be: it burns in its time and not before.
func unclaimed(tokens int64, burns bucket.Instant) entry {
	return entry{lease: ID{Epoch: nobody}, number: Number{Incarnation: nobody}, left: tokens, burns: burns}
}

// Reserve counts tokens as out until an instant, though no holder is known for them: an owner that was lost may have
// lent so many without a word of it here. No level is changed; what is above the capacity then just does not fill. At
// the end they count as burned. 0 or fewer reserve nothing.
func (l *Ledger) Reserve(tokens int64, until bucket.Instant) {
	if tokens <= 0 {
		return
	}
	l.entries = append(l.entries, unclaimed(tokens, until))
	l.out += tokens
	l.burnsAt(until)
}
