package sim

import (
	"context"
	"fmt"
	"log/slog"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/node"
	"github.com/drossel-dev/drossel/ring"
	"github.com/drossel-dev/drossel/transport"
	"github.com/drossel-dev/drossel/transport/mem"
)

// fleet is whole nodes whose members come and go, in one bubble of virtual time.
type fleet struct {
	t        testing.TB
	random   *rand.Rand
	began    time.Time
	network  *mem.Network
	roster   roster
	policies []*policy.Set // by revision, odd and even
	revision atomic.Uint64
	groups   []*fleetGroup
	change   func(c *node.Config)
	slow     atomic.Int64 // nanoseconds that every message takes longer
	version  uint8        // the highest frame version of nodes that start; 0 is the newest

	mu    sync.Mutex
	nodes map[string]*member
	disks map[string]*disk // by name: they outlive a process

	stored                   stored
	loading                  sync.WaitGroup
	stop                     atomic.Bool
	checks, degraded, failed atomic.Int64
}

// member is a node of a fleet, alive or not.
type member struct {
	*node.Node
	name  string
	ready bool // it is given load
	ended bool
}

// fleetGroup is a key under load, and what one bucket would have admitted of it.
type fleetGroup struct {
	policy, key string
	attribute   string        // that has the key; "" is k
	with        []*fleetGroup // that it is decided with
	idle        bool          // it is asked for with others only
	limits      []bucket.Limit
	unreachable policy.Unreachable
	perSec      float64
	mu          sync.Mutex
	refs        []*reference
	admitted    int64
	recent      []bucket.Instant // admissions of the last moments
	faulted     []int64          // what faults allow, by limit
	ruled       int64            // what failure rules have admitted, and when
	firstRuled  bucket.Instant
	lastRuled   bucket.Instant
}

const fleetLatest = 2 * time.Millisecond

// newFleet makes an empty one. Its nodes end with the test.
func newFleet(t testing.TB, seed uint64, groups []*fleetGroup, change func(c *node.Config)) *fleet {
	f := &fleet{
		t: t, random: rand.New(rand.NewPCG(seed, 7)), began: time.Now(), groups: groups, change: change,
		nodes: make(map[string]*member), disks: make(map[string]*disk),
	}
	for _, g := range groups {
		for _, l := range g.limits {
			g.refs, g.faulted = append(g.refs, newReference(l, 0)), append(g.faulted, 0)
		}
	}
	for _, extra := range []bool{false, true} {
		f.policies = append(f.policies, fleetPolicies(t, groups, extra))
	}
	random := rand.New(rand.NewPCG(seed, 8))
	var delays sync.Mutex
	f.network = &mem.Network{
		After: func(d time.Duration, do func()) { time.AfterFunc(d, do) },
		Delay: func(string, string) time.Duration {
			delays.Lock()
			defer delays.Unlock()
			return time.Duration(f.slow.Load()) + 200*time.Microsecond + time.Duration(random.Int64N(int64(fleetLatest-200*time.Microsecond)))
		},
	}
	t.Cleanup(func() {
		f.stop.Store(true)
		f.loading.Wait()
		for _, m := range f.living() {
			f.crash(m.name)
		}
	})
	return f
}

