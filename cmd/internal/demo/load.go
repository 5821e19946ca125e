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
	overlap time.Duration // how long two nodes may have decided for one key
	callers []*caller
	done    sync.WaitGroup
}

// caller asks one check after the other. Its counts are read while it runs, so they have a lock.
type caller struct {
	mu       sync.Mutex
	checks   [keys]int64
	admitted [keys]int64
	byRule   [keys]int64 // of admitted, by a failure rule
	degraded int64
	local    int64 // decided at the node that was asked
	errors   int64
	lastErr  error
	took     []time.Duration
}

func keyText(k int) string { return fmt.Sprintf("user-%d", k) }

// hotKey is one key that every third check asks for, at every node.
const hotKey = 0

func newLoad(c *cluster) *load { return &load{cluster: c} }

// start lets the callers loose for a while.
func (l *load) start(ctx context.Context, d time.Duration) {
	l.begun = time.Now()
	l.end = l.begun.Add(d)
	for i := range nodes * callersPerNode {
		c := new(caller)
		l.callers = append(l.callers, c)
		l.done.Go(func() { c.run(ctx, l.cluster, i, l.end) })
	}
}

// run asks at one node as long as that runs, with a little time in between, like a service with work to do.
func (c *caller) run(ctx context.Context, cl *cluster, seed int, end time.Time) {
	r := rand.New(rand.NewPCG(uint64(seed), 1))
	pause := time.NewTicker(500 * time.Microsecond)
	defer pause.Stop()
	for ctx.Err() == nil && time.Now().Before(end) {
		running := *cl.running.Load()
		n := running[seed%len(running)]
		key := hotKey
		if r.IntN(3) != 0 {
			key = r.IntN(keys)
		}
		begun := time.Now()
		d, err := n.Check(ctx, policy.Request{Policy: policyName, Key: keyText(key)})
		took := time.Since(begun)
		if ctx.Err() != nil {
			return
		}
		c.mu.Lock()
		c.count(key, d, err, took, n.Name())
		c.mu.Unlock()
		<-pause.C
	}
}

func (c *caller) count(key int, d policy.Decision, err error, took time.Duration, asked string) {
	c.checks[key]++
	c.took = append(c.took, took)
	if err != nil {
		c.errors++
		c.lastErr = err
		return
	}
	if d.Degraded {
		c.degraded++
	}
	if d.Node == asked {
		c.local++
	}
	if d.Allowed {
		c.admitted[key]++
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
		for k := range keys {
			p.Checks += c.checks[k]
			p.Admitted += c.admitted[k]
		}
		c.mu.Unlock()
	}
	return p
}

// report adds up, once all callers are done.
func (l *load) report(before [keys]string) *Report {
	r := &Report{Seconds: l.elapsed.Seconds(), Nodes: nodes}
	after := l.cluster.owners()
	var took []time.Duration
	for k := range keys {
		var row KeyReport
		for _, c := range l.callers {
			row.Checks += c.checks[k]
			row.Admitted += c.admitted[k]
			row.AllowanceRule += c.byRule[k]
		}
		row.Bound = limit.Burst + arrived(l.elapsed)
		if after[k] != before[k] || after[k] == "" {
			r.Moved++
			row.AllowanceMoved = limit.Burst + arrived(l.overlap)
		}
		row.Over = max(0, row.Admitted-row.Bound-row.AllowanceMoved-row.AllowanceRule)
		r.add(row)
		if k == hotKey {
			r.Hot = row
		}
	}
	for _, c := range l.callers {
		r.Errors += c.errors
		r.Degraded += c.degraded
		r.LocalShare += float64(c.local)
		took = append(took, c.took...)
		if c.lastErr != nil {
			r.FirstError = c.lastErr.Error()
		}
	}
	if r.Checks > 0 {
		r.LocalShare /= float64(r.Checks)
	}
	slices.Sort(took)
	if n := len(took); n > 0 {
		r.P50, r.P99 = took[n/2].Seconds(), took[n*99/100].Seconds()
	}
	return r
}

// arrived is how many tokens come in a time.
func arrived(d time.Duration) int64 { return int64(d) * limit.Count / int64(limit.Per) }
