package node

import (
	"sync/atomic"
	"time"
)

// trip is how long the answer of a peer takes, at the slow end: it follows a slow answer at once and fast ones little
// by little. Safe for concurrent use; of two at the same moment one may be lost.
type trip struct{ ns atomic.Int64 }

// firstTrip is assumed before there was an answer.
const firstTrip = time.Millisecond

func (t *trip) get() time.Duration {
	if d := t.ns.Load(); d != 0 {
		return time.Duration(d)
	}
	return firstTrip
}

func (t *trip) observe(took time.Duration) {
	old := t.get()
	if took > old {
		old += (took - old) / 4
	} else {
		old -= (old - took) / 64
	}
	t.ns.Store(int64(max(old, 1)))
}
