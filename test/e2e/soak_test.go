package e2e

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

var (
	soakFor  = flag.Duration("soak", 0, "how long TestSoak goes on; 0 leaves it out")
	soakOnly = flag.String("soak.only", "", "make only faults whose name has one of these, with commas between")
	soakSeed = flag.Uint64("soak.seed", 0, "the seed of its faults; 0 is a new one")
)

const (
	soakNodes    = 5
	soakDeadline = 200 * time.Millisecond
	// soakDisk is the size of each node's disk.
	soakDisk = "8m"
)

// crop is a limit under load, and what is known of it: for the oracle, not for the daemons.
type crop struct {
	name    string
	yaml    string
	kind    byte // b: a bucket; w: any period; f: periods of the clock, m: minutes
	limit   float64
	period  time.Duration // in which limit comes in, or the window
	twice   bool          // any period may have twice the limit, by design
	callers int
	perSec  float64 // of each caller
	exact   bool    // no failure of a node may admit more
	strict  bool    // decided by Redis
	local   bool    // and by its owner if that can't be asked

	mu       sync.Mutex
	admitted []admission
	checks   int64
	degraded int64
	failed   int64
}

// admission is one, which was decided between two instants.
type admission struct{ begun, ended time.Duration }

// crops are every algorithm and every consistency.
func crops() []*crop {
	const deny = "on_unreachable: deny, on_owner_loss: empty"
	return []*crop{
		{name: "leased", yaml: "limits: [{rate: 100/s, burst: 200}]", kind: 'b', limit: 200, period: 2 * time.Second, callers: 6, perSec: 50},
		{name: "direct", yaml: "consistency: direct, limits: [{rate: 10/s, burst: 30}]", kind: 'b', limit: 30, period: 3 * time.Second, callers: 1, perSec: 25},
		{name: "exact", yaml: deny + ", consistency: direct, limits: [{rate: 10/s, burst: 30}]", kind: 'b', limit: 30, period: 3 * time.Second, callers: 1,
			perSec: 25, exact: true},
		{name: "durable", yaml: "durable: true, limits: [{rate: 10/s, burst: 30}]", kind: 'b', limit: 30, period: 3 * time.Second, callers: 1, perSec: 25},
		{name: "pacer", yaml: "limits: [{algorithm: pacer, rate: 10/s, max_wait: 500ms}]", kind: 'b', limit: 7, period: 700 * time.Millisecond, callers: 1, perSec: 25},
		{name: "log", yaml: "limits: [{algorithm: sliding_window, rate: 100/10s}]", kind: 'w', limit: 100, period: 10 * time.Second, callers: 1, perSec: 25},
		{name: "counters", yaml: "limits: [{algorithm: sliding_window, rate: 1001/20s}]", kind: 'w', limit: 1001, period: 20 * time.Second, twice: true, callers: 3, perSec: 30},
		{name: "first", yaml: "limits: [{algorithm: first_hit_window, rate: 100/10s}]", kind: 'w', limit: 100, period: 10 * time.Second, twice: true, callers: 1, perSec: 25},
		{name: "fixed", yaml: "limits: [{algorithm: fixed_window, rate: 100/10s}]", kind: 'f', limit: 100, period: 10 * time.Second, callers: 1, perSec: 25},
		{name: "quota", yaml: "limits: [{quota: 600/min}]", kind: 'f', limit: 600, period: time.Minute, callers: 1, perSec: 25},
		{name: "strict", yaml: "on_unreachable: deny, consistency: strict, limits: [{rate: 10/s, burst: 30}]", kind: 'b', limit: 30, period: 3 * time.Second,
			callers: 1, perSec: 25, exact: true, strict: true},
		{name: "strictlocal", yaml: "consistency: strict, limits: [{rate: 10/s, burst: 30}]", kind: 'b', limit: 30, period: 3 * time.Second, callers: 1,
			perSec: 25, strict: true, local: true},
	}
}

// soak is a cluster under load and faults.
type soak struct {
	*islands
	t        *testing.T
	began    time.Time
	random   *rand.Rand
	redis    *redisServer
	policies [2]string // files, of which the second has one limit more, and another that is lower
	dirs     []string
	nodes    []*daemon
	crops    []*crop
	web      *web

	mu     sync.Mutex
	asked  []*daemon // that callers ask now
	faults []*fault
	stop   atomic.Bool
	calls  sync.WaitGroup
}

