package ownership

import "time"

// request is a check on its way.
type request struct {
	part  int
	at    *host
	life  int
	begun time.Duration
	done  bool
}

const (
	deadline = 12 * ms
	// parkHere is the hop of a check that must not be sent on.
	parkHere = 3
)

// decides says whether this host would answer a check of the partition now.
func (h *host) decides(part int) bool {
	l := h.held[part]
	return l != nil && l.open && h.time() < h.m.Authority()
}

// check decides here, or where the partition is held, or by the failure rule.
func (h *host) check(part int) {
	h.w.checks++
	r := &request{part: part, at: h, life: h.life, begun: h.w.now}
	h.handle(r, 0)
	h.w.after(deadline, func() {
		if r.done {
			return
		}
		r.done = true
		if h.alive && h.life == r.life && !h.paused {
			h.w.degraded++
			owner, way := h.m.Decider(h.time(), part)
			h.w.log("a check of %d at %s is not answered (%s by %s, known %v)", part, h.id, owner, way, h.m.parts[part].known)
			h.byRule(part)
		}
	})
}

func (h *host) handle(r *request, hop int) {
	if r.done || h.w.now-r.begun > deadline {
		return
	}
	if h.decides(r.part) {
		h.decide(r.part)
		if r.at == h {
			r.done = true
			return
		}
		h.w.deliver(h, r.at.id, func(*host) { r.done = true })
		return
	}
	if hop < parkHere {
		owner, way := h.m.Decider(h.time(), r.part)
		if way != "" && way != h.id {
			next := hop + 1
			if held := h.m.parts[r.part].held; held != nil && held.frozen {
				next = parkHere // it waits there until the move is over
			}
			if owner != way {
				next = hop
			}
			h.w.deliver(h, way, func(to *host) { to.handle(r, next) })
			return
		}
	}
	h.parked[r.part] = append(h.parked[r.part], func() { h.handle(r, hop) })
}

func (h *host) unpark(part int) {
	parked := h.parked[part]
	delete(h.parked, part)
	for _, do := range parked {
		do()
	}
}

func (h *host) decide(part int) {
	if held := h.m.parts[part].held; held.authority <= h.time() {
		h.w.fail("%s decides for %d after its authority for it", h.id, part)
	}
	l := h.held[part]
	l.refill(h)
	if l.level >= 1 {
		l.level--
		l.spent++
		h.w.oracle.admit(part)
	}
}
