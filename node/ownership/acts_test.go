package ownership

// carryOut does with the bucket of a partition what the machine wants.
func (h *host) carryOut(a Act) {
	switch a := a.(type) {
	case *Open:
		h.held[a.Partition].open = true
		h.unpark(a.Partition)
	case *Pause:
		h.held[a.Partition].open = false
	case *Mint:
		h.mint(a)
	case *Install:
		h.tasks[a.Partition]++
		l := h.staged[a.Partition].copied()
		l.refill(h)
		h.held[a.Partition] = l
		delete(h.staged, a.Partition)
		delete(h.kept, a.Partition)
		h.w.log("%s installs %d as %v, level %.0f", h.id, a.Partition, a.Claim, l.level)
	case *Stream:
		h.tasks[a.Partition]++
		h.task(a.Partition, h.w.between(ms/5, 5*ms), func() {
			h.m.Streamed(h.time(), a.Partition, a.Claim, a.To)
			h.flush()
		})
	case *Stop:
		h.tasks[a.Partition]++
	case *Freeze:
		h.tasks[a.Partition]++
		l := h.held[a.Partition]
		l.open = false
		l.refill(h)
		h.w.log("%s freezes %d for %v, level %.0f", h.id, a.Partition, a.To, l.level)
		h.hand(a)
	case *HandedOver:
		h.keep(a.Partition)
	case *Shut:
		l := h.held[a.Partition]
		h.w.log("%s shuts %d, level %.0f", h.id, a.Partition, l.level)
		h.keep(a.Partition)
	case *Fetch:
		h.tasks[a.Partition]++
		h.fetch(a)
	case *Discard:
		h.w.log("%s discards %d", h.id, a.Partition)
		delete(h.kept, a.Partition)
	case *Renewed:
		h.w.log("%v goes on as %v: %s", a.Was, a.Is, a.Why)
	}
}

func (h *host) mint(a *Mint) {
	h.tasks[a.Partition]++
	l := h.full()
	switch a.From {
	case Kept:
		l = h.kept[a.Partition].copied()
	case Frozen:
		l = h.held[a.Partition].copied()
	}
	l.refill(h)
	delete(h.kept, a.Partition)
	h.held[a.Partition] = l
	h.w.oracle.minted(h, a)
}

// hand brings what is frozen to its target, again and again until it is there.
func (h *host) hand(a *Freeze) {
	l := h.held[a.Partition].copied()
	h.w.deliver(h, a.To.ID, func(to *host) {
		if to.m.self != a.To {
			return
		}
		to.staged[a.Partition] = l.arrived(to)
		to.m.Arrived(to.time(), a.Partition, a.Claim, a.To)
		to.flush()
		to.w.deliver(to, h.id, func(back *host) {
			back.m.Staged(back.time(), a.Partition, a.Claim, a.To)
			back.flush()
		})
	})
	h.task(a.Partition, 30*ms, func() {
		if held := h.m.parts[a.Partition].held; held != nil && !held.staged {
			h.hand(a)
		}
	})
}

// keep makes a copy of what was held.
func (h *host) keep(part int) {
	h.tasks[part]++
	l := h.held[part]
	l.refill(h)
	l.open = false
	h.kept[part] = l
	delete(h.held, part)
}

// fetch brings the copy of another host here.
func (h *host) fetch(a *Fetch) {
	number := h.tasks[a.Partition]
	done := func(to *host, l *ledger) {
		if to != h || to.tasks[a.Partition] != number {
			return
		}
		to.tasks[a.Partition]++
		if l != nil {
			to.kept[a.Partition] = l
		}
		to.m.Fetched(to.time(), a.Partition, a.From, a.Copy, l != nil)
		to.flush()
	}
	h.w.deliver(h, a.From, func(from *host) {
		l := from.kept[a.Partition]
		if held := from.held[a.Partition]; held != nil {
			l = held
		}
		if l == nil {
			return
		}
		l.refill(from)
		c := l.copied()
		from.w.deliver(from, h.id, func(to *host) { done(to, c.arrived(to)) })
	})
	h.task(a.Partition, 30*ms, func() { done(h, nil) })
}
