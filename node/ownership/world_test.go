package ownership

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// world is many machines, a network that is anything but reliable, and clocks that differ. True time is in nanoseconds
// from 0. One seed is one run.
type world struct {
	cfg                        worldConfig
	rand                       *rand.Rand
	now                        time.Duration
	queue                      events
	count                      int64
	hosts                      map[string]*host
	ids                        []string // sorted
	cut                        map[[2]string]bool
	boots                      uint64
	oracle                     *oracle
	steps                      int
	trace                      []string
	degraded, checks, admitted int
	stopLoad                   bool
}

type worldConfig struct {
	seed              uint64
	partitions        int
	capacity, rate    float64 // of the one bucket of each partition
	load              float64 // checks a second of each, as a multiple of the rate
	loss, twice, late float64
	least, most       time.Duration // of a message
	latest            time.Duration // of a late one
	drift             float64
	disk              bool // restarted nodes remember
	forget            time.Duration
	unreachable       string
	tracing           bool
}

type event struct {
	at time.Duration
	n  int64
	do func()
}

type events []event

func (q events) Len() int { return len(q) }
func (q events) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].n < q[j].n
}
func (q events) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *events) Push(x any)   { *q = append(*q, x.(event)) }
func (q *events) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}

func newWorld(cfg worldConfig) *world {
	w := &world{
		cfg: cfg, rand: rand.New(rand.NewPCG(cfg.seed, 0)), hosts: make(map[string]*host),
		cut: make(map[[2]string]bool),
	}
	w.oracle = newOracle(w)
	return w
}

func (w *world) log(format string, args ...any) {
	if w.cfg.tracing {
		w.trace = append(w.trace, fmt.Sprintf("%10.1f ", float64(w.now)/1e6)+fmt.Sprintf(format, args...))
	}
}

func (w *world) after(d time.Duration, do func()) {
	w.count++
	heap.Push(&w.queue, event{w.now + d, w.count, do})
}

func (w *world) run(until time.Duration) {
	for len(w.queue) > 0 && w.queue[0].at <= until {
		e := heap.Pop(&w.queue).(event)
		w.now = e.at
		w.steps++
		e.do()
	}
	w.now = until
}

func (w *world) between(low, high time.Duration) time.Duration {
	return low + time.Duration(w.rand.Int64N(int64(high-low)+1))
}

// deliver carries something from one host to another, or loses it, or carries it twice.
func (w *world) deliver(from *host, to string, do func(*host)) {
	if w.cut[[2]string{from.id, to}] || w.rand.Float64() < w.cfg.loss {
		return
	}
	times := 1
	if w.rand.Float64() < w.cfg.twice {
		times = 2
	}
	for range times {
		d := w.between(w.cfg.least, w.cfg.most)
		if w.rand.Float64() < w.cfg.late {
			d += w.between(0, w.cfg.latest)
		}
		w.after(d, func() {
			if w.cut[[2]string{from.id, to}] && w.rand.IntN(2) == 0 { // of what is under way when it is cut, half arrives
				return
			}
			if h := w.hosts[to]; h != nil {
				h.do(h.life, func() { do(h) })
			}
		})
	}
}

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
		h.offset = time.Duration(w.rand.Int64N(int64(1000 * time.Second)))
		w.ids = append(w.ids, id)
		slices.Sort(w.ids)
	}
	w.hosts[id] = h
	h.m = New(Config{
		Self: Member{id, w.boots << 16}, Partitions: w.cfg.partitions, Place: placer(w.cfg.partitions),
		JoinTimeout: 10 * time.Second, Forget: w.cfg.forget,
	}, h.time())
	w.after(w.between(0, 10*time.Millisecond), func() { h.do(h.life, h.tick) })
	w.after(w.between(0, 100*time.Millisecond), func() { h.do(h.life, h.replicate) })
	w.log("%s starts as #%d", id, w.boots<<16)
	return h
}

