package e2e

import (
	"testing"
)

// TestLeave stops one of three nodes politely under load. No check of the others fails. Buckets do not move with their
// keys yet: a key of the node that leaves starts full once more at its new owner.
func TestLeave(t *testing.T) {
	nodes := cluster(t, 3, append(patient, "--policy", file(t, "limits.yaml", policies))...)
	staying, leaver := nodes[:2], nodes[2]
	client := newWeb(t)
	keys := names("user-", 60)
	ofLeaver := owned(t, client, staying[0], leaver, keys)

	l := startLoad(t, 8, keys, staying...)
	l.more(t, int64(2*burst*len(keys))) // every key is used up
	code, took := leaver.terminate(t)
	if code != 0 {
		t.Errorf("exit code %d after SIGTERM, want 0", code)
	}
	agreed(t, staying...)
	l.more(t, int64(3*burst*len(keys)))
	samples := l.stop()

	answered(t, samples, patience)
	admitted := make(map[string]int)
	degraded := 0
	for _, s := range samples {
		if s.allowed {
			admitted[s.key]++
		}
		if s.degraded {
			degraded++
		}
	}
	most := 0
	for _, key := range keys {
		n := admitted[key]
		most = max(most, n)
		if n < burst || n > 2*burst {
			t.Errorf("key %s (the leaver's: %v): %d admitted, want %d to %d", key, ofLeaver[key], n, burst, 2*burst)
		}
	}
	for _, d := range staying {
		m := client.metrics(t, d)
		for _, cause := range []string{"not_owner", "full", "unreachable"} {
			if n := m[`drossel_forward_faults_total{cause="`+cause+`"}`]; n > 0 {
				t.Logf("%s decided %v checks by rule: %s", d.name, n, cause)
			}
		}
	}
	_, p99, worst := quantiles(samples)
	t.Logf("left in %v; %d checks, p99 %v, worst %v, %d degraded; at most %d of %d admitted for a key",
		took, len(samples), p99, worst, degraded, most, burst)
}
