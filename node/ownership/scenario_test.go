package ownership

import (
	"math/rand/v2"
	"slices"
	"time"
)

// scenario is one kind of trouble. It plans it in a world that has been booted, and returns when it is over.
type scenario struct {
	name string
	// planned scenarios lose no messages: nothing may be admitted too much, and no check may go unanswered.
	planned bool
	// forgetful scenarios restart nodes without their memory, others in every second run.
	forgetful bool
	nodes     func(n int) int // nil: as drawn
	plan      func(w *world, r *rand.Rand, n int) time.Duration
	quiet     time.Duration // how long it may take afterwards until all is well; 0: forget and 6 s
}

var scenarios = slices.Concat(plannedScenarios, lostScenarios, cutScenarios, changeScenarios)

func span(r *rand.Rand, low, high int) time.Duration {
	return time.Duration(low+r.IntN(high-low+1)) * ms
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }
