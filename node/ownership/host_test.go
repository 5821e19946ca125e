package ownership

import (
	"math"
	"slices"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// host carries out what a machine wants, for one bucket per partition.
type host struct {
	w       *world
	id      string
	m       *Machine
	alive   bool
	paused  bool
	leaving bool
	life    int
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

// ledger is the state of a partition: one bucket, and the debts that were settled.
type ledger struct {
	level   float64
	at      bucket.Instant
	open    bool
	settled map[string]int // by debtor, up to which
	spent   float64        // by this holder, ever
	acked   float64        // of it, as of the last snapshot that was confirmed
	ackedAt string
	ackLife int
}

// share is a bucket of the failure rule.
type share struct {
	level, size, rate float64
	at                bucket.Instant
	opened, used      time.Duration
	spent             float64
}

type debt struct {
	seq    int
	tokens float64
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

func (h *host) tick() {
	var peers []Member
	for _, id := range h.w.ids {
		if o := h.w.hosts[id]; id != h.id && o.alive && !h.w.cut[[2]string{h.id, id}] {
			peers = append(peers, Member{ID: id})
		}
	}
	h.m.peers = peers
	h.m.Tick(h.time())
	h.flush()
	for part := range h.w.cfg.partitions {
		h.unpark(part)
		h.settle(part)
	}
	h.after(10*time.Millisecond, h.tick)
}

// flush carries out what the machine wants.
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
			h.w.deliver(h, e.To, func(to *host) {
				to.m.Receive(to.time(), h.id, e.Message)
				to.flush()
			})
		}
	}
}

func (h *host) carryOut(a Act) {
	now := h.time()
	switch a := a.(type) {
	case *Open:
		h.held[a.Partition].open = true
		h.unpark(a.Partition)
	case *Pause:
		h.held[a.Partition].open = false
	case *Mint:
		h.tasks[a.Partition]++
		l := &ledger{level: h.w.cfg.capacity, at: now, settled: make(map[string]int)}
		switch a.From {
		case Kept:
			l = h.kept[a.Partition].copyAt(h, now)
		case Frozen:
			l = h.held[a.Partition].copyAt(h, now)
		}
		delete(h.kept, a.Partition)
		h.held[a.Partition] = l
		h.w.oracle.minted(h, a)
	case *Install:
		h.tasks[a.Partition]++
		h.held[a.Partition] = h.staged[a.Partition].copyAt(h, now)
		delete(h.staged, a.Partition)
		delete(h.kept, a.Partition)
		h.w.log("%s installs %d as %v, level %.0f", h.id, a.Partition, a.Claim, h.held[a.Partition].level)
	case *Stream:
		h.tasks[a.Partition]++
		h.task(a.Partition, h.w.between(200*time.Microsecond, 5*time.Millisecond), func() {
			h.m.Streamed(h.time(), a.Partition, a.Claim, a.To)
			h.flush()
		})
	case *Stop:
		h.tasks[a.Partition]++
	case *Freeze:
		h.tasks[a.Partition]++
		h.held[a.Partition].open = false
		h.held[a.Partition].refill(h, now)
		h.w.log("%s freezes %d for %v, level %.0f", h.id, a.Partition, a.To, h.held[a.Partition].level)
		h.hand(a)
	case *HandedOver:
		h.keep(a.Partition, 0)
	case *Shut:
		owed := 0.0
		if l := h.held[a.Partition]; a.Outbid {
			owed = l.spent - l.acked
		}
		h.keep(a.Partition, owed)
	case *Fetch:
		h.tasks[a.Partition]++
		h.fetch(a)
	case *Discard:
		delete(h.kept, a.Partition)
	case *Renewed:
		h.w.log("%v goes on as %v: %s", a.Was, a.Is, a.Why)
	}
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

// hand brings what is frozen to its target, again and again until it is there.
func (h *host) hand(a *Freeze) {
	l := *h.held[a.Partition]
	h.w.deliver(h, a.To.ID, func(to *host) {
		if to.m.self != a.To {
			return
		}
		to.staged[a.Partition] = l.copyAt(to, to.time())
		to.staged[a.Partition].level = l.level
		to.staged[a.Partition].at = to.time()
		to.m.Arrived(to.time(), a.Partition, a.Claim, a.To)
		to.flush()
		to.w.deliver(to, h.id, func(back *host) {
			back.m.Staged(back.time(), a.Partition, a.Claim, a.To)
			back.flush()
		})
	})
	h.task(a.Partition, 30*time.Millisecond, func() {
		if held := h.m.parts[a.Partition].held; held != nil && !held.staged {
			h.hand(a)
		}
	})
}

func (h *host) keep(part int, owed float64) {
	h.tasks[part]++
	l := h.held[part]
	l.refill(h, h.time())
	l.open = false
	h.kept[part] = l
	delete(h.held, part)
	if owed > 0 {
		h.owe(part, owed)
	}
}

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
		at := from.time()
		c := *l
		c.refill(from, at)
		from.w.deliver(from, h.id, func(to *host) {
			l := c.copyAt(to, to.time())
			l.level, l.at = c.level, to.time()
			done(to, l)
		})
	})
	h.task(a.Partition, 30*time.Millisecond, func() { done(h, nil) })
}

