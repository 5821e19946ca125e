package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// roster is daemons under load that come, go and are restarted.
type roster struct {
	load   *load
	args   []string
	now    []*daemon
	before map[string]int // admitted before the load
}

// newRoster starts n1 and so on, uses up all keys at all of them, and starts callers.
func newRoster(t *testing.T, size, keys int) *roster {
	t.Helper()
	args := []string{"--deadline", "1s", "--policy", file(t, "limits.yaml", policies)}
	r := &roster{args: args, now: command{swift: true}.cluster(t, size, args...)}
	all := names("user-", keys)
	r.before = useUp(t, newWeb(t), "api", all, attempts/size, r.now...)
	r.load = startLoad(t, 6, all, r.now...)
	r.load.more(t, int64(keys))
	return r
}

// join starts a daemon, which is asked as soon as it is ready.
func (r *roster) join(t *testing.T, name string) {
	t.Helper()
	var seeds []string
	for _, d := range r.now {
		seeds = append(seeds, d.gossip)
	}
	d := startSwift(t, append([]string{"--name", name, "--join", strings.Join(seeds, ",")}, r.args...)...)
	r.load.add(t, d)
	r.now = append(r.now, d)
}

// leave stops the oldest daemon. It is asked until it refuses.
func (r *roster) leave(t *testing.T) (name string) {
	t.Helper()
	d := r.now[0]
	if code, _ := d.terminate(t); code != 0 {
		t.Errorf("%s: exit code %d after SIGTERM, want 0", d.name, code)
	}
	if line := d.line("left without having handed over everything"); line != "" {
		t.Error(line)
	}
	r.load.remove(d)
	r.now = r.now[1:]
	return d.name
}

// step does something and prints how long it took, and what became of the checks meanwhile.
func (r *roster) step(t *testing.T, what string, do func()) {
	t.Helper()
	begun := time.Now()
	do()
	took := time.Since(begun)
	t.Logf("%-28s %4.1f s: %s", what, took.Seconds(), figures(since(r.load.sofar(), begun)))
}

// transfers prints what the nodes that are left have counted.
func (r *roster) transfers(t *testing.T) {
	t.Helper()
	client := newWeb(t)
	sum := make(map[string]float64)
	for _, d := range r.now {
		for name, n := range client.metrics(t, d) {
			name, _, _ = strings.Cut(strings.TrimPrefix(name, "drossel_"), "_total{source=")
			sum[name] += n
		}
	}
	given := sum["ownership_transfer_duration_seconds_count"]
	t.Logf("%d nodes: %v partitions received, %v given in %.1f ms each, %v minted, %.1f MB sent, %v fences", len(r.now),
		sum[`ownership_moves_total{direction="received"}`], given,
		1e3*sum["ownership_transfer_duration_seconds_sum"]/max(given, 1), sum["ownership_mints"],
		sum["replication_sent_bytes_total"]/1e6, sum["ownership_fences_total"])
}

// exact ends the load. Every check must have been answered by whoever decides, and each key has got exactly its burst.
func (r *roster) exact(t *testing.T, begun time.Time) {
	t.Helper()
	samples := r.load.stop()
	answered(t, samples, patience)
	for _, s := range samples {
		if s.degraded {
			t.Errorf("nothing failed, and a failure rule decided: %v", s)
		}
	}
	if took := time.Since(begun); took > time.Hour/burst {
		t.Fatalf("it took %v, in which a bucket gets a token", took)
	}
	extra := 0
	got := admitted(samples)
	for _, key := range r.load.keys {
		if n := r.before[key] + got[key]; n != burst {
			t.Errorf("key %s: %d admitted, want exactly %d", key, n, burst)
			extra += n - burst
		}
	}
	slowest := slices.MaxFunc(samples, func(a, b sample) int { return cmp.Compare(a.took, b.took) })
	t.Logf("slowest: %v", slowest)
	t.Logf("in all %s; %d extra admissions; %d times another daemon had to be asked", figures(samples), extra,
		r.load.turned.Load())
}

// TestScaleAndRoll grows a cluster, restarts its nodes one by one and shrinks it again, under load from all sides. All
// keys are used up before. No restart gives one of them anything, and nobody who asks notices.
func TestScaleAndRoll(t *testing.T) {
	takesLong(t)
	t.Parallel()
	begun := time.Now()
	size, rolls := 4, 2
	if *long {
		size, rolls = 5, 5
	}
	r := newRoster(t, 3, 300)
	for n := 4; n <= size; n++ {
		r.step(t, fmt.Sprint("grow to ", n), func() {
			r.join(t, fmt.Sprint("n", n))
			agreed(t, r.now...)
		})
	}
	for range rolls {
		r.step(t, "restart "+r.now[0].name, func() { r.join(t, r.leave(t)) }) // the next goes when this one is ready
	}
	r.step(t, "whole again", func() { agreed(t, r.now...) })
	for n := size - 1; n >= 3; n-- {
		r.step(t, fmt.Sprint("shrink to ", n), func() {
			r.leave(t)
			agreed(t, r.now...)
		})
	}
	r.transfers(t)
	client := newWeb(t)
	deciders := slices.Sorted(maps.Values(owners(t, client, r.now[0], "api", r.load.keys)))
	if deciders = slices.Compact(deciders); len(deciders) != 3 {
		t.Errorf("decided by %q, want all three", deciders)
	}
	r.exact(t, begun)
}

// TestDeployment replaces every node by one with another name, as deployments do: first the new one is started, then an
// old one is stopped.
func TestDeployment(t *testing.T) {
	takesLong(t)
	t.Parallel()
	begun := time.Now()
	r := newRoster(t, 3, 60)
	for i := range 3 {
		name := fmt.Sprint("n", i+4)
		r.step(t, name+" for "+r.now[0].name, func() {
			r.join(t, name)
			r.leave(t)
		})
	}
	r.step(t, "whole again", func() { agreed(t, r.now...) })
	r.transfers(t)
	r.exact(t, begun)
}
