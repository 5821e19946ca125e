package ownership

import (
	"math/rand/v2"
	"time"
)

// plannedScenarios are what an operator does: nodes come, go and are replaced, with nothing wrong.
var plannedScenarios = []scenario{
	{name: "joins", planned: true, plan: func(w *world, r *rand.Rand, n int) time.Duration {
		for i := range 3 {
			w.after(sec+time.Duration(i)*1500*ms, func() { w.start(name(100 + i)) })
		}
		return 6 * sec
	}},
	{name: "joins and leaves", planned: true, quiet: 6 * sec, plan: func(w *world, r *rand.Rand, n int) time.Duration {
		planChurn(w, r, n)
		return 6 * sec
	}},
	{name: "roll, same ids", planned: true, quiet: 6 * sec, plan: func(w *world, r *rand.Rand, n int) time.Duration {
		for i := range n {
			w.after(sec+time.Duration(i)*3*sec, func() {
				w.leave(name(i))
				w.whenDead(name(i), func() { w.after(span(r, 10, 300), func() { w.restart(name(i)) }) })
			})
		}
		return time.Duration(n)*3*sec + 2*sec
	}},
	{name: "roll, new ids", planned: true, quiet: 6 * sec, plan: func(w *world, r *rand.Rand, n int) time.Duration {
		for i := range n {
			at := sec + time.Duration(i)*2*sec
			w.after(at, func() { w.start(name(100 + i)) })
			w.after(at+span(r, 0, 1500), func() { w.leave(name(i)) })
		}
		return time.Duration(n)*2*sec + 4*sec
	}},
	{name: "one to five to one", planned: true, quiet: 6 * sec, nodes: func(int) int { return 1 },
		plan: func(w *world, r *rand.Rand, n int) time.Duration {
			for i := range 4 {
				w.after(sec+time.Duration(i)*sec, func() { w.start(name(100 + i)) })
				w.after(6*sec+time.Duration(i)*sec, func() { w.leave([]string{name(0), name(100), name(101), name(102)}[i]) })
			}
			return 11 * sec
		}},
}

func planChurn(w *world, r *rand.Rand, n int) {
	for i := range 3 {
		w.after(sec+span(r, 0, 1000), func() { w.start(name(100 + i)) })
	}
	for i := range min(n-2, 2) {
		w.after(sec+span(r, 0, 1000), func() { w.leave(name(i)) })
	}
}
