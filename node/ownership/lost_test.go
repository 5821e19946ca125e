package ownership

import (
	"math/rand/v2"
	"time"
)

// lostScenarios are crashes and pauses, some of them at bad moments.
var lostScenarios = []scenario{
	{name: "crash", plan: func(w *world, r *rand.Rand, n int) time.Duration {
		w.after(span(r, 1000, 1500), func() { w.crash(name(r.IntN(n))) })
		return 4 * sec
	}},
	{name: "pauses", plan: func(w *world, r *rand.Rand, n int) time.Duration {
		for range 3 {
			w.after(span(r, 1000, 4000), func() { w.pause(name(r.IntN(n)), span(r, 200, 2500)) })
		}
		return 6 * sec
	}},
	{name: "join and crash", plan: func(w *world, r *rand.Rand, n int) time.Duration {
		w.after(sec, func() { w.start(name(101)) })
		w.after(sec+span(r, 0, 300), func() { w.crash(name(r.IntN(n))) })
		return 6 * sec
	}},
	{name: "newcomer dies in transfer", plan: func(w *world, r *rand.Rand, n int) time.Duration {
		w.after(sec, func() { w.start(name(101)) })
		at := sec + span(r, 0, 400)
		w.after(at, func() { w.crash(name(101)) })
		if r.IntN(2) == 0 {
			w.after(at+span(r, 0, 100), func() { w.restart(name(101)) })
		}
		if r.IntN(2) == 0 {
			w.after(sec+span(r, 0, 400), func() { w.pause(name(r.IntN(n)), span(r, 300, 1500)) })
		}
		return 6 * sec
	}},
	{name: "holder dies, newcomer is cut off", plan: func(w *world, r *rand.Rand, n int) time.Duration {
		w.after(sec, func() { w.start(name(101)) })
		w.after(sec, func() {
			w.whenReceived(name(101), func(from string) {
				w.crash(from)
				side := only(name(101))
				w.splitFor(side, 2*sec)
			})
		})
		return 6 * sec
	}},
	{name: "heir dies too", plan: func(w *world, r *rand.Rand, n int) time.Duration {
		first := r.IntN(n)
		second := (first + 1) % n
		w.after(sec, func() { w.crash(name(first)) })
		w.after(sec+span(r, 300, 900), func() { w.crash(name(second)) })
		w.after(sec+span(r, 900, 1500), func() { w.restart(name(second)) })
		w.after(sec+span(r, 900, 3500), func() { w.restart(name(first)) })
		return 6 * sec
	}},
	{name: "the heir is cut off as it is named", nodes: func(int) int { return 5 },
		plan: func(w *world, r *rand.Rand, n int) time.Duration {
			part := r.IntN(w.cfg.partitions)
			w.after(sec, func() {
				owner, _, _ := w.heirOf(part)
				w.crash(owner)
				w.whenTaking(part, func(heir string) {
					w.split(only(heir), true)
					w.after(span(r, 1000, 1600), func() { w.split(only(heir), false) }) // another one was named
				})
			})
			return 5 * sec
		}},
	{name: "twice within a second", plan: func(w *world, r *rand.Rand, n int) time.Duration {
		id := name(r.IntN(n))
		for i := range 2 {
			at := sec + time.Duration(i)*400*ms
			w.after(at, func() { w.crash(id) })
			w.after(at+span(r, 10, 300), func() { w.restart(id) })
		}
		return 6 * sec
	}},
	{name: "one of two", nodes: func(int) int { return 2 }, plan: func(w *world, r *rand.Rand, n int) time.Duration {
		w.after(span(r, 1000, 1500), func() {
			w.crash(name(0))
			w.after(2*sec, func() { w.restart(name(0)) })
		})
		return 6 * sec
	}},
	{name: "owner and copy lost together", plan: func(w *world, r *rand.Rand, n int) time.Duration {
		w.after(span(r, 1000, 1500), func() {
			owner, heir, ok := w.heirOf(r.IntN(w.cfg.partitions))
			w.crash(owner)
			if ok && n > 4 { // or there is no majority any more
				w.crash(heir)
			}
		})
		return 4 * sec
	}},
	{name: "of two one is back as the other leaves", nodes: func(int) int { return 2 },
		plan: func(w *world, r *rand.Rand, n int) time.Duration {
			away := span(r, 450, 1200)
			w.after(sec, func() { w.pause(name(0), away) })
			w.after(sec+away-span(r, 0, 200), func() { w.leave(name(1)) })
			return 6 * sec
		}},
	{name: "back without memory", forgetful: true, plan: func(w *world, r *rand.Rand, n int) time.Duration {
		k := r.IntN(n)
		w.after(sec, func() { w.pause(name(k), span(r, 450, 900)) })
		w.after(sec+span(r, 450, 900), func() {
			e := name((k + 1 + r.IntN(n-1)) % n)
			w.crash(e)
			w.after(span(r, 1, 30), func() { w.restart(e) })
		})
		return 6 * sec
	}},
	{name: "back without memory, on the other side", forgetful: true, nodes: func(int) int { return 3 },
		plan: func(w *world, r *rand.Rand, n int) time.Duration {
			w.after(sec, func() {
				owner, heir, third := w.threeOf(r.IntN(w.cfg.partitions))
				w.split(only(owner), true)
				w.after(span(r, 900, 1500), func() {
					w.crash(third)
					w.split(only(owner), false)
					w.split(only(heir), true)
				})
				w.after(span(r, 1510, 1700), func() { w.restart(third) })
				w.after(4*sec, func() { w.split(only(heir), false) })
			})
			return 7 * sec
		}},
	{name: "back without memory, between two", forgetful: true, nodes: func(int) int { return 3 },
		plan: func(w *world, r *rand.Rand, n int) time.Duration {
			w.after(sec, func() {
				owner, heir, third := w.threeOf(r.IntN(w.cfg.partitions))
				w.split(only(owner), true)
				w.after(span(r, 700, 1200), func() { w.crash(third) })
				w.after(span(r, 1300, 1500), func() {
					w.restart(third)
					w.both(owner, third, false)
				})
				w.after(4*sec, func() { w.both(owner, heir, false) })
			})
			return 7 * sec
		}},
}