// copyAt returns a copy for a new holder at now. Its level is as of l.at on the same clock.
func (l *ledger) copyAt(h *host, now bucket.Instant) *ledger {
	c := &ledger{level: l.level, at: l.at, settled: make(map[string]int)}
	for k, v := range l.settled {
		c.settled[k] = v
	}
	c.refill(h, now)
	return c
}

func (l *ledger) refill(h *host, now bucket.Instant) {
	l.level = min(h.w.cfg.capacity, l.level+h.w.cfg.rate*max(0, time.Duration(now-l.at).Seconds()))
	l.at = max(l.at, now)
}

// replicate sends snapshots, ten times a second.
func (h *host) replicate() {
	for part := range h.w.cfg.partitions {
		s, ok := h.m.Snapshot(h.time(), part, true)
		if !ok {
			continue
		}
		l := h.held[part]
		l.refill(h, h.time())
		c := *l
		spent := l.spent
		h.w.deliver(h, s.To, func(to *host) {
			if !to.m.Accepts(s) {
				if to.m.parts[part].copy.Claim != s.Claim {
					to.w.deliver(to, h.id, func(back *host) { back.m.Missed(s) })
				}
				return
			}
			k := c.copyAt(to, to.time())
			k.level, k.at = c.level, to.time()
			to.kept[part] = k
			to.m.Keeps(s)
			life := to.life
			to.w.deliver(to, h.id, func(back *host) {
				back.m.Snapshotted(back.time(), s)
				back.flush()
				if held := back.m.parts[part].held; held != nil && held.claim == s.Claim && held.replica.acked == s.Seq {
					l := back.held[part]
					l.acked, l.ackedAt, l.ackLife = spent, s.To, life
				}
			})
		})
	}
	h.after(100*time.Millisecond, h.replicate)
}

// decides says whether this host would answer a check of the partition now.
func (h *host) decides(part int) bool {
	l := h.held[part]
	return l != nil && l.open && h.time() < h.m.Authority()
}

// request is a check on its way.
type request struct {
	part  int
	at    *host
	life  int
	begun time.Duration
	done  bool
}

const deadline = 12 * time.Millisecond

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
			if h.w.degraded < 30 {
				owner, way := h.m.Decider(h.time(), part)
				h.w.log("a check of %d at %s is not answered (%s by %s, known %v)", part, h.id, owner, way,
					h.m.parts[part].known)
			}
			h.byRule(part)
		}
	})
}

// parkHere is the hop of a check that must not be sent on.
const parkHere = 3

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
	l := h.held[part]
	l.refill(h, h.time())
	if l.level >= 1 {
		l.level--
		l.spent++
		h.w.oracle.admit(part)
	}
}

// byRule decides by the failure rule.
func (h *host) byRule(part int) {
	members := h.m.list.members
	i := slices.Index(members, h.id)
	switch h.w.cfg.unreachable {
	case "deny":
		return
	case "allow":
		h.w.oracle.admit(part)
		return
	}
	if i < 0 {
		return
	}
	n := float64(len(members))
	j := 0.0
	for _, id := range members {
		if rank(part+1000, id) < rank(part+1000, h.id) {
			j++
		}
	}
	size := math.Floor(h.w.cfg.capacity*(j+1)/n) - math.Floor(h.w.cfg.capacity*j/n)
	s := h.shares[part]
	if s == nil {
		s = &share{level: size, at: h.time(), used: h.w.now}
		h.shares[part] = s
		h.w.oracle.ruled[part] += size
	}
	s.size, s.rate = size, h.w.cfg.rate/n
	h.w.oracle.ruled[part] += s.rate * fast * (h.w.now - s.used).Seconds()
	s.used = h.w.now
	s.level = min(s.size, s.level+s.rate*time.Duration(h.time()-s.at).Seconds())
	s.at = h.time()
	if s.level >= 1 {
		s.level--
		h.owe(part, 1)
		h.w.oracle.admit(part)
	}
}

// owe notes what has to be subtracted where the partition is decided.
func (h *host) owe(part int, tokens float64) {
	h.debtSeq++
	h.debts[part] = append(h.debts[part], debt{h.debtSeq, tokens})
}

// settle has the oldest debt subtracted, once.
func (h *host) settle(part int) {
	if len(h.debts[part]) == 0 {
		return
	}
	d := h.debts[part][0]
	debtor := h.id + "/" + time.Duration(h.life).String()
	owner, _ := h.m.Decider(h.time(), part)
	pay := func(to *host) {
		if !to.decides(part) {
			return
		}
		l := to.held[part]
		if l.settled[debtor] < d.seq {
			l.settled[debtor] = d.seq
			l.refill(to, to.time())
			l.level = max(l.level-d.tokens, -h.w.cfg.capacity)
		}
		paid := func(back *host) {
			if ds := back.debts[part]; back == h && len(ds) > 0 && ds[0].seq == d.seq {
				back.debts[part] = ds[1:]
			}
		}
		if to == h {
			paid(h)
		} else {
			to.w.deliver(to, h.id, paid)
		}
	}
	if owner == h.id {
		pay(h)
	} else if owner != "" {
		h.w.deliver(h, owner, pay)
	}
}
