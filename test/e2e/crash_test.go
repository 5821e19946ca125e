package e2e

import (
	"testing"
	"time"
)

// TestCrash kills one of three nodes under load. Who asks the others gets an answer to every check and in time: by the
// failure rule for keys of the dead node, until the others find out and take them over.
func TestCrash(t *testing.T) {
	// Long, so that a machine with other work does not make a living owner too slow: connections to a dead process are
	// refused at once, and no deadline is waited for.
	const deadline = 5 * time.Second
	nodes := cluster(t, 3, "--deadline", deadline.String(), "--policy", file(t, "limits.yaml", policies))
	alive, dead := nodes[:2], nodes[2]
	client := newWeb(t)
	keys := names("user-", 200)
	ofDead := owned(t, client, alive[0], dead, keys)

	l := startLoad(t, 8, keys, alive...)
	l.more(t, 1000)
	killed := time.Now()
	dead.kill(t)
	agreed(t, alive...)
	tookOver := time.Since(killed)
	l.more(t, 1000)
	samples := l.stop()

	answered(t, samples, 10*deadline+time.Second)
	var after []sample
	var degraded int
	var last time.Duration
	for _, s := range samples {
		if s.begun.After(killed) {
			after = append(after, s)
		}
		if !s.degraded {
			continue
		}
		degraded++
		if !ofDead[s.key] {
			t.Errorf("%s, which was not the dead node's, is degraded %v after the kill", s.key, s.begun.Sub(killed))
		}
		last = max(last, s.begun.Sub(killed))
	}
	if degraded == 0 {
		t.Error("no check was decided by the failure rule: the node was not killed under load")
	}
	p50, p99, worst := quantiles(after)
	t.Logf("after the kill: %d checks, p50 %v, p99 %v, worst %v; %d degraded, the last %v after the kill; agreed after %v",
		len(after), p50, p99, worst, degraded, last, tookOver)
	for _, d := range alive {
		for _, key := range keys {
			if a := client.check(t, d, look(key)); a.Degraded {
				t.Errorf("%s: %s is degraded still, when all agree that the dead node is gone", d.name, key)
			}
		}
	}
}
