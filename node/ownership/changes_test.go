package ownership

import (
	"math/rand/v2"
	"time"
)

// changeScenarios have the list change while other things go wrong.
var changeScenarios = []scenario{
	{name: "churn", quiet: 6 * sec, plan: func(w *world, r *rand.Rand, n int) time.Duration {
		planChurn(w, r, n)
		return 6 * sec
	}},
	{name: "changes of the list race", plan: func(w *world, r *rand.Rand, n int) time.Duration {
		for i := range 3 {
			w.after(sec+span(r, 0, 300), func() { w.start(name(100 + i)) })
		}
		w.after(sec+span(r, 0, 300), func() { w.leave(name(r.IntN(n))) })
		for range 4 {
			w.after(sec+span(r, 0, 300), func() {
				a, b := pick(r, w.living()), pick(r, w.living())
				w.both(a, b, true)
				w.after(span(r, 300, 2500), func() { w.both(a, b, false) })
			})
		}
		w.after(sec+span(r, 0, 600), func() { w.crash(name(r.IntN(n))) })
		return 6 * sec
	}},
	{name: "the cut moves as two are forgotten", nodes: func(int) int { return 5 },
		plan: func(w *world, r *rand.Rand, n int) time.Duration {
			forget := w.cfg.forget
			w.after(sec, func() {
				a, b := only(name(0), name(1), name(2)), only(name(0), name(1))
				w.split(a, true)
				w.after(forget-20*ms+time.Duration(r.Int64N(int64(60*ms))), func() {
					w.split(a, false)
					w.splitFor(b, 6*sec)
				})
			})
			return forget + 8*sec
		}},
	{name: "forgotten, and back on the other side", nodes: func(n int) int { return max(n, 5) },
		plan: func(w *world, r *rand.Rand, n int) time.Duration {
			forget := w.cfg.forget
			w.after(sec, func() {
				ids := w.living()
				k := (len(ids) - 1) / 2
				order := r.Perm(len(ids))
				a, b := make(map[string]bool), make(map[string]bool)
				for i, x := range order {
					a[ids[x]], b[ids[x]] = i < k, i < k+1
				}
				turns := ids[order[k]]
				w.split(a, true)
				w.after(forget+1500*ms, func() {
					w.crash(turns)
					w.split(a, false)
					w.split(b, true)
					w.after(span(r, 10, 500), func() { w.restart(turns) })
				})
				w.after(forget+5*sec, func() { w.split(b, false) })
			})
			return forget + 7*sec
		}},
	{name: "chaos", plan: planChaos},
}

// planChaos has everything happen at any time.
func planChaos(w *world, r *rand.Rand, n int) time.Duration {
	next := 100
	for range 4 + r.IntN(8) {
		kind := r.IntN(9)
		w.after(span(r, 1000, 6000), func() {
			living := w.living()
			if len(living) == 0 {
				return
			}
			id := pick(r, living)
			switch kind {
			case 0:
				w.crash(id)
				if r.IntN(3) > 0 {
					w.after(span(r, 5, 1500), func() { w.restart(id) })
				}
			case 1, 2:
				w.pause(id, span(r, 100, 2000))
			case 3:
				next++
				w.start(name(next))
			case 4:
				if len(living) > 2 {
					w.leave(id)
				}
			case 5:
				other := pick(r, living)
				w.oneWay(id, other, true)
				w.after(span(r, 200, 2000), func() { w.oneWay(id, other, false) })
			case 6, 7:
				side := make(map[string]bool)
				for _, id := range living {
					side[id] = r.IntN(2) == 0
				}
				w.splitFor(side, span(r, 300, 2500))
			case 8:
				w.splitFor(only(id), span(r, 300, 2500))
			}
		})
	}
	return 8 * sec
}
