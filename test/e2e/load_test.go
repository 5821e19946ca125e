package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// sample is one check of a load.
type sample struct {
	key      string
	begun    time.Time
	took     time.Duration
	allowed  bool
	degraded bool
	err      error // the check was not answered with a decision
}

// load is callers that ask daemons again and again, until it is stopped.
type load struct {
	cancel  context.CancelFunc
	callers sync.WaitGroup
	done    atomic.Int64 // checks

	mu      sync.Mutex
	samples []sample
}

// interval is between the checks of one caller: the daemons need some of the machine as well.
const interval = time.Millisecond

// startLoad starts callers, each of which asks one of the daemons for one key after the other.
func startLoad(t *testing.T, callers int, keys []string, daemons ...*daemon) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{cancel: cancel}
	client := newWeb(t)
	for i := range callers {
		l.callers.Go(func() { l.call(ctx, client, daemons[i%len(daemons)], keys, i*len(keys)/callers) })
	}
	t.Cleanup(func() { l.stop() })
	return l
}

func (l *load) call(ctx context.Context, client *web, d *daemon, keys []string, first int) {
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	var mine []sample
	for i := first; ctx.Err() == nil; i++ {
		s := sample{key: keys[i%len(keys)], begun: time.Now()}
		var a answer
		// A check under way is let end when the load stops: it counts as well.
		status, err := client.post(context.WithoutCancel(ctx), "http://"+d.http+"/v1/check", ask(s.key), &a)
		s.took, s.allowed, s.degraded = time.Since(s.begun), a.Allowed, a.Degraded
		if err != nil || status != http.StatusOK {
			s.err = fmt.Errorf("%s answers %d: %+v, %w", d.name, status, a.Error, err)
		}
		mine = append(mine, s)
		l.done.Add(1)
		select {
		case <-ctx.Done():
		case <-ticks.C:
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.samples = append(l.samples, mine...)
}

// more waits until so many more checks are done.
func (l *load) more(t *testing.T, checks int64) {
	t.Helper()
	until := l.done.Load() + checks
	waitFor(t, fmt.Sprint(checks, " checks more"), func() bool { return l.done.Load() >= until })
}

// stop ends the load and returns all checks, by their beginning.
func (l *load) stop() []sample {
	l.cancel()
	l.callers.Wait()
	slices.SortFunc(l.samples, func(a, b sample) int { return a.begun.Compare(b.begun) })
	return l.samples
}

// answered fails the test if a check was not answered, or not within the time.
func answered(t *testing.T, samples []sample, within time.Duration) {
	t.Helper()
	wrong := 0
	for _, s := range samples {
		if s.err == nil && s.took <= within {
			continue
		}
		if wrong++; wrong <= 5 {
			t.Errorf("a check of %s took %v: %v", s.key, s.took, s.err)
		}
	}
	if wrong > 5 {
		t.Errorf("and %d checks more", wrong-5)
	}
}

// quantiles returns what 50 and 99 in 100 checks took at most, and the slowest.
func quantiles(samples []sample) (p50, p99, worst time.Duration) {
	var took []time.Duration
	for _, s := range samples {
		took = append(took, s.took)
	}
	slices.Sort(took)
	n := len(took)
	if n == 0 {
		return 0, 0, 0
	}
	return took[n/2], took[n*99/100], took[n-1]
}

// names returns keys that begin alike.
func names(prefix string, n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprint(prefix, i))
	}
	return all
}

// owned returns which of the keys a node decides, as another node says.
func owned(t *testing.T, client *web, asked, owner *daemon, keys []string) map[string]bool {
	t.Helper()
	of := make(map[string]bool)
	for _, key := range keys {
		if a := client.check(t, asked, look(key)); a.Node == owner.name {
			of[key] = true
		}
	}
	if len(of) == 0 || len(of) == len(keys) {
		t.Fatalf("%s owns %d of %d keys", owner.name, len(of), len(keys))
	}
	return of
}