// fleetPolicies are those of the groups. With an extra limit, which never denies, all others stand at another place.
func fleetPolicies(t testing.TB, groups []*fleetGroup, extra bool) *policy.Set {
	var all []policy.Policy
	for _, g := range groups {
		p := policy.Policy{Name: g.policy, Key: []string{g.attr()}}
		for _, w := range g.with {
			p.With = append(p.With, w.policy)
		}
		if extra {
			p.Limits = append(p.Limits, policy.Limit{Name: "extra", OnUnreachable: g.unreachable,
				Limit: bucket.Limit{Count: 1e6, Per: time.Second, Burst: 1e6, OwnerLoss: g.limits[0].OwnerLoss}})
		}
		for i, l := range g.limits {
			p.Limits = append(p.Limits, policy.Limit{Name: fmt.Sprint("l", i), Limit: l, OnUnreachable: g.unreachable})
		}
		if !slices.ContainsFunc(all, func(q policy.Policy) bool { return q.Name == p.Name }) {
			all = append(all, p)
		}
	}
	set, err := policy.NewSet(all...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// newPolicies has every node hear of other policies, each at a time of its own within a second, again and again until the fleet ends.
func (f *fleet) newPolicies(r *rand.Rand) {
	f.loading.Go(func() {
		for !f.stop.Load() {
			time.Sleep(time.Duration(1+r.IntN(3000)) * time.Millisecond)
			revision := f.revision.Add(1)
			for _, m := range f.living() {
				time.AfterFunc(time.Duration(r.IntN(1000))*time.Millisecond, func() { f.tell(m, revision) })
			}
		}
	})
}

func (f *fleet) tell(m *member, revision uint64) {
	if err := m.SetPolicies(f.policies[revision%2], node.Source{Revision: revision}); err != nil {
		f.t.Errorf("%s: %v", m.name, err)
	}
}

// start starts a node and returns when it takes checks.
func (f *fleet) start(name string) *member {
	f.t.Helper()
	revision := f.revision.Load()
	cfg := node.Config{
		Name: name, Policies: f.policies[revision%2], PolicySource: node.Source{Revision: revision}, Deadline: time.Second, Ring: ring.Params{Partitions: 61},
		JoinTimeout: 5 * time.Second, Forget: 10 * time.Second,
		Connect: func(own transport.Hello, secret []byte) (node.Network, node.Membership) {
			own.MaxVersion = f.version
			return f.network.Node(own.ID, own, secret), f.roster.join(ring.Member{ID: own.ID, Boot: own.Boot, Peer: own.ID, State: ring.Joining})
		},
	}
	f.mu.Lock()
	if len(f.nodes) == 0 {
		cfg.Expect = 1
	}
	if f.disks[name] == nil {
		f.disks[name] = new(disk)
	}
	cfg.Store = f.disks[name]
	f.mu.Unlock()
	if *story {
		cfg.Logger = slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	if f.change != nil {
		f.change(&cfg)
	}
	n, err := node.New(cfg)
	if err == nil {
		err = n.Start(context.Background())
	}
	if err != nil {
		f.t.Fatal(err)
	}
	m := &member{Node: n, name: name, ready: true}
	f.mu.Lock()
	f.nodes[name] = m
	f.mu.Unlock()
	return m
}

func (f *fleet) living() []*member { return f.those(func(m *member) bool { return !m.ended }) }
func (f *fleet) ready() []*member  { return f.those(func(m *member) bool { return m.ready }) }

func (f *fleet) those(are func(*member) bool) (all []*member) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.nodes {
		if are(m) {
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b *member) int { return strings.Compare(a.name, b.name) })
	return all
}

func (f *fleet) get(name string) *member {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.nodes[name]
}

// unload gives a node no more checks.
func (f *fleet) unload(m *member) {
	f.mu.Lock()
	m.ready = false
	f.mu.Unlock()
}

// crash ends a node without a word.
func (f *fleet) crash(name string) {
	m := f.get(name)
	f.mu.Lock()
	m.ready, m.ended = false, true
	f.mu.Unlock()
	if err := m.Close(); err != nil {
		f.t.Errorf("close %s: %v", name, err)
	}
}

// leave ends a node politely.
func (f *fleet) leave(name string) {
	m := f.get(name)
	f.unload(m)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := m.Leave(ctx); err != nil {
		f.t.Errorf("leave %s: %v", name, err)
	}
	f.crash(name)
}

// cut separates one side from the rest, until heal.
func (f *fleet) cut(side ...string) (heal func()) {
	var pairs [][2]string
	for _, m := range f.living() {
		for _, s := range side {
			if !slices.Contains(side, m.name) {
				pairs = append(pairs, [2]string{s, m.name})
			}
		}
	}
	each := func(do func(from, to string)) {
		for _, p := range pairs {
			do(p[0], p[1])
			do(p[1], p[0])
		}
	}
	each(f.network.Cut)
	noticed := time.AfterFunc(deadAfter, func() { each(func(a, b string) { f.roster.see(a, b, true) }) })
	return func() {
		noticed.Stop()
		each(f.network.Heal)
		time.AfterFunc(time.Second, func() { each(func(a, b string) { f.roster.see(a, b, false) }) })
	}
}

// load sends checks of all groups to nodes that are ready, each group at its rate, until the fleet ends.
func (f *fleet) load() {
	for i, g := range f.groups {
		if g.idle {
			continue
		}
		r := rand.New(rand.NewPCG(f.random.Uint64(), uint64(i)))
		f.loading.Go(func() {
			for !f.stop.Load() {
				time.Sleep(time.Duration(r.ExpFloat64() / g.perSec * float64(time.Second)))
				ready := f.ready()
				if len(ready) == 0 {
					continue
				}
				m := ready[r.IntN(len(ready))]
				f.loading.Go(func() { f.check(m, g) })
			}
		})
	}
}

func (f *fleet) check(m *member, g *fleetGroup) {
	begun := time.Now()
	req := policy.Request{Policy: g.policy, Attributes: map[string]string{g.attr(): g.key}}
	for _, w := range g.with {
		req.Attributes[w.attr()] = w.key
	}
	d, err := m.Check(context.Background(), req)
	f.checks.Add(1)
	if err != nil {
		f.failed.Add(1)
		return
	}
	if took := time.Since(begun); took > time.Second+10*time.Millisecond {
		f.t.Errorf("a check of %s/%s at %s took %v", g.policy, g.key, m.name, took)
	}
	if d.Degraded {
		f.degraded.Add(1)
	}
	if d.Allowed {
		g.admit(bucket.Instant(time.Since(f.began)), d.Degraded)
		for _, w := range g.with {
			w.admit(bucket.Instant(time.Since(f.began)), d.Degraded)
		}
	}
}

func (g *fleetGroup) attr() string {
	if g.attribute == "" {
		return "k"
	}
	return g.attribute
}

// moment is how long a debit may have been made before a fault and not be in the copy: an interval between snapshots, and
// what one of them may take.
const moment = bucket.Instant(200 * time.Millisecond)

func (g *fleetGroup) admit(now bucket.Instant, degraded bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.admitted++
	if degraded {
		if g.ruled++; g.ruled == 1 {
			g.firstRuled = now
		}
		g.lastRuled = now
	}
	g.recent = append(g.recent, now)
	for g.recent[0] < now-moment {
		g.recent = g.recent[1:]
	}
	for _, r := range g.refs {
		r.admit(now, 1, 0)
	}
}

// fault allows what a loss of the owner may cost now, or within a moment: a fault takes a little time to be one. Nothing
// of what the owner had debited is known if its copies are lost as well, and never is it more than a burst.
func (g *fleetGroup) fault(now bucket.Instant, copies bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	unseen := int64(g.perSec*time.Duration(moment).Seconds()) + 1
	for _, at := range g.recent {
		if at >= now-moment {
			unseen++
		}
	}
	for i, l := range g.limits {
		lost := unseen
		if l.Burst >= 40 { // some of it may have been lent
			lost += l.Burst / 4
		}
		if copies {
			lost = l.Burst
		}
		if l.OwnerLoss == bucket.LossEmpty {
			lost = 0
		}
		g.faulted[i] += min(lost, l.Burst)
	}
}

// excess says how much more was admitted than faults allow, in tokens, of any limit.
func (g *fleetGroup) excess() (excess int64) {
	for i, over := range g.overs() {
		g.mu.Lock()
		excess = max(excess, over-g.faulted[i]-g.ruled)
		g.mu.Unlock()
	}
	return excess
}

// over is what was admitted too much, as the worst of the limits has it.
func (g *fleetGroup) over() int64 { return slices.Max(g.overs()) }

// overs is what was admitted too much, by limit, in tokens rounded up. An admission is seen when
// its answer has come, and meanwhile a full bucket of the reference gains nothing: what flows in then is allowed.
func (g *fleetGroup) overs() []int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	overs := make([]int64, len(g.refs))
	for i, r := range g.refs {
		late := new(big.Int).Mul(big.NewInt(r.limit.Count), big.NewInt(int64(2*fleetLatest)))
		least := new(big.Int).Add(r.low, late)
		if least.Sign() >= 0 {
			continue
		}
		up := new(big.Int).Add(least.Neg(least), new(big.Int).Sub(r.per, big.NewInt(1)))
		overs[i] = up.Quo(up, r.per).Int64()
	}
	return overs
}

// settle waits until all living nodes agree on the list, and every partition is held once and by each its part; it returns
// how long it took.
func (f *fleet) settle() time.Duration {
	f.t.Helper()
	begun := time.Now()
	for {
		living := f.living()
		owned, agree := 0, true
		first := living[0].Stats()
		for _, m := range living {
			s := m.Stats()
			agree = agree && s.Epoch == first.Epoch && s.Members == len(living) && s.LinksUp == len(living)-1 &&
				s.OwnedPartitions > s.Partitions/(4*len(living))
			owned += s.OwnedPartitions
		}
		if agree && owned == first.Partitions {
			return time.Since(begun)
		}
		if time.Since(begun) > time.Minute {
			for _, m := range living {
				s := m.Stats()
				f.t.Errorf("%s: epoch %x, %d members, %d links, owns %d", m.name, s.Epoch, s.Members, s.LinksUp, s.OwnedPartitions)
			}
			f.t.Fatal("a minute after the last fault the members do not agree")
		}
		time.Sleep(10 * time.Millisecond)
		synctest.Wait()
	}
}

// groupsOf makes the load of most runs: keys that are exhausted for good, keys that refill, and one that is hot.
func fleetGroups() (groups []*fleetGroup) {
	for i := range 20 {
		groups = append(groups, &fleetGroup{policy: "hourly", key: fmt.Sprint(i), perSec: 5,
			limits: []bucket.Limit{{Count: 1, Per: time.Hour, Burst: 10}}})
	}
	for i := range 10 {
		groups = append(groups, &fleetGroup{policy: "both", key: fmt.Sprint(i), perSec: 20,
			limits: []bucket.Limit{{Count: 10, Per: time.Second, Burst: 20}, {Count: 1, Per: time.Minute, Burst: 100}}})
	}
	for i := range 5 { // of these nothing may ever be admitted too much
		groups = append(groups, &fleetGroup{policy: "exact", key: fmt.Sprint(i), perSec: 20, unreachable: policy.UnreachableDeny,
			limits: []bucket.Limit{{Count: 5, Per: time.Second, Burst: 20, OwnerLoss: bucket.LossEmpty}}})
	}
	// Users are decided with their tenant and with the whole service, which are at other owners.
	all := &fleetGroup{policy: "all", attribute: "s", idle: true, perSec: 160, key: "one",
		limits: []bucket.Limit{{Count: 100, Per: time.Second, Burst: 200}}}
	groups = append(groups, all)
	for i := range 2 {
		tenant := &fleetGroup{policy: "tenant", attribute: "t", idle: true, perSec: 80, key: fmt.Sprint(i),
			limits: []bucket.Limit{{Count: 60, Per: time.Second, Burst: 30}, {Count: 1000, Per: time.Minute, Burst: 500}}}
		groups = append(groups, tenant)
		for j := range 4 {
			groups = append(groups, &fleetGroup{policy: "user", key: fmt.Sprint(i, "-", j), perSec: 20, with: []*fleetGroup{tenant, all},
				limits: []bucket.Limit{{Count: 15, Per: time.Second, Burst: 10}}})
		}
	}
	return append(groups,
		&fleetGroup{policy: "hot", key: "one", perSec: 1500,
			limits: []bucket.Limit{{Count: 1000, Per: time.Second, Burst: 1000}}},
		&fleetGroup{policy: "exacthot", key: "one", perSec: 300, unreachable: policy.UnreachableDeny,
			limits: []bucket.Limit{{Count: 200, Per: time.Second, Burst: 400, OwnerLoss: bucket.LossEmpty}}},
	)
}

func (f *fleet) report(what string) {
	over := make(map[string]int64)
	for _, g := range f.groups {
		over[g.policy] = max(over[g.policy], g.over())
	}
	f.t.Logf("%s: %d checks, %d degraded, %d failed; too much at most %v", what, f.checks.Load(), f.degraded.Load(), f.failed.Load(), over)
}