// boot makes a cluster of n whose members know each other and have placed everything.
func (w *world) boot(n int) {
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
		m.born -= bucket.Instant(10 * time.Second)
		m.setList(now-bucket.Instant(10*time.Second), list)
		for _, other := range members {
			m.heard[other.ID] = heard{at: now, incarnation: other.Incarnation, state: Active, ever: true}
		}
		for part, owner := range owners {
			c := Claim{Epoch{1, members[owner].Incarnation}, members[owner].ID}
			if c.Owner == h.id {
				m.act(&Mint{Partition: part, Claim: c})
				m.claim(now, part, c, Founded)
			} else {
				m.parts[part].known = c
			}
		}
		h.flush()
	}
	w.after(200*time.Millisecond, w.oracle.watch)
	for part := range w.cfg.partitions {
		w.after(300*time.Millisecond, func() { w.loadOn(part) })
	}
}

func name(i int) string { return fmt.Sprintf("n%03d", i) }

// loadOn sends checks of a partition to nodes that are ready, for ever.
func (w *world) loadOn(part int) {
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

func (w *world) living() (ids []string) {
	for _, id := range w.ids {
		if w.hosts[id].alive {
			ids = append(ids, id)
		}
	}
	return ids
}

func (w *world) crash(id string) {
	h := w.hosts[id]
	if h == nil || !h.alive {
		return
	}
	w.log("%s crashes", id)
	h.alive, h.paused, h.late = false, false, nil
	h.life++
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
		h.m.setList(h.time(), old.m.list)
		h.flush()
	}
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
		w.after(200*time.Millisecond, func() { w.crash(h.id) })
	default:
		w.after(20*time.Millisecond, func() { w.awaitLeft(h) })
	}
}

func (w *world) oneWay(from, to string, cut bool) { w.cut[[2]string{from, to}] = cut }

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
				w.oneWay(a, b, cut)
			}
		}
	}
}

func (w *world) ownerOf(part int) string {
	for _, id := range w.ids {
		h := w.hosts[id]
		if p := h.m.parts[part]; h.alive && p.held != nil && !p.held.frozen {
			return id
		}
	}
	return w.living()[0]
}

// unsettled says what is not as it should be once all faults are over.
func (w *world) unsettled() string {
	var bad []string
	say := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	digest := uint64(0)
	for _, id := range w.living() {
		h := w.hosts[id]
		if h.leaving {
			say("%s is still leaving", id)
			continue
		}
		if !h.m.Member() {
			say("%s is no member (joined %v, memory %v)", id, h.m.joined, h.m.memory)
			continue
		}
		if digest == 0 {
			digest = h.m.list.digest
		}
		if h.m.list.digest != digest {
			say("%s has another list: %v", id, h.m.list.members)
		}
		for part := range h.m.parts {
			if held := h.m.parts[part].held; held != nil && held.frozen {
				say("%d is frozen at %s for %v", part, id, held.to)
			}
			if len(h.debts[part]) > 0 {
				say("%s owes on %d", id, part)
			}
		}
	}
	for part := range w.cfg.partitions {
		if n := len(w.deciders(part)); n != 1 {
			say("%d has %d owners", part, n)
		}
	}
	return strings.Join(bad, "; ")
}

func (w *world) deciders(part int) (all []*host) {
	for _, id := range w.ids {
		if h := w.hosts[id]; h.alive && !h.paused && h.decides(part) {
			all = append(all, h)
		}
	}
	return all
}

// hopeless says that so many members are dead or without memory that there is no majority, by anybody's list: then nothing
// is promised but that every check is answered.
func (w *world) hopeless() bool {
	for _, id := range w.living() {
		list := w.hosts[id].m.list
		remember := 0
		for _, member := range list.members {
			if h := w.hosts[member]; h.alive && h.m.memory {
				remember++
			}
		}
		if remember >= list.Majority() {
			return false
		}
	}
	return true
}