// fault is one that was made.
type fault struct {
	kind         string
	begun, whole time.Duration
	nodes        int           // whose authority it ends
	ruled        time.Duration // how long after its beginning a check was decided by rule last
	degraded     int64
	extra        float64 // of all limits
	allowed      float64
}

func (x *soak) elapsed() time.Duration { return time.Since(x.began) }

// TestSoak has five daemons decide by every algorithm under every fault that one machine can make, one at a time, and accounts for every
// admission.
func TestSoak(t *testing.T) {
	if *soakFor == 0 {
		t.Skip("test/soak runs it")
	}
	seed := *soakSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) % 1_000_000
	}
	t.Logf("test/soak --duration %v --seed %d", *soakFor, seed)
	x := newSoak(t, seed)
	before := x.vitals()
	x.load()
	x.calm(2 * time.Second)
	for x.elapsed() < *soakFor {
		x.fault()
		x.calm(time.Duration(500+x.random.IntN(2500)) * time.Millisecond)
	}
	x.stop.Store(true)
	x.calls.Wait()
	x.report(before, x.vitals())
}

func newSoak(t *testing.T, seed uint64) *soak {
	x := &soak{
		t: t, random: rand.New(rand.NewPCG(seed, 1)), redis: newRedis(t), islands: newIslands(t, soakNodes), crops: crops(), web: newWeb(t),
	}
	x.redis.start(t)
	for i := range x.policies {
		var b strings.Builder
		b.WriteString("version: 1\npolicies:\n")
		for _, c := range x.crops {
			fmt.Fprintf(&b, "  %s: {key: [user], %s}\n", c.name, c.yaml)
		}
		fmt.Fprintf(&b, "  other: {key: [user], limits: [{rate: %d/s}]}\n", 100>>i)
		if i > 0 {
			b.WriteString("  more: {key: [user], limits: [{quota: 1M/month}]}\n")
		}
		x.policies[i] = file(t, fmt.Sprintf("limits%d.yaml", i), b.String())
	}
	for i := range soakNodes {
		dir := t.TempDir()
		if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+soakDisk, "drossel-soak", dir).CombinedOutput(); err != nil {
			t.Skipf("mounts are not permitted here: %v: %s", err, out)
		}
		t.Cleanup(func() { exec.Command("umount", "-l", dir).Run() })
		x.dirs = append(x.dirs, dir)
		x.nodes = append(x.nodes, x.launch(i))
	}
	for _, d := range x.nodes {
		d.ready(t)
	}
	agreed(t, x.nodes...)
	run(t, "policy", "apply", x.policies[0], "--addr", x.nodes[0].http).wants(t, 0)
	x.asked = slices.Clone(x.nodes)
	x.began = time.Now()
	soakEpoch = x.began
	return x
}

// launch starts a node's daemon.
func (x *soak) launch(i int) *daemon {
	var seeds []string
	for j := range soakNodes {
		seeds = append(seeds, x.inner(j)+":7946")
	}
	in := command{swift: true, by: []string{"ip", "netns", "exec", x.space(i)}}
	return launch(x.t, in, "--name", fmt.Sprint("n", i+1), "--label", x.t.Name(), "--insecure", "--gossip", seeds[i],
		"--grpc", x.outer(i)+":7070", "--http", x.outer(i)+":7080", "--join", strings.Join(seeds, ","), "--expect", fmt.Sprint(soakNodes),
		"--data-dir", x.dirs[i], "--redis", x.redis.url(), "--deadline", soakDeadline.String())
}

// load has callers ask for each crop, until the soak stops.
func (x *soak) load() {
	for _, c := range x.crops {
		for caller := range c.callers {
			x.calls.Go(func() {
				ticks := time.NewTicker(time.Duration(float64(time.Second) / c.perSec))
				defer ticks.Stop()
				for turn := caller; !x.stop.Load(); turn++ {
					<-ticks.C
					x.ask(c, turn)
				}
			})
		}
	}
}

