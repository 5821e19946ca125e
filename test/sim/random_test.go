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
	seeds = flag.Int("seeds", defaultSeeds, "how many seeds TestRandom runs, from 1 up")
	story = flag.Bool("story", false, "let the nodes of a fleet log what happens")
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
				st, v := random(t, drawScenario(seed))
				sum.join(&st.all)
				sent.checks += st.messages.checks
				sent.requests += st.messages.requests
				forgiven += v.forgiven
				worst = max(worst, v.over)
			})
		})
	}
	if *seed == 0 && sum.admittedBy[policy.Lease] == 0 {
		t.Error("no lease was used, so this has shown nothing of them")
	}
	t.Logf("%v; %d checks and %d lease requests sent; faults allowed %d tokens, the worst over-admission was %d",
		&sum, sent.checks, sent.requests, forgiven, worst)
}

// random runs a scenario and judges it.
func random(t *testing.T, s *scenario) (*stats, verdict) {
	c := newCluster(t, s.setup)
	s.aim()
	told := *seed != 0
	if told {
		t.Log(s)
	}
	var faults []func()
	for _, f := range s.faults {
		faults = append(faults, func() { c.inflict(f) })
	}
	st := c.load(s.lasts, s.sources(), faults...)
	var short []*group
	for _, g := range s.setup.groups {
		if g.longestWindow() < 2*time.Minute {
			short = append(short, g)
		}
	}
	for _, w := range c.drained(short) {
		t.Error(w)
	}
	v := c.oracle.verdict() // checks that nobody waited for any more have come by now, too
	for _, e := range v.excess {
		t.Error(e)
	}
	if v.over > v.forgiven {
		t.Errorf("%d tokens too much, and faults allow %d in all", v.over, v.forgiven)
	}
	if st.all.checks == 0 {
		t.Error("no load")
	}
	if own := st.all.admitted - st.all.admittedBy[policy.Local]; v.fed < own {
		t.Errorf("%d checks were admitted within the limits, and the oracle was fed %d", own, v.fed)
	}
	if told || t.Failed() {
		if !told {
			t.Log(s)
		}
		t.Logf("%v; %+v; faults allowed %d tokens, over-admission %d; admitted %.3f of ideal",
			&st.all, st.messages, v.forgiven, v.over, st.ofIdeal())
		t.Logf("again: go test ./test/sim -run TestRandom -seed %d -v", s.seed)
	}
	return st, v
}
