package ownership

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// rank places by rendezvous: cheap, and it moves little.
func rank(part int, id string) uint64 {
	x := uint64(part)*0x9E3779B97F4A7C15 + 1
	for _, b := range []byte(id) {
		x = (x ^ uint64(b)) * 0x100000001b3
	}
	x ^= x >> 29
	x *= 0xBF58476D1CE4E5B9
	x ^= x >> 32
	return x
}

func placer(partitions int) func(ids []string) []uint16 {
	return func(ids []string) []uint16 {
		owners := make([]uint16, partitions)
		for part := range owners {
			for i := range ids {
				if rank(part, ids[i]) > rank(part, ids[owners[part]]) {
					owners[part] = uint16(i)
				}
			}
		}
		return owners
	}
}

func name(i int) string { return fmt.Sprintf("n%03d", i) }

// start starts a node that has never been there, or one that comes back.
func (w *world) start(id string) *host {
	w.boots++
	old := w.hosts[id]
	h := &host{
		w: w, id: id, alive: true,
		held: make(map[int]*ledger), kept: make(map[int]*ledger), staged: make(map[int]*ledger), tasks: make(map[int]int),
		shares: make(map[int]*share), debts: make(map[int][]debt), parked: make(map[int][]func()),
	}
	if old != nil {
		h.life, h.drift, h.offset = old.life+1, old.drift, old.offset
	} else {
		h.drift = w.cfg.drift * float64(1-2*w.rand.IntN(2))
		h.offset = time.Duration(w.rand.Int64N(int64(1000 * sec)))
		w.ids = append(w.ids, id)
		slices.Sort(w.ids)
	}
	w.hosts[id] = h
	h.m = New(Config{
		Self: Member{id, w.boots << 16}, Partitions: w.cfg.partitions, Place: placer(w.cfg.partitions),
		Alone: w.alone[id], Expect: w.cfg.expect, JoinTimeout: cmp.Or(w.cfg.join, 10*sec), Forget: w.cfg.forget,
		Settle: w.cfg.settle,
	}, h.time())
	w.after(w.between(0, 10*ms), func() { h.do(h.life, h.tick) })
	w.after(w.between(0, 100*ms), func() { h.do(h.life, h.replicate) })
	w.log("%s starts as #%d", id, w.boots<<16)
	return h
}

// restart starts a node again that has crashed. With a disk it knows what it must not contradict.
func (w *world) restart(id string) {
	old := w.hosts[id]
	if old == nil || old.alive {
		return
	}
	h := w.start(id)
	if w.cfg.disk && old.m.memory && !old.m.list.Empty() {
		h.m.memory, h.m.returned = true, true
		h.m.voter = old.m.voter
		for part, g := range h.m.voter.given {
			h.m.parts[part].known = g.claim
		}
		h.m.setList(h.time(), old.m.list)
		h.flush()
	}
}

// boot makes a cluster of n at work.
func (w *world) boot(n int) {
	w.gather(n)
	w.work()
}

// gather makes a cluster of n whose members know each other and have placed everything.
func (w *world) gather(n int) {
	var hosts []*host
	var members []Member
	for i := range n {
		h := w.start(name(i))
		hosts = append(hosts, h)
		members = append(members, h.m.self)
	}
	list := NewList(members...)
	owners := placer(w.cfg.partitions)(list.members)
	for _, h := range hosts {
		m := h.m
		now := h.time()
		m.memory = true
		m.born -= bucket.Instant(10 * sec)
		m.setList(now-bucket.Instant(10*sec), list)
		for _, other := range members {
			m.heard[other.ID] = heard{at: now, spoke: now, incarnation: other.Incarnation, state: Active, ever: true}
		}
		for part, owner := range owners {
			c := Claim{Epoch{1, members[owner].Incarnation}, members[owner].ID}
			if c.Owner == h.id {
				m.act(&Mint{Partition: part, Claim: c, Founding: true})
				m.claim(now, part, c, Founded)
			} else {
				m.parts[part].known = c
			}
		}
		h.flush()
	}
}

// work begins to watch, and to send checks.
func (w *world) work() {
	w.after(200*ms, w.oracle.watch)
	for part := range w.cfg.partitions {
		w.after(300*ms, func() { w.loadOn(part) })
	}
}

// loadOn sends checks of a partition to nodes that are ready, for ever.
func (w *world) loadOn(part int) {
	if w.cfg.load == 0 {
		return
	}
	if !w.stopLoad {
		var ready []*host
		for _, id := range w.ids {
			if h := w.hosts[id]; h.alive && !h.paused && !h.leaving && h.m.Member() {
				ready = append(ready, h)
			}
		}
		if len(ready) > 0 {
			ready[w.rand.IntN(len(ready))].check(part)
		}
	}
	w.after(time.Duration(w.rand.ExpFloat64()*1e9/(w.cfg.load*w.cfg.rate)), func() { w.loadOn(part) })
}
