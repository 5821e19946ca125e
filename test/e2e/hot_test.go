package e2e

import (
	"context"
	"flag"
	"sync"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/transport/api/drosselv1"
)

var hotFor = flag.Duration("hot", 20*time.Second, "how long the callers of TestHotKey ask")

// hotPolicy is one bucket of 100 a second and a burst of 1,000.
const hotPolicy = "{version: 1, policies: {hot: {key: [user], limits: [{rate: 100/s, burst: 1000}]}}}"

const (
	hotRate  = 100
	hotBurst = 1000
)

// hotCaller is one of many that ask for the same key all the time.
type hotCaller struct {
	checks, admitted  int // all
	warm, local, rule int // once warm: checks, those decided where they were asked; and, of all, those by failure rule
	err               error
}

// TestHotKey has 64 callers ask three nodes for one key without a pause. They get what one bucket would give, and
// nearly all of it is decided where it was asked.
func TestHotKey(t *testing.T) {
	nodes := cluster(t, 3, append(patient, "--policy", file(t, "limits.yaml", hotPolicy))...)
	var apis []drosselv1.RateLimiterClient
	for _, d := range nodes {
		apis = append(apis, drosselv1.NewRateLimiterClient(dial(t, d)))
	}
	for _, c := range []struct {
		name  string
		batch int
	}{{"one by one", 1}, {"batches of 20", 20}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // each has a key of its own
			callers := make([]hotCaller, 64)
			begun := time.Now()
			warm, end := begun.Add(*hotFor/5), begun.Add(*hotFor)
			var all sync.WaitGroup
			for i := range callers {
				asked := i % len(nodes)
				all.Go(func() {
					callers[i].run(t.Context(), apis[asked], nodes[asked].name, c.name, c.batch, warm, end)
				})
			}
			all.Wait()
			took := time.Since(begun)
			var sum hotCaller
			for _, c := range callers {
				if c.err != nil {
					t.Fatal(c.err)
				}
				sum.checks += c.checks
				sum.admitted += c.admitted
				sum.warm += c.warm
				sum.local += c.local
				sum.rule += c.rule
			}
			bound := hotBurst + hotRate*took.Seconds()
			local := float64(sum.local) / float64(sum.warm)
			t.Logf("%.1f s: %d checks, %d admitted of %.0f (%.1f %%), %.2f %% decided where they were asked",
				took.Seconds(), sum.checks, sum.admitted, bound, 100*float64(sum.admitted)/bound, 100*local)
			if sum.rule > 0 {
				t.Fatalf("%d checks were decided by a failure rule, and nothing failed", sum.rule)
			}
			if float64(sum.admitted) > bound {
				t.Errorf("%d admitted, want at most %.0f", sum.admitted, bound)
			}
			if float64(sum.admitted) < 0.97*bound {
				t.Errorf("%d admitted, want at least 97 %% of %.0f", sum.admitted, bound)
			}
			if local < 0.95 {
				t.Errorf("%.1f %% decided where they were asked, want at least 95 %%", 100*local)
			}
		})
	}
}

func (c *hotCaller) run(ctx context.Context, api drosselv1.RateLimiterClient, asked, key string, batch int, warm, end time.Time) {
	req := &drosselv1.CheckBatchRequest{}
	for range batch {
		req.Checks = append(req.Checks, &drosselv1.CheckRequest{Policy: "hot", Key: []byte(key)})
	}
	for now := time.Now(); now.Before(end); now = time.Now() {
		if batch == 1 {
			d, err := api.Check(ctx, req.Checks[0])
			if err != nil {
				c.err = err
				return
			}
			c.add(d, asked, now.After(warm))
			continue
		}
		out, err := api.CheckBatch(ctx, req)
		if err != nil {
			c.err = err
			return
		}
		for _, r := range out.GetResults() {
			c.add(r.GetDecision(), asked, now.After(warm))
		}
	}
}

func (c *hotCaller) add(d *drosselv1.Decision, asked string, warm bool) {
	c.checks++
	if d.GetAllowed() {
		c.admitted++
	}
	if d.GetDegraded() {
		c.rule++
	}
	if warm {
		c.warm++
		if d.GetNode() == asked {
			c.local++
		}
	}
}
