package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// load is the callers, and what they were told.
type load struct {
	cluster *cluster
	begun   time.Time
	end     time.Time     // when callers stop
	elapsed time.Duration // until the last one had stopped
	callers []*caller
	done    sync.WaitGroup
}

// Callers of each node ask for one of the keys at random, and hot ones for the hot key all the time. There is a little
// time between their checks, like in a service with work to do.
const (
	CallersPerNode    = 8
	HotCallersPerNode = 2
	pause             = 500 * time.Microsecond
	hotPause          = 100 * time.Microsecond
)

// hotKey is the number of the hot key, after the others.
const hotKey = Keys

func request(k int) policy.Request {
	if k == hotKey {
		return policy.Request{Policy: hotPolicy}
	}
	return policy.Request{Policy: policyName, Key: fmt.Sprintf("user-%d", k)}
}

// caller asks one check after the other. Its counts are read while it runs, so they have a lock.
type caller struct {
	hot bool

	mu       sync.Mutex
	checks   [Keys + 1]int64
	byRule   [Keys + 1]int64 // admitted by a failure rule
	admitted [Keys + 1][]admission
	total    int64 // admitted
	decided  Deciders
	errors   int64
	lastErr  error
	took     []time.Duration
}

// admission is when a check was allowed, since the load began, and how long before that it was asked.
type admission struct{ at, took time.Duration }

func newLoad(c *cluster) *load { return &load{cluster: c} }

// start lets the callers loose for a while.
func (l *load) start(ctx context.Context, d time.Duration) {
	l.begun = time.Now()
	l.end = l.begun.Add(d)
	for i := range nodes * (CallersPerNode + HotCallersPerNode) {
		c := &caller{hot: i >= nodes*CallersPerNode}
		l.callers = append(l.callers, c)
		l.done.Go(func() { c.run(ctx, l, i) })
	}
}

// run asks at one node as long as that runs.
func (c *caller) run(ctx context.Context, l *load, seed int) {
	r := rand.New(rand.NewPCG(uint64(seed), 1))
	every := pause
	if c.hot {
		every = hotPause
	}
	ticks := time.NewTicker(every)
	defer ticks.Stop()
	for ctx.Err() == nil && time.Now().Before(l.end) {
		running := *l.cluster.running.Load()
		n := running[seed%len(running)]
		key := hotKey
		if !c.hot {
			key = r.IntN(Keys)
		}
		begun := time.Now()
		d, err := n.Check(ctx, request(key))
		took := time.Since(begun)
		if ctx.Err() != nil {
			return
		}
		if err != nil && !slices.Contains(*l.cluster.running.Load(), n) {
			continue // a caller of a server that dies goes to another one
		}
		c.mu.Lock()
		c.count(key, d, err, admission{begun.Add(took).Sub(l.begun), took}, n.Name())
		c.mu.Unlock()
		<-ticks.C
	}
}

func (c *caller) count(key int, d policy.Decision, err error, a admission, asked string) {
	c.checks[key]++
	c.took = append(c.took, a.took)
	if err != nil {
		c.errors++
		c.lastErr = err
		return
	}
	c.decided.count(d, asked)
	if d.Allowed {
		c.admitted[key] = append(c.admitted[key], a)
		c.total++
		if d.Degraded {
			c.byRule[key]++
		}
	}
}

func (l *load) wait() {
	l.done.Wait()
	l.elapsed = time.Since(l.begun)
}

func (l *load) progress() Progress {
	p := Progress{Elapsed: time.Since(l.begun), Nodes: len(*l.cluster.running.Load())}
	for _, c := range l.callers {
		c.mu.Lock()
		p.Checks += int64(len(c.took))
		p.Admitted += c.total
		c.mu.Unlock()
	}
	return p
}
