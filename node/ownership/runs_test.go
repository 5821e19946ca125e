package ownership

import (
	"flag"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	runsFlag     = flag.Int("ownership.runs", 0, "simulated runs of each scenario; 0 is a few")
	seedFlag     = flag.Uint64("ownership.seed", 1, "the first seed")
	scenarioFlag = flag.String("ownership.scenario", "", "run scenarios whose name contains this only")
	firstFlag    = flag.Bool("ownership.first", false, "end a scenario at the first run that is wrong")
	traceFlag    = flag.Bool("ownership.trace", false, "run the first seed only, and print what happened")
	forgetFlag   = flag.Duration("ownership.forget", 3*time.Second, "after which silence members are forgotten")
	ruleFlag     = flag.String("ownership.unreachable", "", "local or deny; by default both in turn")
)

// someRuns is how many runs there are unless a flag says otherwise.
func someRuns() int {
	switch {
	case *runsFlag > 0:
		return *runsFlag
	case raceDetector:
		return 1
	}
	return 5
}

func flagged(seed uint64) worldConfig {
	cfg := setting(seed, *forgetFlag)
	if *ruleFlag != "" {
		cfg.unreachable = *ruleFlag
	}
	return cfg
}

// TestScenarios runs every scenario from several seeds. One that is wrong is seen in full by
//
//	go test -run TestScenarios -v -ownership.scenario "owner alone" -ownership.seed 17 -ownership.trace
func TestScenarios(t *testing.T) {
	for _, s := range scenarios {
		if !strings.Contains(s.name, *scenarioFlag) {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			if *traceFlag {
				cfg := flagged(*seedFlag)
				cfg.tracing = true
				o := s.play(cfg)
				t.Logf("%s\n%s", strings.Join(o.trace, "\n"), o.wrong)
				summarize(t, []outcome{o})
				return
			}
			all := s.playAll(someRuns())
			for _, o := range all {
				if o.wrong != "" {
					t.Errorf("seed %d: %s", o.seed, o.wrong)
				}
			}
			summarize(t, all)
		})
	}
}

// playAll plays many seeds on two cores.
func (s scenario) playAll(runs int) []outcome {
	all := make([]outcome, runs)
	var next atomic.Int64
	var ended atomic.Bool
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(runs) && !ended.Load(); i = next.Add(1) - 1 {
				all[i] = s.play(flagged(*seedFlag + uint64(i)))
				if *firstFlag && all[i].wrong != "" {
					ended.Store(true)
				}
			}
		})
	}
	workers.Wait()
	return all
}

func summarize(t *testing.T, all []outcome) {
	t.Helper()
	var gaps, settled []time.Duration
	var sum outcome
	hopeless := 0
	for _, o := range all {
		gaps = append(gaps, o.gaps...)
		if o.settled >= 0 {
			settled = append(settled, o.settled)
		}
		if o.hopeless {
			hopeless++
		}
		sum.most = max(sum.most, o.most)
		sum.mints, sum.blank, sum.checks = sum.mints+o.mints, sum.blank+o.blank, sum.checks+o.checks
		sum.degraded, sum.steps = sum.degraded+o.degraded, sum.steps+o.steps
	}
	t.Logf("%d runs, %d steps, %d without a majority for good: too much at most %.0f; %d of %d checks by rule; without an owner "+
		"p50 %v p99 %v max %v; settled p50 %v p99 %v; %d take-overs, %d without a copy", len(all), sum.steps, hopeless, sum.most,
		sum.degraded, sum.checks, quantile(gaps, .5), quantile(gaps, .99), quantile(gaps, 1), quantile(settled, .5),
		quantile(settled, .99), sum.mints, sum.blank)
}

func quantile(ds []time.Duration, q float64) time.Duration {
	if len(ds) == 0 {
		return 0
	}
	slices.Sort(ds)
	return ds[int(q*float64(len(ds)-1))].Round(100 * time.Microsecond)
}

// TestSameSeedSameRun holds the machines to what their messages and clocks say: nothing else decides.
func TestSameSeedSameRun(t *testing.T) {
	for i, s := range scenarios {
		if raceDetector && i%8 != 0 {
			continue
		}
		cfg := setting(*seedFlag, 3*sec)
		cfg.tracing = true
		if a, b := s.play(cfg), s.play(cfg); a.steps != b.steps || !slices.Equal(a.trace, b.trace) {
			t.Errorf("%s: one run has %d steps, another of the same seed %d, or other ones", s.name, a.steps, b.steps)
		}
	}
}
