package bench

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
)

// TestMain runs the tests, or is the second process of a cluster if its environment says so. memberlist ends a probe
// that is under way when it is shut down by itself, after its timeout; so does rueidis what it has begun once more a second later.
func TestMain(m *testing.M) {
	if seed := os.Getenv(seedVariable); seed != "" {
		if err := servePeer(seed, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "peer process:", err)
			os.Exit(1)
		}
		return
	}
	if addr := os.Getenv(pingVariable); addr != "" {
		if err := servePing(addr); err != nil {
			fmt.Fprintln(os.Stderr, "ping process:", err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		for _, f := range cleanups {
			f()
		}
		os.Exit(code)
	}), goleak.IgnoreAnyFunction("github.com/hashicorp/memberlist.(*Memberlist).probeNode"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"))
}

// ample is the limit of every system here. All checks are allowed, for there is more in a bucket than a run can take,
// and yet a bucket that is checked often is never full, so that nobody gets away without the arithmetic.
var ample = bucket.Limit{Count: 1000, Per: time.Second, Burst: 1_000_000_000_000}

const policyName = "bench"

func policies() (*policy.Set, error) {
	return policy.NewSet(policy.Policy{Name: policyName, Key: []string{"user"}, Limits: []policy.Limit{{Limit: ample, Consistency: policy.Direct}}})
}

// patience is how long anything may take that should take a moment.
const patience = time.Minute

// waitFor waits for a condition.
func waitFor(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	ticks := time.NewTicker(5 * time.Millisecond)
	defer ticks.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			tb.Fatalf("waited %v for %s", patience, what)
		case <-ticks.C:
		}
	}
}
