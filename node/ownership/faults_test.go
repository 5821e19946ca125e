package ownership

import (
	"math/rand/v2"
	"time"
)

func (w *world) crash(id string) {
	h := w.hosts[id]
	if h == nil || !h.alive {
		return
	}
	w.log("%s crashes", id)
	h.alive, h.paused, h.late = false, false, nil
	h.life++
}

func (w *world) pause(id string, d time.Duration) {
	h := w.hosts[id]
	if h == nil || !h.alive || h.paused {
		return
	}
	w.log("%s is paused for %v", id, d)
	h.paused = true
	life := h.life
	w.after(d, func() {
		if h.alive && h.life == life && h.paused {
			h.resume()
		}
	})
}

// leave has a node leave, and end once it has.
func (w *world) leave(id string) {
	h := w.hosts[id]
	if h == nil || !h.alive || h.leaving {
		return
	}
	w.log("%s leaves", id)
	h.leaving = true
	h.do(h.life, func() { h.m.Leave(h.time()); h.flush() })
	w.awaitLeft(h)
}

func (w *world) awaitLeft(h *host) {
	switch {
	case !h.alive:
	case h.m.Left():
		w.after(200*ms, func() {
			if h.m.Left() {
				w.crash(h.id)
			} else { // it was alone, and somebody has come
				w.awaitLeft(h)
			}
		})
	default:
		w.after(20*ms, func() { w.awaitLeft(h) })
	}
}

func (w *world) oneWay(from, to string, cut bool) {
	if w.cut[[2]string{from, to}] != cut {
		w.log("from %s to %s nothing arrives: %v", from, to, cut)
	}
	w.setWay(from, to, cut)
}

func (w *world) setWay(from, to string, cut bool) {
	way := [2]string{from, to}
	if w.cut[way] {
		w.healed[way] = w.now
	}
	w.cut[way] = cut
}

func (w *world) both(a, b string, cut bool) {
	w.oneWay(a, b, cut)
	w.oneWay(b, a, cut)
}

// split cuts all ways between a side and the rest, or heals them.
func (w *world) split(side map[string]bool, cut bool) {
	w.log("split %v: %v", side, cut)
	for _, a := range w.ids {
		for _, b := range w.ids {
			if side[a] != side[b] {
				w.setWay(a, b, cut)
			}
		}
	}
}

// splitFor cuts a side off for a while.
func (w *world) splitFor(side map[string]bool, d time.Duration) {
	w.split(side, true)
	w.after(d, func() { w.split(side, false) })
}

// only is a side of a cut.
func only(ids ...string) map[string]bool {
	side := make(map[string]bool)
	for _, id := range ids {
		side[id] = true
	}
	return side
}

// some is a side of n of the ids.
func some(r *rand.Rand, ids []string, n int) map[string]bool {
	side := make(map[string]bool)
	for _, i := range r.Perm(len(ids))[:n] {
		side[ids[i]] = true
	}
	return side
}

// heal ends all faults.
func (w *world) heal() {
	w.log("all faults end")
	clear(w.cut)
	clear(w.blind)
	w.cfg.loss, w.cfg.twice, w.cfg.late = 0, 0, 0
	for _, id := range w.ids {
		if h := w.hosts[id]; h.alive && h.paused {
			h.resume()
		}
	}
}

// whenDead does something once a node is.
func (w *world) whenDead(id string, do func()) {
	if !w.hosts[id].alive {
		do()
		return
	}
	w.after(20*ms, func() { w.whenDead(id, do) })
}

// whenTaking does something once a node is about to take a partition over.
func (w *world) whenTaking(part int, do func(id string)) {
	for _, id := range w.living() {
		if w.hosts[id].m.parts[part].taking != nil {
			do(id)
			return
		}
	}
	if w.now < 5*sec {
		w.after(100*time.Microsecond, func() { w.whenTaking(part, do) })
	}
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
