package sim

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"
)

// draw returns the random numbers of one purpose in a run. Each purpose has its own, so that what one goroutine draws
// does not depend on what others have drawn before.
func draw(seed uint64, purpose ...any) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintln(h, purpose...)
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// way is an ordered pair of nodes, by name.
type way struct{ from, to string }

// fates say what becomes of messages about leases. Checks and answers are never lost but with their connection, for
// streams are reliable. The zero value leaves everything alone.
type fates struct {
	seed              uint64
	loss, twice, late float64       // how likely each is
	latest            time.Duration // how late a late message, or the second of two, may be
}

func (f fates) String() string {
	return fmt.Sprintf("%.0f%% lost, %.0f%% twice, %.0f%% late by up to %v", 100*f.loss, 100*f.twice, 100*f.late, f.latest)
}

// of returns the fate of one kind of messages on one way.
func (f fates) of(m message) *fate { return &fate{fates: f, random: draw(f.seed, "fate", m)} }

// fate draws for the messages of one kind on one way.
type fate struct {
	fates
	mu     sync.Mutex
	random *rand.Rand
}

// next says whether a message goes now, and after which times else.
func (f *fate) next() (now bool, later []time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	wait := func() time.Duration { return time.Duration(f.random.Int64N(int64(f.latest) + 1)) }
	switch p := f.random.Float64(); {
	case p < f.loss:
		return false, nil
	case p < f.loss+f.late:
		return false, []time.Duration{wait()}
	case p < f.loss+f.late+f.twice:
		return true, []time.Duration{wait()}
	}
	return true, nil
}

// sift returns the messages that go now, and has the others sent later, each by itself.
func sift[M any](f *fate, all []M, send func(M)) (now []M) {
	for _, m := range all {
		at, later := f.next()
		if at {
			now = append(now, m)
		}
		for _, d := range later {
			time.AfterFunc(d, func() { send(m) })
		}
	}
	return now
}
