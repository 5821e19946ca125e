package sim

import (
	"flag"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
)

var (
	seeds = flag.Int("seeds", 20, "how many seeds TestRandom runs, from 1 up")
	seed  = flag.Uint64("seed", 0, "the one seed that TestRandom runs, instead")
)

// TestRandom holds random clusters under random faults against the oracle: nobody is admitted that one bucket would
// have refused, but for what the faults allow. Afterwards nothing stays lent.
func TestRandom(t *testing.T) {
	first, last := uint64(1), uint64(*seeds)
	if *seed != 0 {
		first, last = *seed, *seed
	}
	var sum counts
	var sent messages
	var forgiven, worst int64
	for seed := first; seed <= last; seed++ {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := random(t, drawScenario(seed))
				sum.join(&o.all)
				sent.checks += o.messages.checks
				sent.requests += o.messages.requests
				forgiven += o.cluster.oracle.forgiven
				over, _ := o.cluster.oracle.over()
				worst = max(worst, over)
			})
		})
	}
	t.Logf("%v; %d checks and %d lease requests sent; faults allowed %d tokens, the worst over-admission was %d",
		&sum, sent.checks, sent.requests, forgiven, worst)
}

// random runs a scenario.
func random(t *testing.T, s *scenario) *stats {
	told := *seed != 0
	if told {
		t.Log(s)
	}
	c := newCluster(t, s.setup)
	var faults []func()
	for _, f := range s.faults {
		faults = append(faults, func() { c.inflict(f) })
	}
	st := c.load(s.lasts, s.sources(), faults...)
	over, excess := c.oracle.over()
	for _, e := range excess {
		t.Error(e)
	}
	if over > c.oracle.forgiven {
		t.Errorf("%d tokens too much, and faults allow %d in all", over, c.oracle.forgiven)
	}
	if st.all.checks == 0 {
		t.Error("no load")
	}
	if own := st.all.admitted - st.all.admittedBy[policy.Local]; c.oracle.fed < own {
		t.Errorf("%d checks were admitted within the limits, and the oracle was fed %d", own, c.oracle.fed)
	}
	var short []*group
	for _, g := range s.setup.groups {
		if g.longestWindow() < 2*time.Minute {
			short = append(short, g)
		}
	}
	for _, w := range c.drained(short) {
		t.Error(w)
	}
	if told || t.Failed() {
		if !told {
			t.Log(s)
		}
		t.Logf("%v; %+v; faults allowed %d tokens, over-admission %d; admitted %.3f of ideal",
			&st.all, st.messages, c.oracle.forgiven, over, st.ofIdeal())
		t.Logf("again: go test ./test/sim -run TestRandom -seed %d -v", s.seed)
	}
	return st
}
