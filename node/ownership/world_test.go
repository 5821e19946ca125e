package ownership

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

// world is many machines, a network that is anything but reliable, and clocks that differ. True time is in nanoseconds
// from 0. One seed is one run.
type world struct {
	cfg    worldConfig
	rand   *rand.Rand
	now    time.Duration
	queue  events
	count  int64 // events ever
	hosts  map[string]*host
	ids    []string // sorted
	cut    map[[2]string]bool
	healed map[[2]string]time.Duration // until when ways were cut
	blind  map[string]bool             // whose gossip sees nobody
	alone  map[string]bool             // who has no seeds
	boots  uint64
	oracle *oracle
	steps  int
	wrong  string // the first thing that must not be
	trace  []string

	checks   int
	degraded int // of them, decided by the failure rule
	stopLoad bool
}

type worldConfig struct {
	seed              uint64
	partitions        int
	capacity, rate    float64 // of the one bucket of each partition
	load              float64 // checks a second of each, as a multiple of the rate; 0: none
	loss, twice, late float64 // of messages
	least, most       time.Duration
	latest            time.Duration // of a late one
	drift             float64
	disk              bool // restarted nodes remember
	unreachable       string
	tracing           bool
	expect            int
	join              time.Duration // how long new nodes look for a cluster; 0: 10 s
	forget, settle    time.Duration
}

// event is something that happens at an instant; of those at the same, the one that was planned first.
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
	old[len(old)-1] = event{}
	*q = old[:len(old)-1]
	return x
}

func newWorld(cfg worldConfig) *world {
	w := &world{
		cfg: cfg, rand: rand.New(rand.NewPCG(cfg.seed, 0)), hosts: make(map[string]*host),
		cut: make(map[[2]string]bool), healed: make(map[[2]string]time.Duration),
		blind: make(map[string]bool), alone: make(map[string]bool),
	}
	w.oracle = newOracle(w)
	return w
}

func (w *world) log(format string, args ...any) {
	if w.cfg.tracing {
		w.trace = append(w.trace, fmt.Sprintf("%10.1f ", float64(w.now)/1e6)+fmt.Sprintf(format, args...))
	}
}

// fail notes what must not be, if it is the first.
func (w *world) fail(format string, args ...any) {
	if w.wrong == "" {
		w.wrong = fmt.Sprintf("at %v ", w.now) + fmt.Sprintf(format, args...)
		w.log("WRONG: %s", w.wrong)
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

// runUntil runs until a condition holds, or for so long, and says whether it does.
func (w *world) runUntil(limit time.Duration, holds func() bool) bool {
	for end := w.now + limit; w.now < end; {
		if holds() {
			return true
		}
		w.run(w.now + 20*ms)
	}
	return holds()
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

// living returns the ids of the nodes that are up, in order.
func (w *world) living() (ids []string) {
	for _, id := range w.ids {
		if w.hosts[id].alive {
			ids = append(ids, id)
		}
	}
	return ids
}

// forget takes a node that is down for good out of the world, which would have to look at all that ever were.
func (w *world) forget(id string) {
	delete(w.hosts, id)
	w.ids = slices.DeleteFunc(w.ids, func(x string) bool { return x == id })
}
