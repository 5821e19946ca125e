package sim

import (
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

const ms = time.Millisecond

const (
	holders = 10
	rate    = 1000 // tokens per second, and the burst
)

// hot is a cluster whose nodes ask for one key of an owner that is asked for nothing itself.
type hot struct {
	*cluster
	key     *group
	holders []int
}

func newHot(t *testing.T, holders int, roundTrip time.Duration) *hot {
	t.Helper()
	g := &group{policy: "hot", key: "k", limits: []bucket.Limit{{Count: rate, Per: time.Second, Burst: rate}}}
	h := &hot{key: g, cluster: newCluster(t, setup{
		nodes: holders + 1, policies: policiesOf(g), groups: []*group{g}, delay: steadyDelay(roundTrip, 7),
	})}
	for i := range h.nodes {
		if i != g.owner {
			h.holders = append(h.holders, i)
		}
	}
	return h
}

// even has every holder ask for an equal part, in tokens per second over all.
func (h *hot) even(perSec float64, holders []int) (all []source) {
	for _, i := range holders {
		all = append(all, source{
			node: i, random: draw(11, "even", i), peak: perSec / float64(len(holders)), pick: always(h.key),
		})
	}
	return all
}

// hog has the first holder ask for twice the rate, and each other for a twentieth.
func (h *hot) hog(float64) (all []source) {
	for k, i := range h.holders {
		s := source{node: i, random: draw(12, "polite", i), peak: 0.05 * rate, pick: always(h.key)}
		if k == 0 {
			s.peak = 2 * rate
		}
		all = append(all, s)
	}
	return all
}

// burst has all ask for five times the rate in 200 ms of each second, and for nothing else.
func (h *hot) burst(float64) (all []source) {
	for _, i := range h.holders {
		peak := 5.0 * rate / holders
		all = append(all, source{
			node: i, random: draw(13, "burst", i), peak: peak, pick: always(h.key),
			rate: bursts(peak, 200*time.Millisecond, time.Second),
		})
	}
	return all
}

// sound checks what holds in every run: nothing stays lent, nothing was too much, nobody left to a failure rule.
func (h *hot) sound(st *stats) {
	h.t.Helper()
	for _, w := range h.drained([]*group{h.key}) {
		h.t.Error(w)
	}
	if v := h.oracle.verdict(); v.over > 0 {
		h.t.Errorf("too much: %+v", v)
	}
	if st.all.degraded > 0 {
		h.t.Errorf("%d checks were decided by a failure rule", st.all.degraded)
	}
}
