package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	cutBurst    = 50
	cutDeadline = 500 * time.Millisecond
	cutNodes    = 5
	cutOff      = 2 // of them
)

// cutPolicies have no refill worth speaking of, so what a bucket holds says all that was ever charged to it.
var cutPolicies = fmt.Sprintf(`
version: 1
policies:
  local: {key: [user], consistency: direct, limits: [{rate: 1/d, burst: %d, on_unreachable: local}]}
  deny:  {key: [user], limits: [{rate: 1/d, burst: 1M, on_unreachable: deny}]}
  allow: {key: [user], limits: [{rate: 1/d, burst: 1M, on_unreachable: allow}]}
`, cutBurst)

// cut is a cluster in two parts, each with callers of its own who use every policy.
type cut struct {
	*islands
	nodes, large, small []*daemon
	keys                map[string][]string // by policy
	loads               []*load             // of the large part, then of the small one
	owner               map[string]string   // of the keys of the policy local, before the cut

	cutting, done     time.Time // the cut began, and was made
	healing           time.Time
	takenOver, fenced time.Time
}

func newCut(t *testing.T) *cut {
	t.Helper()
	x := &cut{islands: newIslands(t, cutNodes)}
	x.nodes = x.launch(t, "--policy", file(t, "limits.yaml", cutPolicies), "--deadline", cutDeadline.String())
	x.large, x.small = x.nodes[:cutNodes-cutOff], x.nodes[cutNodes-cutOff:]
	agreed(t, x.nodes...)
	x.keys = map[string][]string{"local": names("user-", 20), "deny": names("user-", 10), "allow": names("user-", 10)}
	x.owner = owners(t, newWeb(t), x.nodes[0], "local", x.keys["local"])
	for _, side := range [][]*daemon{x.large, x.small} {
		for _, policy := range []string{"local", "deny", "allow"} {
			x.loads = append(x.loads, startLoadOf(t, policy, 2, x.keys[policy], side...))
		}
	}
	return x
}

// moved says that a key belongs to a node of the small part, so that the large one takes it over.
func (x *cut) moved(key string) bool {
	return slices.ContainsFunc(x.small, func(d *daemon) bool { return d.name == x.owner[key] })
}

// cut takes the small part off, and waits until it has noticed, and until the large one decides everything.
func (x *cut) cut(t *testing.T) {
	t.Helper()
	const notice = "no majority of the members acknowledges this node"
	before := make(map[*daemon]int)
	for _, d := range x.small {
		before[d] = strings.Count(d.stderr.String(), notice)
	}
	x.cutting = time.Now()
	x.move(t, "b", cutNodes-2, cutNodes-1)
	x.done = time.Now()
	for _, d := range x.small {
		waitFor(t, d.name+" to notice that it is cut off", func() bool {
			return strings.Count(d.stderr.String(), notice) > before[d]
		})
	}
	x.fenced = time.Now()
	waitFor(t, "the large part to decide for all keys", func() bool {
		decided := make(map[string]time.Time)
		for _, s := range x.loads[0].sofar() {
			if s.begun.After(x.done) && s.err == nil && !s.degraded {
				decided[s.key] = s.begun.Add(s.took)
			}
		}
		for _, key := range x.keys["local"] {
			if decided[key].IsZero() {
				return false
			}
			if decided[key].After(x.takenOver) {
				x.takenOver = decided[key]
			}
		}
		return true
	})
	t.Logf("cut; the small part noticed within %.2f s, and the large part decided for all keys again after %.2f s",
		x.fenced.Sub(x.cutting).Seconds(), x.takenOver.Sub(x.cutting).Seconds())
}

// rules checks what became of what was asked of the small part once it had noticed, until it was cut off no more.
func (x *cut) rules(t *testing.T) {
	t.Helper()
	for _, l := range x.loads[3:] {
		var checks, wrong, allowed int
		for _, s := range l.sofar() {
			if s.begun.Before(x.fenced) || s.begun.Add(s.took).After(x.healing) {
				continue
			}
			checks++
			if s.allowed {
				allowed++
			}
			if !s.degraded || s.allowed && l.policy == "deny" || !s.allowed && l.policy == "allow" {
				if wrong++; wrong <= 5 {
					t.Errorf("a node is cut off, the rule is %s: %v", l.policy, s)
				}
			}
		}
		if checks == 0 {
			t.Errorf("nothing was asked under the rule %s", l.policy)
		}
		t.Logf("cut off, rule %s: %d checks, %d allowed, %d not by the rule", l.policy, checks, allowed, wrong)
	}
}

// TestCutInTwo cuts two of five nodes off from the three others for a while, with callers on both sides. The three go on
// in full and the two by rule; when they meet again, they are a whole cluster within half a minute, and what the two
// admitted is charged once.
func TestCutInTwo(t *testing.T) {
	takesLong(t)
	t.Parallel()
	x := newCut(t)
	x.loads[0].more(t, int64(cutBurst/5*len(x.keys["local"]))) // the others are as fast
	x.cut(t)
	pause := 5 * time.Second
	if *long {
		pause = 20 * time.Second
	}
	waitFor(t, "the cut to end", func() bool { return time.Since(x.cutting) >= pause })
	x.healing = time.Now()
	x.move(t, "a", cutNodes-2, cutNodes-1)
	took := agreed(t, x.nodes...)
	whole := time.Now()
	t.Logf("whole again %.2f s after a cut of %.1f s", took.Seconds(), x.healing.Sub(x.done).Seconds())
	if took > 30*time.Second {
		t.Errorf("it took %v, want half a minute at most", took)
	}
	x.loads[3].more(t, int64(3*len(x.keys["local"])))
	x.rules(t)
	for i, l := range x.loads {
		samples := l.stop()
		answered(t, samples, 10*cutDeadline+time.Second)
		for _, s := range samples {
			if s.degraded && s.begun.After(whole) {
				t.Errorf("the cluster is whole again, and a failure rule decides: %v", s)
			}
		}
		side := "large part"
		if i >= len(x.loads)/2 {
			side = "small part"
		}
		t.Logf("%s, %s, since the cut: %s", side, l.policy, figures(since(samples, x.cutting)))
	}
	x.settled(t)
	t.Logf("settled %.2f s after the cut had ended", time.Since(x.healing).Seconds())
}
