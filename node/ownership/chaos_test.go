package ownership

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	runsFlag     = flag.Int("ownership.runs", 0, "simulated runs of each scenario; 0 is a few")
	seedFlag     = flag.Uint64("ownership.seed", 1, "the first seed")
	scenarioFlag = flag.String("ownership.scenario", "", "run scenarios whose name contains this only")
	traceFlag    = flag.Bool("ownership.trace", false, "run the first seed only, and print what happened")
	dropFlag     = flag.Duration("ownership.forget", 3*time.Second, "after which silence members are forgotten")
	ruleFlag     = flag.String("ownership.unreachable", "", "local, deny or allow; by default deny and local in turn")
)

// outcome is what a run came to.
type outcome struct {
	seed                uint64
	two                 int
	twoSaid, unsettled  string
	over, most          float64
	checks, degraded    int
	gaps                []time.Duration
	settled             time.Duration // -1: not
	mints, blank, steps int
}

// play runs a scenario once.
func play(s scenario, seed uint64, tracing bool) (outcome, *world) {
	cfg := worldConfig{
		seed: seed, partitions: 4, capacity: 50, rate: 50, load: 3,
		loss: 0.01, twice: 0.01, late: 0.01, latest: 700 * ms, least: 200 * time.Microsecond, most: 2 * ms,
		drift: 0.01, disk: seed%2 == 0, forget: *dropFlag, unreachable: *ruleFlag, tracing: tracing,
	}
	if cfg.unreachable == "" {
		cfg.unreachable = []string{"deny", "deny", "local", "local"}[seed%4]
	}
	if s.planned {
		cfg.loss, cfg.twice, cfg.late = 0, 0, 0
	}
	w := newWorld(cfg)
	r := rand.New(rand.NewPCG(seed, 1))
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
	out := outcome{
		seed: seed, two: w.oracle.two, twoSaid: w.oracle.twoSaid, over: w.oracle.over(), most: w.oracle.most(),
		checks: w.checks, degraded: w.degraded, gaps: w.oracle.gaps, settled: settled, steps: w.steps, blank: w.oracle.blank,
	}
	if settled < 0 && !w.hopeless() {
		out.unsettled = w.unsettled()
	}
	for _, id := range w.ids {
		out.mints += int(w.hosts[id].m.counters.Mints)
	}
	return out, w
}

// heal ends all faults.
func (w *world) heal() {
	w.log("all faults end")
	clear(w.cut)
	w.cfg.loss, w.cfg.twice, w.cfg.late = 0, 0, 0
	for _, id := range w.ids {
		if h := w.hosts[id]; h.alive && h.paused {
			h.resume()
		}
	}
}

// wrong says what is not allowed about an outcome.
func (o outcome) wrong(s scenario) string {
	switch {
	case o.two > 0:
		return o.twoSaid
	case o.unsettled != "":
		return "not settled: " + o.unsettled
	case s.planned && o.most > 0:
		return fmt.Sprintf("admitted %.1f too much", o.most)
	case s.planned && o.degraded > 0:
		return fmt.Sprintf("%d of %d checks unanswered", o.degraded, o.checks)
	case o.over > 1.01:
		return fmt.Sprintf("admitted %.1f more than its faults allow", o.over)
	}
	return ""
}

func TestScenarios(t *testing.T) {
	runs := *runsFlag
	if runs == 0 {
		runs = 20
	}
	for _, s := range scenarios {
		if !strings.Contains(s.name, *scenarioFlag) {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			if *traceFlag {
				o, w := play(s, *seedFlag, true)
				t.Logf("%s\n%s\nover %.1f, most %.1f, degraded %d of %d", strings.Join(w.trace, "\n"), o.wrong(s), o.over, o.most,
					o.degraded, o.checks)
				return
			}
			report(t, s, playAll(s, runs))
		})
	}
}

// playAll plays many seeds, on all cores.
func playAll(s scenario, runs int) []outcome {
	all := make([]outcome, runs)
	var workers sync.WaitGroup
	next := make(chan int)
	for range 2 {
		workers.Go(func() {
			for i := range next {
				all[i], _ = play(s, *seedFlag+uint64(i), false)
			}
		})
	}
	for i := range all {
		next <- i
	}
	close(next)
	workers.Wait()
	return all
}

func report(t *testing.T, s scenario, all []outcome) {
	t.Helper()
	var gaps, settled []time.Duration
	var mints, blank, checks, degraded, bad, steps int
	var most float64
	for _, o := range all {
		if wrong := o.wrong(s); wrong != "" {
			if bad++; bad <= 3 {
				t.Errorf("seed %d: %s", o.seed, wrong)
			}
		}
		gaps = append(gaps, o.gaps...)
		if o.settled >= 0 {
			settled = append(settled, o.settled)
		}
		mints, blank, checks, degraded, steps = mints+o.mints, blank+o.blank, checks+o.checks, degraded+o.degraded, steps+o.steps
		most = max(most, o.most)
	}
	if bad > 3 {
		t.Errorf("%d of %d runs are wrong", bad, len(all))
	}
	t.Logf("%d runs, %d steps: too much at most %.0f; %d of %d checks by rule; without an owner p50 %v p99 %v max %v; settled p50 %v p99 %v; "+
		"%d take-overs, %d without a copy", len(all), steps, most, degraded, checks, part(gaps, .5), part(gaps, .99), part(gaps, 1),
		part(settled, .5), part(settled, .99), mints, blank)
}

func part(ds []time.Duration, q float64) time.Duration {
	if len(ds) == 0 {
		return 0
	}
	slices.Sort(ds)
	return ds[int(q*float64(len(ds)-1))].Round(100 * time.Microsecond)
}
