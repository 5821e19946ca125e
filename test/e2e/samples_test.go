package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"
)

// since returns the checks that ended at an instant or later.
func since(samples []sample, at time.Time) (later []sample) {
	for _, s := range samples {
		if !s.begun.Add(s.took).Before(at) {
			later = append(later, s)
		}
	}
	return later
}

// admitted counts what was admitted, by key.
func admitted(samples []sample) map[string]int {
	byKey := make(map[string]int)
	for _, s := range samples {
		if s.allowed {
			byKey[s.key]++
		}
	}
	return byKey
}

// degraded counts what was decided by a failure rule.
func degraded(samples []sample) (n int) {
	for _, s := range samples {
		if s.degraded {
			n++
		}
	}
	return n
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
			t.Errorf("a check of %s at %s took %v: %v", s.key, s.asked, s.took, s.err)
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

// figures says how many checks there were, how long they took and how many a failure rule decided.
func figures(samples []sample) string {
	p50, p99, worst := quantiles(samples)
	return fmt.Sprintf("%d checks, p50 %.1f ms, p99 %.1f ms, worst %.0f ms, %d degraded", len(samples),
		p50.Seconds()*1e3, p99.Seconds()*1e3, worst.Seconds()*1e3, degraded(samples))
}

// names returns keys that begin alike.
func names(prefix string, n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprint(prefix, i))
	}
	return all
}

// useUp asks every daemon for every key so many times, and returns what was admitted, by key.
func useUp(t *testing.T, client *web, policy string, keys []string, times int, daemons ...*daemon) map[string]int {
	t.Helper()
	var checks []object
	for _, key := range keys {
		checks = append(checks, object{"policy": policy, "key": key})
	}
	got := make(map[string]int)
	for i := range times * len(daemons) {
		d := daemons[i%len(daemons)]
		var out struct {
			Results []struct{ Decision *answer }
		}
		status, err := client.post(t.Context(), "http://"+d.http+"/v1/check_batch", object{"checks": checks}, &out)
		if err != nil || status != http.StatusOK || len(out.Results) != len(keys) {
			t.Fatalf("%s answers a batch of %d with %d, %d results, %v", d.name, len(keys), status, len(out.Results), err)
		}
		for j, r := range out.Results {
			switch {
			case r.Decision == nil:
				t.Fatalf("%s does not decide about %s", d.name, keys[j])
			case r.Decision.Degraded:
				t.Errorf("nothing failed, and a failure rule at %s decided about %s", d.name, keys[j])
			case r.Decision.Allowed:
				got[keys[j]]++
			}
		}
	}
	return got
}

// owners returns who decides for each of the keys, as a daemon says.
func owners(t *testing.T, client *web, asked *daemon, policy string, keys []string) map[string]string {
	t.Helper()
	of := make(map[string]string)
	for _, key := range keys {
		a := client.check(t, asked, object{"policy": policy, "key": key, "cost": 0})
		if a.Degraded {
			t.Fatalf("%s does not reach the owner of %s: %+v", asked.name, key, a)
		}
		of[key] = a.Node
	}
	return of
}
