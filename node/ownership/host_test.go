package ownership

import (
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// host is a node of the world: its machine, and one bucket for each partition.
type host struct {
	w       *world
	id      string
	m       *Machine
	alive   bool
	paused  bool
	leaving bool
	life    int      // rises when it dies, and when it comes back
	late    []func() // what arrived while paused
	drift   float64
	offset  time.Duration

	held, kept, staged map[int]*ledger
	tasks              map[int]int // numbers what is being done for a partition; a newer number ends it
	shares             map[int]*share
	debts              map[int][]debt
	debtSeq            int
	parked             map[int][]func()
}

// time is the host's clock, which runs faster or slower than true time.
func (h *host) time() bucket.Instant {
	return bucket.Instant(h.offset + time.Duration(float64(h.w.now)*(1+h.drift)))
}

// do does something at the host, when it is not paused, in this life of it.
func (h *host) do(life int, what func()) {
	if !h.alive || h.life != life {
		return
	}
	if h.paused {
		h.late = append(h.late, func() { h.do(life, what) })
		return
	}
	what()
}

func (h *host) resume() {
	h.w.log("%s goes on", h.id)
	h.paused = false
	late := h.late
	h.late = nil
	for _, do := range late {
		do()
	}
}

func (h *host) after(d time.Duration, what func()) {
	life := h.life
	h.w.after(d, func() { h.do(life, what) })
}

// task does something later, unless something else was begun for the partition.
func (h *host) task(part int, d time.Duration, what func()) {
	number := h.tasks[part]
	h.after(d, func() {
		if h.tasks[part] == number {
			what()
		}
	})
}

// tick is what a node does all the time. Gossip sees whoever is up and not cut off.
func (h *host) tick() {
	var peers []Member
	for _, id := range h.w.ids {
		if o := h.w.hosts[id]; id != h.id && o.alive && !h.w.cut[[2]string{h.id, id}] && !h.w.blind[h.id] {
			peers = append(peers, o.m.self)
		}
	}
	h.m.Peers(h.time(), peers)
	h.m.Tick(h.time())
	h.flush()
	for part := range h.w.cfg.partitions {
		h.unpark(part)
		h.settle(part)
	}
	h.after(10*ms, h.tick)
}

// flush carries out what the machine wants. What it says travels as bytes, so that machines share nothing.
func (h *host) flush() {
	for {
		out := h.m.Take()
		if len(out.Acts)+len(out.Send) == 0 {
			break
		}
		for _, a := range out.Acts {
			h.carryOut(a)
		}
		for _, e := range out.Send {
			b := Append(nil, e.Message)
			h.w.deliver(h, e.To, func(to *host) {
				msg, err := Decode(b)
				if err != nil {
					h.w.fail("%s can't read %T of %s: %v", to.id, e.Message, h.id, err)
					return
				}
				to.m.Receive(to.time(), h.id, msg)
				to.flush()
			})
		}
	}
}
