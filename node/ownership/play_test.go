package ownership

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// outcome is what a run came to.
type outcome struct {
	seed     uint64
	wrong    string // what must not be; empty if all was well
	most     float64
	checks   int
	degraded int
	gaps     []time.Duration // without an owner
	settled  time.Duration   // after the last fault; -1: not
	hopeless bool
	mints    int
	blank    int
	steps    int
	trace    []string
}

// setting is how worlds of scenarios are.
func setting(seed uint64, forget time.Duration) worldConfig {
	return worldConfig{
		seed: seed, partitions: 4, capacity: 50, rate: 50, load: 3,
		loss: 0.01, twice: 0.01, late: 0.01, latest: 700 * ms, least: ms / 5, most: 2 * ms, drift: 0.01,
		disk: seed%2 == 0, unreachable: []string{"deny", "deny", "local", "local"}[seed%4],
		forget: forget,
	}
}

// play runs a scenario once.
func (s scenario) play(cfg worldConfig) outcome {
	if s.planned {
		cfg.loss, cfg.twice, cfg.late = 0, 0, 0
	}
	if s.forgetful {
		cfg.disk = false
	}
	w := newWorld(cfg)
	r := rand.New(rand.NewPCG(cfg.seed, 1))
	n := []int{3, 4, 5, 8}[r.IntN(4)]
	if s.nodes != nil {
		n = s.nodes(n)
	}
	w.boot(n)
	end := s.plan(w, r, n)
	w.run(end)
	w.heal()
	quiet := s.quiet
	if quiet == 0 {
		quiet = cfg.forget + 6*sec
	}
	settled := time.Duration(-1)
	for at := end; at < end+quiet; at += 20 * ms {
		w.run(at)
		if w.unsettled() != "" {
			settled = -1
		} else if settled < 0 {
			settled = at - end
		}
	}
	return s.judge(w, settled)
}

// judge says what is wrong about a run.
func (s scenario) judge(w *world, settled time.Duration) outcome {
	o := outcome{
		seed: w.cfg.seed, wrong: w.wrong, most: w.oracle.most(), checks: w.checks, degraded: w.degraded, gaps: w.oracle.gaps,
		settled: settled, hopeless: settled < 0 && w.hopeless(), blank: w.oracle.blank, steps: w.steps, trace: w.trace,
	}
	for _, id := range w.ids {
		o.mints += int(w.hosts[id].m.counters.Mints)
	}
	switch over := w.oracle.over(); {
	case o.wrong != "":
	case settled < 0 && !o.hopeless:
		o.wrong = "not settled: " + w.unsettled()
	case s.planned && o.most > 0:
		o.wrong = fmt.Sprintf("admitted %.1f too much", o.most)
	case s.planned && o.degraded > 0:
		o.wrong = fmt.Sprintf("%d of %d checks unanswered", o.degraded, o.checks)
	case over > 1.01:
		o.wrong = fmt.Sprintf("admitted %.1f more than its faults allow", over)
	}
	return o
}
