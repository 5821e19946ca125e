package ownership

import (
	"math/rand/v2"
	"slices"
	"time"
)

// cutScenarios are ways between nodes that are cut, one or many, and heal.
var cutScenarios = []scenario{
	{name: "owner and heir apart", plan: func(w *world, r *rand.Rand, n int) time.Duration {
		w.after(span(r, 1000, 1500), func() {
			owner, heir, ok := w.heirOf(r.IntN(w.cfg.partitions))
			if !ok {
				return
			}
			kind := r.IntN(3)
			if kind != 1 {
				w.oneWay(owner, heir, true)
			}
			if kind != 0 {
				w.oneWay(heir, owner, true)
			}
			if r.IntN(2) == 0 {
				w.after(span(r, 500, 2500), func() { w.crash(owner) })
			}
			w.after(3*sec, func() { w.both(owner, heir, false) })
		})
		return 6 * sec
	}},
	{name: "owner alone", plan: func(w *world, r *rand.Rand, n int) time.Duration {
		w.after(span(r, 1000, 1500), func() {
			w.splitFor(only(w.ownerOf(r.IntN(w.cfg.partitions))), span(r, 300, 3000))
		})
		return 6 * sec
	}},
	{name: "cut with joins", plan: func(w *world, r *rand.Rand, n int) time.Duration {
		return planCutWithJoins(w, r, n, 5*sec)
	}},
	{name: "long cut with joins", plan: func(w *world, r *rand.Rand, n int) time.Duration {
		return planCutWithJoins(w, r, n, 60*sec)
	}},
	{name: "even split", nodes: func(int) int { return 4 }, plan: func(w *world, r *rand.Rand, n int) time.Duration {
		w.after(span(r, 1000, 1500), func() { w.splitFor(some(r, w.living(), 2), 5*sec) })
		return 9 * sec
	}},
	{name: "halves ask", plan: func(w *world, r *rand.Rand, n int) time.Duration {
		w.after(sec, func() {
			owner := w.ownerOf(r.IntN(w.cfg.partitions))
			w.crash(owner)
			side := some(r, w.ids[:n], n/2)
			w.splitFor(side, span(r, 380, 520))
			other := w.ids[(slices.Index(w.ids, owner)+1)%n]
			w.after(span(r, 380, 1500), func() { w.pause(other, span(r, 300, 1500)) })
		})
		return 6 * sec
	}},
	{name: "owner back while the heir waits for copies", nodes: func(int) int { return 5 },
		plan: func(w *world, r *rand.Rand, n int) time.Duration {
			w.after(span(r, 1000, 1500), func() {
				owner, heir, third := w.threeOf(r.IntN(w.cfg.partitions))
				w.crash(third)
				w.both(owner, heir, true)
				w.after(600*ms, func() { w.split(only(owner), true) })
				w.after(600*ms+span(r, 405, 500), func() {
					w.split(only(owner), false)
					w.both(owner, heir, true)
				})
				w.after(3*sec, func() { w.both(owner, heir, false) })
			})
			return 6 * sec
		}},
	{name: "owner back while its heir sleeps", nodes: func(int) int { return 5 },
		plan: func(w *world, r *rand.Rand, n int) time.Duration {
			w.after(span(r, 1000, 1500), func() {
				owner, heir, _ := w.heirOf(r.IntN(w.cfg.partitions))
				w.split(only(owner), true)
				w.after(span(r, 380, 420), func() { w.pause(heir, span(r, 200, 900)) })
				w.after(span(r, 430, 600), func() {
					w.split(only(owner), false)
					w.both(owner, heir, true)
				})
				w.after(3*sec, func() { w.both(owner, heir, false) })
			})
			return 6 * sec
		}},
	{name: "heir hears late of the copies", nodes: func(int) int { return 5 },
		plan: func(w *world, r *rand.Rand, n int) time.Duration {
			w.after(span(r, 1000, 1500), func() {
				part := r.IntN(w.cfg.partitions)
				owner, heir, _ := w.heirOf(part)
				keeper := w.firstOf(part, owner, heir)
				w.both(heir, owner, true)
				w.both(heir, keeper, true)
				dies := span(r, 600, 800) // the copies have another place by now
				w.after(dies, func() { w.crash(owner) })
				w.after(dies+span(r, 250, 420), func() { w.both(heir, keeper, false) })
			})
			return 6 * sec
		}},
}

func planCutWithJoins(w *world, r *rand.Rand, n int, d time.Duration) time.Duration {
	w.after(span(r, 1000, 1500), func() {
		side := some(r, w.living(), 1+r.IntN(n-1))
		side[name(101)] = true
		w.split(side, true)
		for i := range 2 {
			w.after(span(r, 100, 2000), func() { w.start(name(100 + i)); w.split(side, true) })
		}
		w.after(d, func() { w.split(side, false) })
	})
	return d + 4*sec
}