// ask makes one check at the next node that is asked.
func (x *soak) ask(c *crop, turn int) {
	x.mu.Lock()
	d := x.asked[turn%len(x.asked)]
	x.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var a answer
	begun := x.elapsed()
	code, err := x.web.post(ctx, "http://"+d.http+"/v1/check", object{"policy": c.name, "key": "k"}, &a)
	ended := x.elapsed()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.checks++
	switch {
	case err != nil || code != http.StatusOK: // the process is gone, or nearly
		c.failed++
		return
	case a.Degraded:
		c.degraded++
		x.mu.Lock()
		if n := len(x.faults); n > 0 {
			f := x.faults[n-1]
			f.degraded++
			f.ruled = max(f.ruled, ended-f.begun)
		}
		x.mu.Unlock()
	}
	if a.Allowed {
		c.admitted = append(c.admitted, admission{begun, ended})
	}
}

// leave has callers ask a node no more, back has them ask it again.
func (x *soak) leave(d *daemon) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.asked = slices.DeleteFunc(slices.Clone(x.asked), func(o *daemon) bool { return o == d })
}

func (x *soak) back(d *daemon) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.asked = append(slices.Clone(x.asked), d)
}

// calm lets some time pass without a fault.
func (x *soak) calm(d time.Duration) { <-time.After(d) }

func (x *soak) between(low, high time.Duration) time.Duration {
	return low + time.Duration(x.random.Int64N(int64(high-low)))
}

// fault makes one, and waits until the cluster is whole again.
func (x *soak) fault() {
	type kind struct {
		name  string
		nodes int
		make  func()
	}
	kinds := []kind{
		{"rolled by SIGTERM", 0, x.roll}, {"killed", 1, x.kill}, {"paused by SIGSTOP", 1, x.pause}, {"two cut off", 2, x.cut},
		{"deaf, by a cut one way", 1, x.deafen}, {"Redis stopped", 0, x.stopRedis}, {"policies changed", 0, x.apply},
		{"limits of a key changed", 0, x.set}, {"disk full", 0, x.fill},
	}
	kinds = slices.DeleteFunc(kinds, func(k kind) bool {
		return !slices.ContainsFunc(strings.Split(*soakOnly, ","), func(part string) bool { return strings.Contains(k.name, part) })
	})
	if len(kinds) == 0 {
		x.t.Fatalf("there is no fault with %q in its name", *soakOnly)
	}
	k := kinds[x.random.IntN(len(kinds))]
	f := &fault{kind: k.name, begun: x.elapsed(), nodes: k.nodes}
	x.mu.Lock()
	x.faults = append(x.faults, f)
	x.mu.Unlock()
	k.make()
	agreed(x.t, x.nodes...)
	f.whole = x.elapsed()
	x.t.Logf("%s at %.2f s, whole after %.2f s, %d by rule", f.kind, f.begun.Seconds(), (f.whole - f.begun).Seconds(), f.degraded)
}

func (x *soak) any() int { return x.random.IntN(soakNodes) }

func (x *soak) roll() {
	i := x.any()
	x.leave(x.nodes[i])
	if code, _ := x.nodes[i].terminate(x.t); code != 0 {
		x.t.Errorf("%s ended with %d", x.nodes[i].name, code)
	}
	x.begin(i)
}

// begin starts a node again.
func (x *soak) begin(i int) {
	x.nodes[i] = x.launch(i)
	x.nodes[i].ready(x.t)
	x.back(x.nodes[i])
}

func (x *soak) kill() {
	i := x.any()
	x.nodes[i].kill(x.t)
	x.leave(x.nodes[i])
	x.calm(x.between(0, 3*time.Second))
	x.begin(i)
}

func (x *soak) pause() {
	d := x.nodes[x.any()]
	x.leave(d)
	d.signal(x.t, syscall.SIGSTOP)
	x.calm(x.between(200*time.Millisecond, 6*time.Second))
	d.signal(x.t, syscall.SIGCONT)
	x.back(d)
}

func (x *soak) cut() {
	i := x.any()
	some := []int{i, (i + 1 + x.random.IntN(soakNodes-1)) % soakNodes}
	x.move(x.t, "b", some...)
	x.calm(x.between(time.Second, 6*time.Second))
	x.move(x.t, "a", some...)
}

// deafen drops what comes to a node from the others, and nothing that goes out.
func (x *soak) deafen() {
	rule := func(do string, i int) {
		x.ip(x.t, fmt.Sprintf("netns exec %s iptables -w %s INPUT -i a -j DROP", x.space(i), do))
	}
	i := x.any()
	rule("-A", i)
	x.calm(x.between(500*time.Millisecond, 5*time.Second))
	rule("-D", i)
}

