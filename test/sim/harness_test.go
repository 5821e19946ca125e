package sim

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/node"
)

// TestTwoOwnersAreSeen gives nodes different ideas of who is there, so that one key has two owners. Each admits a
// burst.
func TestTwoOwnersAreSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &group{policy: "p", key: "k", limits: []bucket.Limit{{Count: 100, Per: time.Second, Burst: 100}}}
		c := newCluster(t, setup{
			nodes: 4, policies: policiesOf(g), groups: []*group{g},
			members: func(i int, all node.Static) node.Static {
				if i < 2 {
					return all[:2]
				}
				return all[2:]
			},
		})
		c.load(2*time.Second, []source{
			{node: 1 - g.owner, random: draw(1, "here"), peak: 300, pick: always(g)},
			{node: 2, random: draw(1, "there"), peak: 300, pick: always(g)},
			{node: 3, random: draw(1, "there too"), peak: 300, pick: always(g)},
		})
		v := c.oracle.verdict()
		if v.over < 100 || len(v.excess) == 0 {
			t.Fatalf("two owners, and the oracle saw %+v", v)
		}
		if !strings.Contains(v.excess[0], "p/k") {
			t.Errorf("the story does not name the key: %q", v.excess[0])
		}
	})
}

// TestEveryAdmissionIsFedOnce counts what callers were given against what the oracle was fed.
func TestEveryAdmissionIsFedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &group{policy: "p", key: "k", limits: []bucket.Limit{{Count: 100, Per: time.Second, Burst: 50}}}
		c := newCluster(t, setup{
			nodes: 3, policies: policiesOf(g), groups: []*group{g}, delay: steadyDelay(2*ms, 1),
		})
		var sources []source
		for i := range c.nodes {
			sources = append(sources, source{node: i, random: draw(2, i), peak: 200, pick: always(g)})
		}
		st := c.load(3*time.Second, sources)
		for _, w := range c.drained([]*group{g}) {
			t.Error(w)
		}
		n, v := &st.all, c.oracle.verdict()
		if n.admitted != v.fed || v.over != 0 || n.degraded != 0 || n.admitted < 200 || n.checks == n.admitted {
			t.Errorf("%v; %d degraded; %+v", n, n.degraded, v)
		}
		if got := st.ofIdeal(); got < 0.9 || got > 1 {
			t.Errorf("admitted %.3f of what one bucket would", got)
		}
	})
}

// TestCutsAddUp cuts a way twice: it is whole when both cuts have healed.
func TestCutsAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &group{policy: "p", key: "k", limits: []bucket.Limit{{Count: 100, Per: time.Second, Burst: 100}}}
		c := newCluster(t, setup{nodes: 2, policies: policiesOf(g), groups: []*group{g}, deadline: 100 * time.Millisecond})
		asked := 1 - g.owner
		want := func(when string, degraded bool) {
			t.Helper()
			if d := c.check(asked, g, 1); d.Degraded != degraded {
				t.Errorf("%s: %+v", when, d)
			}
		}
		there := way{name(asked), name(g.owner)}
		want("whole", false)
		c.cut(there)
		c.cut(there)
		want("cut twice", true)
		c.heal(there)
		want("healed once", true)
		c.heal(there)
		want("healed twice", false)
		go c.pause(name(g.owner), time.Second)
		synctest.Wait()
		want("the owner stands still", true)
		c.sleep(time.Second)
		want("the owner goes on", false)
	})
}
