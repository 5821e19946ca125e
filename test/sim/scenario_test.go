package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// scenario is a cluster, its load and its faults, all drawn from one seed.
type scenario struct {
	seed     uint64
	lasts    time.Duration
	setup    setup
	usual    time.Duration // one way
	longest  time.Duration
	longer   float64 // how many frames in one take up to the longest
	perSec   float64 // checks, over all nodes
	shares   []float64
	costs    []int64       // the highest of each group; the lowest is 1
	moves    time.Duration // how often the hot spot does; 0 is never
	hot      float64       // the part of the load that the hot node has
	pulse    pulse
	faults   []fault
	phase    []int // where the hot spot is
	rotation []int // which group is the hottest
}

// logUniform draws so that every order of magnitude is as likely.
func logUniform(r *rand.Rand, low, high float64) float64 {
	return low * math.Exp(r.Float64()*math.Log(high/low))
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// drawScenario draws a run.
func drawScenario(seed uint64) *scenario {
	r := draw(seed, "scenario")
	s := &scenario{
		seed:    seed,
		lasts:   seconds(4 + 8*r.Float64()),
		perSec:  logUniform(r, 1000, 10_000),
		usual:   seconds(logUniform(r, 0.00005, 0.01)),
		longest: seconds(3 * r.Float64()),
	}
	switch r.IntN(8) {
	case 0: // slower than leases live
		s.usual = seconds(0.1 + 1.4*r.Float64())
	case 1, 2, 3:
		s.longer = 0.05 * r.Float64()
	}
	if r.IntN(2) == 0 {
		s.moves = seconds(0.5 + 2*r.Float64())
		s.hot = 0.5 + 0.5*r.Float64()
	}
	s.setup = setup{
		nodes:    1 + r.IntN(9),
		deadline: [...]time.Duration{100 * time.Millisecond, 2 * time.Second, 10 * time.Second, 10 * time.Second}[r.IntN(4)],
		delay:    roughDelay(s.usual, s.longest, s.longer, seed),
	}
	for range s.setup.nodes {
		s.setup.ppm = append(s.setup.ppm, r.Int64N(2*maxDrift+1)-maxDrift)
	}
	if r.IntN(4) > 0 {
		s.setup.fates = fates{
			seed: seed, loss: 0.3 * r.Float64(), twice: 0.3 * r.Float64(), late: 0.3 * r.Float64(),
			latest: seconds(logUniform(r, 0.001, 3)),
		}
	}
	s.drawPulse(r)
	s.drawGroups(r)
	s.drawMoves(r)
	s.drawFaults(r)
	return s
}

// maxDrift is how much faster or slower clocks may run, in millionths.
const maxDrift = 10_000

// drawGroups draws keys and their limits, each such that some of its load is too much in most cases.
func (s *scenario) drawGroups(r *rand.Rand) {
	n := int(logUniform(r, 1, 31))
	skew := 2.5 * r.Float64()
	s.shares = zipf(n, func(rank int) float64 { return math.Pow(float64(rank), -skew) })
	for i := range n {
		highest := [...]int64{1, 1, 5, 50}[r.IntN(4)]
		s.costs = append(s.costs, highest)
		g := &group{policy: fmt.Sprint("p", i), key: fmt.Sprint("k", i)}
		tokens := s.perSec * s.shares[i] * float64(1+highest) / 2 // per second
		known := make(map[bucket.Limit]bool)
		for range 1 + r.IntN(4) {
			l := drawLimit(r, tokens, s.lasts.Seconds(), highest)
			if !known[l.Reduced()] {
				known[l.Reduced()] = true
				g.limits = append(g.limits, l)
			}
		}
		s.setup.groups = append(s.setup.groups, g)
	}
	s.setup.policies = policiesOf(s.setup.groups...)
}

// drawLimit draws a limit that refills within 0.05 to 60 s, and admits from a sixth to more than all of the tokens that
// are asked for.
func drawLimit(r *rand.Rand, perSec, lasts float64, highest int64) bucket.Limit {
	window := logUniform(r, 0.05, 60)
	load := logUniform(r, 0.4, 6)
	rate := perSec * lasts / (load * (window + lasts))
	l := bucket.Limit{Count: int64(math.Round(rate)), Per: time.Second, Burst: max(int64(math.Round(rate*window)), 1)}
	if rate < 20 {
		l.Count, l.Per = 1, seconds(1/rate)
	}
	if r.IntN(10) > 0 { // else some costs never fit
		l.Burst = max(l.Burst, highest)
	}
	return l
}

// drawMoves draws where the hot spot is, and which key is the hottest, one after the other.
func (s *scenario) drawMoves(r *rand.Rand) {
	n := 1
	if s.moves > 0 {
		n = int(s.lasts/s.moves) + 1
	}
	for range n {
		s.phase = append(s.phase, r.IntN(s.setup.nodes))
		s.rotation = append(s.rotation, r.IntN(len(s.shares)))
	}
	if s.moves == 0 {
		s.rotation[0] = 0
	}
}

// pulse is how the load comes and goes: all of it in a part of each period. The zero pulse is a steady load.
type pulse struct {
	period time.Duration
	part   float64
	offset []time.Duration // of each node
}

func (p pulse) String() string {
	if p.period == 0 {
		return "steady"
	}
	return fmt.Sprintf("%.0f%% of every %v, from %v", 100*p.part, p.period, p.offset)
}

// drawPulse has buckets fill up and be emptied again in most runs, for what was counted wrong while they were not full
// shows only then.
func (s *scenario) drawPulse(r *rand.Rand) {
	together := r.IntN(2) == 0
	if r.IntN(3) == 0 {
		return
	}
	s.pulse = pulse{period: seconds(logUniform(r, 0.3, 4)), part: 0.1 + 0.5*r.Float64()}
	for range s.setup.nodes {
		offset := time.Duration(0)
		if !together {
			offset = time.Duration(r.Int64N(int64(s.pulse.period)))
		}
		s.pulse.offset = append(s.pulse.offset, offset)
	}
}

func (s *scenario) drawFaults(r *rand.Rand) {
	if s.setup.nodes == 1 || r.IntN(4) == 0 {
		return
	}
	for range r.IntN(9) {
		at := seconds(r.Float64() * s.lasts.Seconds())
		from := r.IntN(s.setup.nodes)
		if s.moves > 0 && r.IntN(2) == 0 {
			from = s.phase[s.at(at)] // who is likely to hold leases
		}
		f := fault{
			kind: faultKind(r.IntN(int(faultKinds))), from: name(from), at: at, lasts: seconds(logUniform(r, 0.1, 6)),
		}
		if r.IntN(2) == 0 {
			f.to = name((from + 1 + r.IntN(s.setup.nodes-1)) % s.setup.nodes)
		}
		s.faults = append(s.faults, f)
	}
}

// aim puts the owner of the hottest key where a fault names nobody. Owners are known once there is a cluster.
func (s *scenario) aim() {
	for i := range s.faults {
		if f := &s.faults[i]; f.to == "" {
			f.to = name(s.setup.groups[s.rotation[s.at(f.at)]].owner)
		}
	}
}

// at returns the number of the hot spot at a time.
func (s *scenario) at(d time.Duration) int {
	if s.moves == 0 {
		return 0
	}
	return int(d / s.moves)
}

// sources returns the load.
func (s *scenario) sources() (all []source) {
	for i := range s.setup.nodes {
		r := draw(s.seed, "load", i)
		even := s.perSec / float64(s.setup.nodes)
		peak := max(even, s.hot*s.perSec)
		if s.pulse.period > 0 {
			peak /= s.pulse.part
		}
		picked := 0
		all = append(all, source{
			node: i, random: r, peak: peak,
			rate: func(at time.Duration) float64 {
				rate := even
				if s.moves > 0 {
					rate *= 1 - s.hot
					if s.phase[s.at(at)] == i {
						rate += s.hot * s.perSec
					}
				}
				if p := s.pulse; p.period > 0 {
					on := time.Duration(p.part * float64(p.period))
					return bursts(rate/p.part, on, p.period)(at + p.offset[i])
				}
				return rate
			},
			pick: func(at time.Duration) *group {
				picked = (pickBy(r, s.shares) + s.rotation[s.at(at)]) % len(s.shares)
				return s.setup.groups[picked]
			},
			cost: func() int64 { return 1 + r.Int64N(s.costs[picked]) },
		})
	}
	return all
}

// String tells the story.
func (s *scenario) String() string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("seed %d: %d nodes, %d keys, %.0f checks/s for %v: %v", s.seed, s.setup.nodes, len(s.shares), s.perSec, s.lasts,
		s.pulse)
	say("one way %v, %.1f%% of frames up to %v; checks wait %v", s.usual, 100*s.longer, s.longest, s.setup.deadline)
	say("lease messages: %v", s.setup.fates)
	say("clocks faster by %v millionths", s.setup.ppm)
	if s.moves > 0 {
		say("hot spot with %.0f%% of the load, moves every %v: nodes %v, hottest keys %v", 100*s.hot, s.moves, s.phase,
			s.rotation)
	}
	for i, g := range s.setup.groups {
		say("%v: %.1f%% of checks, cost up to %d, limits %+v", g, 100*s.shares[i], s.costs[i], g.limits)
	}
	for _, f := range s.faults {
		say("at %v", f)
	}
	return b.String()
}