func (x *soak) stopRedis() {
	x.redis.signal(x.t, syscall.SIGSTOP)
	x.calm(x.between(500*time.Millisecond, 5*time.Second))
	x.redis.signal(x.t, syscall.SIGCONT)
}

func (x *soak) apply() {
	run(x.t, "policy", "apply", x.policies[x.random.IntN(2)], "--addr", x.nodes[x.any()].http).wants(x.t, 0)
}

func (x *soak) set() {
	key := fmt.Sprint("customer-", x.random.IntN(100))
	run(x.t, "limits", "set", "other", key, "--rate", fmt.Sprint(1+x.random.IntN(500), "/s"), "--addr", x.nodes[x.any()].http).wants(x.t, 0, key)
}

func (x *soak) fill() {
	ballast := filepath.Join(x.dirs[x.any()], "ballast")
	exec.Command("dd", "if=/dev/zero", "of="+ballast, "bs=4096").Run() // ends when there is no space left
	x.calm(x.between(500*time.Millisecond, 3*time.Second))
	if err := os.Remove(ballast); err != nil {
		x.t.Error(err)
	}
}

// vitals are what all processes together have.
type vitals struct{ memory, goroutines float64 }

func (x *soak) vitals() (v vitals) {
	for _, d := range x.nodes {
		m := x.web.metrics(x.t, d)
		v.memory += m["process_resident_memory_bytes"]
		v.goroutines += m["go_goroutines"]
	}
	return v
}

