package sim

import (
	"sync"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
)

// cell is what one node was asked for and gave within a short while, in tokens.
type cell struct{ asked, served int64 }

const cellTime = 100 * time.Millisecond

// warmUp is the share of a run in which nobody knows demands yet. It counts for what is admitted, not for who decides.
const warmUp = 0.15

// stats are what came of a load. Safe for concurrent use while it runs.
type stats struct {
	cluster *cluster
	begun   time.Time
	lasts   time.Duration
	warm    time.Duration

	mu       sync.Mutex
	all      counts
	steady   counts // of checks that came after the warm-up
	messages messages
	ideals   map[*group]*ideal
	cells    [][]cell // by node
}

func newStats(c *cluster, lasts time.Duration) *stats {
	st := &stats{
		cluster: c, begun: time.Now(), lasts: lasts, warm: time.Duration(warmUp * float64(lasts)),
		ideals: make(map[*group]*ideal), cells: make([][]cell, len(c.nodes)),
	}
	for i := range st.cells {
		st.cells[i] = make([]cell, lasts/cellTime+1)
	}
	return st
}

// check is one that was made.
type check struct {
	node int
	at   time.Duration // since the load began
	cost int64
}

func (st *stats) cell(node int, at time.Duration) *cell {
	return &st.cells[node][min(int(at/cellTime), len(st.cells[node])-1)]
}

// asked notes a check that is being made now.
func (st *stats) asked(node int, g *group, cost int64) check {
	now := st.cluster.clocks[g.owner].Now()
	at := time.Since(st.begun)
	st.mu.Lock()
	defer st.mu.Unlock()
	i := st.ideals[g]
	if i == nil {
		i = &ideal{limits: g.limits}
		for _, l := range g.limits {
			i.states = append(i.states, bucket.Full(&l, now))
		}
		st.ideals[g] = i
	}
	i.take(now, cost)
	st.cell(node, at).asked += cost
	return check{node, at, cost}
}

// answered notes what came of it.
func (st *stats) answered(s check, d policy.Decision) {
	at := time.Since(st.begun)
	st.mu.Lock()
	defer st.mu.Unlock()
	here := st.cluster.names[s.node]
	st.all.add(s, d, here)
	if s.at >= st.warm {
		st.steady.add(s, d, here)
	}
	if d.Allowed {
		st.cell(s.node, at).served += s.cost
	}
}
