package ownership

import (
	"math/rand/v2"
	"slices"
	"time"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

// scenario is one kind of trouble. It says how long it takes, and plans it in a world that has been booted.
type scenario struct {
	name string
	// planned scenarios lose no messages: nothing may be admitted too much, and no check may go unanswered.
	planned bool
	nodes   func(n int) int // nil: as drawn
	plan    func(w *world, r *rand.Rand, n int) time.Duration
	quiet   time.Duration // how long it may take afterwards until all is well; 0: forget and 6 s
}

func span(r *rand.Rand, low, high int) time.Duration {
	return time.Duration(low+r.IntN(high-low+1)) * ms
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// only is a side of a cut.
func only(ids ...string) map[string]bool {
	side := make(map[string]bool)
	for _, id := range ids {
		side[id] = true
	}
	return side
}

func some(r *rand.Rand, ids []string, n int) map[string]bool {
	side := make(map[string]bool)
	for _, i := range r.Perm(len(ids))[:n] {
		side[ids[i]] = true
	}
	return side
}

// splitFor cuts a side off for a while.
func (w *world) splitFor(side map[string]bool, d time.Duration) {
	w.split(side, true)
	w.after(d, func() { w.split(side, false) })
}

var scenarios = []scenario{
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
	{name: "owner and heir apart", plan: func(w *world, r *rand.Rand, n int) time.Duration {
		w.after(span(r, 1000, 1500), func() {
			part := r.IntN(w.cfg.partitions)
			owner := w.ownerOf(part)
			ids, owners := w.hosts[owner].m.without(w.hosts[owner].m.live(w.hosts[owner].time()), owner)
			if owners == nil {
				return
			}
			heir := ids[owners[part]]
			kind := r.IntN(3)
			w.log("between %s and %s, kind %d", owner, heir, kind)
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
		w.after(span(r, 1000, 1500), func() {
			side := some(r, w.living(), 1+r.IntN(n-1))
			side[name(101)] = true
			w.split(side, true)
			for i := range 2 {
				w.after(span(r, 100, 2000), func() { w.start(name(100 + i)); w.split(side, true) })
			}
			w.after(5*sec, func() { w.split(side, false) })
		})
		return 9 * sec
	}},
	{name: "long cut with joins", plan: func(w *world, r *rand.Rand, n int) time.Duration {
		w.after(span(r, 1000, 1500), func() {
			side := some(r, w.living(), 1+r.IntN(n-1))
			side[name(101)] = true
			w.split(side, true)
			for i := range 2 {
				w.after(span(r, 100, 2000), func() { w.start(name(100 + i)); w.split(side, true) })
			}
			w.after(60*sec, func() { w.split(side, false) })
		})
		return 64 * sec
	}},
	{name: "even split", nodes: func(int) int { return 4 }, plan: func(w *world, r *rand.Rand, n int) time.Duration {
		w.after(span(r, 1000, 1500), func() { w.splitFor(some(r, w.living(), 2), 5*sec) })
		return 9 * sec
	}},
	{name: "one of two", nodes: func(int) int { return 2 }, plan: func(w *world, r *rand.Rand, n int) time.Duration {
		w.after(span(r, 1000, 1500), func() {
			w.crash(name(0))
			w.after(2*sec, func() { w.restart(name(0)) })
		})
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
	{name: "twice within a second", plan: func(w *world, r *rand.Rand, n int) time.Duration {
		id := name(r.IntN(n))
		for i := range 2 {
			at := sec + time.Duration(i)*400*ms
			w.after(at, func() { w.crash(id) })
			w.after(at+span(r, 10, 300), func() { w.restart(id) })
		}
		return 6 * sec
	}},
	{name: "churn", quiet: 6 * sec, plan: func(w *world, r *rand.Rand, n int) time.Duration {
		planChurn(w, r, n)
		return 6 * sec
	}},
	{name: "back without memory", plan: func(w *world, r *rand.Rand, n int) time.Duration {
		k := r.IntN(n)
		w.after(sec, func() { w.pause(name(k), span(r, 450, 900)) })
		w.after(sec+span(r, 450, 900), func() {
			e := name((k + 1 + r.IntN(n-1)) % n)
			w.crash(e)
			w.after(span(r, 1, 30), func() { w.restart(e) })
		})
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

func planChurn(w *world, r *rand.Rand, n int) {
	for i := range 3 {
		w.after(sec+span(r, 0, 1000), func() { w.start(name(100 + i)) })
	}
	for i := range min(n-2, 2) {
		w.after(sec+span(r, 0, 1000), func() { w.leave(name(i)) })
	}
}

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

// whenDead does something once a node is.
func (w *world) whenDead(id string, do func()) {
	if !w.hosts[id].alive {
		do()
		return
	}
	w.after(20*ms, func() { w.whenDead(id, do) })
}

// whenReceived does something once a node has been given a partition.
func (w *world) whenReceived(id string, do func(from string)) {
	h := w.hosts[id]
	if !h.alive || w.now > 5*sec {
		return
	}
	for part := range h.m.parts {
		if p := h.m.parts[part]; p.held != nil && p.history.How == Received {
			do(p.history.From)
			return
		}
	}
	w.after(100*time.Microsecond, func() { w.whenReceived(id, do) })
}