// report accounts for every admission, and says what was seen.
func (x *soak) report(before, after vitals) {
	t := x.t
	for _, c := range x.crops {
		slices.SortFunc(c.admitted, func(a, b admission) int { return int(a.ended - b.ended) })
	}
	var b strings.Builder
	b.WriteString("\n| fault | times | nodes whose authority it ended | decided by rule | last by rule after: median, longest | whole again after: median, longest | too many of all limits | allowed |\n|---|---|---|---|---|---|---|---|\n")
	by := map[string][]*fault{}
	for i, f := range x.faults {
		by[f.kind] = append(by[f.kind], f)
		since := time.Duration(0)
		if i > 0 {
			since = x.faults[i-1].whole
		}
		for _, c := range x.crops { // from when all was well to when it is again
			extra, allowed := c.extra(c.between(since, f.whole)), c.allowance([]*fault{f})
			if f.extra, f.allowed = f.extra+extra, f.allowed+allowed; extra > allowed {
				t.Errorf("%s, %s at %.1f s: %.1f too many, allowed are %.0f", f.kind, c.name, f.begun.Seconds(), extra, allowed)
			}
		}
	}
	for _, kind := range sortedKeys(by) {
		var ruled, whole []time.Duration
		degraded, nodes, extra, allowed := int64(0), 0, 0.0, 0.0
		for _, f := range by[kind] {
			if f.degraded > 0 {
				ruled = append(ruled, f.ruled)
			}
			whole = append(whole, f.whole-f.begun)
			degraded, nodes, extra, allowed = degraded+f.degraded, nodes+f.nodes, extra+f.extra, allowed+f.allowed
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %s | %s | %.0f | %.0f |\n", kind, len(by[kind]), nodes, degraded, spread(ruled), spread(whole), extra, allowed)
	}
	b.WriteString("\n| limit | checks | admitted | by rule | not answered | most too many in any interval | allowed for that by the faults |\n|---|---|---|---|---|---|---|\n")
	checks := int64(0)
	for _, c := range x.crops {
		most, allowance := c.extra(c.admitted), c.allowance(x.faults)
		checks += c.checks
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %.0f | %.0f |\n", c.name, c.checks, len(c.admitted), c.degraded, c.failed, most, allowance)
		if most > allowance {
			t.Errorf("%s: %.1f too many in an interval, allowed are %.0f", c.name, most, allowance)
		}
		if len(c.admitted) == 0 {
			t.Errorf("%s: nothing was admitted", c.name)
		}
	}
	fmt.Fprintf(&b, "\n%v, %d faults, %d checks; %.0f MiB and %.0f goroutines at the start, %.0f MiB and %.0f at the end (all five)\n",
		x.elapsed().Round(time.Second), len(x.faults), checks, before.memory/(1<<20), before.goroutines, after.memory/(1<<20), after.goroutines)
	t.Log(b.String())
	if after.goroutines > 1.5*before.goroutines+100 {
		t.Errorf("%.0f goroutines at the end, %.0f at the start", after.goroutines, before.goroutines)
	}
}

func sortedKeys(m map[string][]*fault) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func spread(all []time.Duration) string {
	if len(all) == 0 {
		return "none"
	}
	slices.Sort(all)
	return fmt.Sprintf("%.2f s, %.2f s", all[len(all)/2].Seconds(), all[len(all)-1].Seconds())
}

// between are the admissions that were surely decided between two instants, by their ends.
func (c *crop) between(from, to time.Duration) (some []admission) {
	for _, a := range c.admitted {
		if a.begun >= from && a.ended <= to {
			some = append(some, a)
		}
	}
	return some
}

// extra is by how much more was admitted in some interval than one bucket may have: of what was surely decided within it.
func (c *crop) extra(of []admission) float64 {
	most := c.limit
	if c.twice {
		most *= 2
	}
	switch c.kind {
	case 'f': // periods of the wall clock, which begins anywhere within them
		return max(0, c.mostInPeriods(of)-most)
	case 'w':
		return max(0, c.mostWithin(of)-most)
	}
	return max(0, c.mostOverRate(of)-most)
}

// mostOverRate is the most that was admitted between two instants, less what came in meanwhile.
func (c *crop) mostOverRate(of []admission) float64 {
	rate := c.limit / float64(c.period)
	begins := make([]time.Duration, len(of))
	for i, a := range of {
		begins[i] = a.begun
	}
	slices.Sort(begins)
	tree := newMaxTree(len(begins))
	for i, at := range begins {
		tree.add(i, i+1, rate*float64(at))
	}
	most := 0.0
	for _, a := range of { // by their ends: it counts for all intervals that begin before it did
		i, _ := slices.BinarySearchFunc(begins, a.begun, func(at, x time.Duration) int { return int(at - x) })
		for i < len(begins) && begins[i] == a.begun {
			i++
		}
		tree.add(0, i, 1)
		for i < len(begins) && begins[i] <= a.ended {
			i++
		}
		most = max(most, tree.max(i)-rate*float64(a.ended))
	}
	return most
}

// mostWithin is the most that was surely admitted within any period.
func (c *crop) mostWithin(of []admission) float64 {
	begins := make([]time.Duration, 0, len(of))
	most := 0
	for _, a := range of {
		i, _ := slices.BinarySearch(begins, a.begun)
		begins = slices.Insert(begins, i, a.begun)
		first, _ := slices.BinarySearch(begins, a.ended-c.period)
		if first > 0 {
			begins = slices.Delete(begins, 0, first)
		}
		most = max(most, len(begins))
	}
	return float64(most)
}

// mostInPeriods is the most that was surely admitted in one period of the clock.
func (c *crop) mostInPeriods(of []admission) float64 {
	counts := map[int64]int{}
	most := 0
	for _, a := range of {
		begun, ended := soakEpoch.Add(a.begun).UnixNano()/int64(c.period), soakEpoch.Add(a.ended).UnixNano()/int64(c.period)
		if begun == ended {
			counts[begun]++
			most = max(most, counts[begun])
		}
	}
	return float64(most)
}

// soakEpoch is when the soak that is reported on began.
var soakEpoch time.Time

// allowance is what the promises allow for the faults that were: a bucket for each owner that was lost, and what came in by rule until all
// was whole.
func (c *crop) allowance(faults []*fault) (sum float64) {
	rate := c.limit / float64(c.period)
	for _, f := range faults {
		lasted := float64(f.whole - f.begun)
		switch {
		case c.exact:
		case c.strict && !c.local:
		case c.strict:
			if f.kind == "Redis stopped" || f.nodes > 0 {
				sum += c.limit + rate*lasted
			}
		case f.nodes > 0:
			sum += float64(f.nodes)*c.limit + math.Ceil(float64(f.nodes)/soakNodes*(c.limit+rate*lasted))
		}
	}
	return sum + 1 // the instants are those of the callers
}
