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
	dearest int64 // the highest cost, if not 1
}

func newHot(t *testing.T, holders int, roundTrip time.Duration) *hot {
	t.Helper()
	return newHotOf(t, holders, roundTrip, bucket.Limit{Count: rate, Per: time.Second, Burst: rate})
}

// newHotOf is newHot with another limit, in tokens per second.
func newHotOf(t *testing.T, holders int, roundTrip time.Duration, l bucket.Limit) *hot {
	t.Helper()
	g := &group{policy: "hot", key: "k", limits: []bucket.Limit{l}}
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

func (h *hot) limit() bucket.Limit { return h.key.limits[0] }

func (h *hot) perSec() float64 { return float64(h.limit().Count) }

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
		s := source{node: i, random: draw(12, "polite", i), peak: 0.05 * h.perSec(), pick: always(h.key)}
		if k == 0 {
			s.peak = 2 * h.perSec()
		}
		all = append(all, s)
	}
	return all
}

// burst has all ask for five times the rate in 200 ms of each second, and for nothing else.
func (h *hot) burst(float64) (all []source) {
	for _, i := range h.holders {
		peak := 5 * h.perSec() / holders
		all = append(all, source{
			node: i, random: draw(13, "burst", i), peak: peak, pick: always(h.key),
			rate: bursts(peak, 200*time.Millisecond, time.Second),
		})
	}
	return all
}

// earlyBound is the most that one bucket may hold when a check is denied: what is out at two places, the reserve, what
// comes in two pace periods, what has burned, and twice the highest cost.
func (h *hot) earlyBound() int64 {
	l := h.limit()
	out, reserve := l.Burst/4, l.Burst/20
	pace := min(l.Count/5, l.Burst/8) // what comes in 200 ms, or in an eighth of the time in which the bucket fills
	pace = max(pace, l.Count/200)     // at least 5 ms
	return 2*out + reserve + 2*pace + 2*max(h.dearest, 1) + h.nodes[h.key.owner].Stats().Table.Leases.Burned
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
	for i, n := range h.nodes {
		if s := n.Stats(); s.Table.Leases.Out != 0 || s.Purses != 0 {
			h.t.Errorf("%s has %d tokens out and %d purses after all is over", name(i), s.Table.Leases.Out, s.Purses)
		}
	}
	if n := h.tap.tooSoon(); n > 0 {
		h.t.Errorf("%d frames about leases came within 5 ms of the last", n)
	}
	if early, most := h.oracle.earliest(h.key), h.earlyBound(); early > most {
		h.t.Errorf("a check was denied though one bucket would have held %d tokens, want %d at the most", early, most)
	}
	if st.all.degraded > 0 {
		h.t.Errorf("%d checks were decided by a failure rule", st.all.degraded)
	}
}
