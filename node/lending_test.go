package node

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/ring"
	"github.com/drossel-dev/drossel/transport"
	"github.com/drossel-dev/drossel/transport/mem"
)

// lendingPolicies: "hot" is lent, "direct" and "sampled" as they say, and "api" is what keyOwnedBy looks in.
func lendingPolicies(t testing.TB) *policy.Set {
	t.Helper()
	set, err := policy.Parse("test.yaml", []byte(`
version: 1
policies:
  api: {key: [user], limits: [{rate: 1000/s}]}
  direct: {key: [user], consistency: direct, limits: [{rate: 1000/s}]}
  slow: {key: [user], limits: [{rate: 1/s, burst: 2}]}
  ample: {key: [user], limits: [{rate: 1_000_000k/s, burst: 1_000_000M}]}
  sampled: {key: [user], sample: 10%, limits: [{rate: 1/m, burst: 100}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// lendingCluster starts nodes with those policies whose messages take a millisecond each way.
func lendingCluster(t testing.TB, size int, change func(i int, c *Config)) []*Node {
	t.Helper()
	network := &mem.Network{
		Delay: func(_, _ string) time.Duration { return time.Millisecond },
		After: func(d time.Duration, f func()) { time.AfterFunc(d, f) },
	}
	set := lendingPolicies(t)
	return cluster(t, network, size, func(i int, c *Config) {
		c.Policies = set
		if change != nil {
			change(i, c)
		}
	})
}

// keyElsewhere returns a key of a policy that another node than the handle's owns.
func keyElsewhere(t testing.TB, h *plan) string {
	t.Helper()
	for i := range 10_000 {
		var q question
		req := policy.Request{Key: fmt.Sprint("k", i)}
		if err := h.read(&req, &q); err != nil {
			t.Fatal(err)
		}
		if v := h.node.view.Load(); v.owner(q.part) != v.self {
			return req.Key
		}
	}
	t.Fatal("no such key")
	return ""
}

// tally counts decisions.
type tally struct {
	mu       sync.Mutex
	admitted int
	by       map[policy.DecidedBy]int
}

func (c *tally) add(d policy.Decision) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = make(map[policy.DecidedBy]int)
	}
	c.by[d.DecidedBy]++
	if d.Allowed {
		c.admitted++
	}
}

// hammer has every node asked for a key once in so often, for some time, and counts what came of it.
func hammer(t testing.TB, nodes []*Node, req policy.Request, every, lasts time.Duration) *tally {
	t.Helper()
	c := new(tally)
	var all sync.WaitGroup
	for _, n := range nodes {
		all.Go(func() {
			ticks := time.NewTicker(every)
			defer ticks.Stop()
			for end := time.Now().Add(lasts); time.Now().Before(end); <-ticks.C {
				d, err := n.Check(ctx, req)
				if err != nil || d.Degraded {
					t.Errorf("%+v, %v", d, err)
					return
				}
				c.add(d)
			}
		})
	}
	all.Wait()
	return c
}

// out is what a cluster has out on lease.
func out(nodes []*Node) (tokens int64) {
	for _, n := range nodes {
		tokens += n.Stats().Table.Leases.Out
	}
	return tokens
}

// TestHotKeyIsLent: a key that all ask for is decided where it is asked for, no more is admitted than one bucket would,
// and nothing stays lent when nobody asks any more.
func TestHotKeyIsLent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := lendingCluster(t, 3, nil)
		key := keyOwnedBy(t, nodes[0], "hot")
		req := policy.Request{Policy: "api", Key: key}
		const lasts = 5 * time.Second
		c := hammer(t, nodes, req, time.Millisecond, lasts)
		if most := 1000 + 1000*int(lasts/time.Second); c.admitted > most || c.admitted < most*97/100 {
			t.Errorf("%d admitted, want %d at the most, and nearly as many", c.admitted, most)
		}
		if away := c.by[policy.Owner] - 5000; c.by[policy.Lease] < 3000 || c.by[policy.DenyLease] == 0 || away > 500 {
			t.Errorf("decided by %v: want most by lease or deny lease, but for what the owner was asked itself", c.by)
		}
		if out(nodes) == 0 {
			t.Error("nothing is out while it is hammered")
		}
		time.Sleep(3 * time.Second)
		for _, n := range nodes {
			if s := n.Stats(); s.Table.Leases.Out != 0 || s.Purses != 0 || s.Table.Leases.Burned != 0 {
				t.Errorf("%s at rest: %+v, %d purses: want nothing out, and nothing burned", n.Name(), s.Table.Leases, s.Purses)
			}
		}
		if d := check(t, nodes[1], policy.Request{Policy: "api", Key: key, Cost: 1000}); !d.Allowed {
			t.Errorf("after a rest the whole burst is there again: %+v", d)
		}
	})
}

func TestDirectIsNotLent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := lendingCluster(t, 3, nil)
		c := hammer(t, nodes, policy.Request{Policy: "direct", Key: "ann"}, time.Millisecond, 2*time.Second)
		if len(c.by) != 1 || c.by[policy.Owner] < 3000 || c.admitted < 2990 || c.admitted > 3000 {
			t.Errorf("decided by %v, %d admitted: want all by the owner, and all that comes in 2 s", c.by, c.admitted)
		}
		for _, n := range nodes {
			if s := n.Stats(); s.Table.Leases.Hot != 0 || s.Purses != 0 || s.LeaseRequestsSent != 0 {
				t.Errorf("%s: %+v, %d purses, %d renewals", n.Name(), s.Table.Leases, s.Purses, s.LeaseRequestsSent)
			}
		}
	})
}

// TestOlderPeer: nodes of the last two frame versions lend to each other, and ask each other for different costs.
func TestOlderPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set, err := policy.NewSet(policy.Policy{Name: "api", Key: []string{"user"}, Limits: []policy.Limit{
			{Limit: bucket.Limit{Count: 1000, Per: time.Second, Burst: 1000}},
		}}, policy.Policy{Name: "llm", Key: []string{"user"}, Limits: []policy.Limit{
			{Name: "in", Unit: "input", Limit: bucket.Limit{Count: 1, Per: time.Hour, Burst: 1000}},
			{Name: "out", Unit: "output", Limit: bucket.Limit{Count: 1, Per: time.Hour, Burst: 100}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		network := new(mem.Network)
		var members Static
		for _, name := range []string{"n1", "n2", "n3"} {
			members = append(members, ring.Member{ID: name, Boot: 1, Peer: name, State: ring.Active})
		}
		nodes := lendingCluster(t, 3, func(i int, c *Config) {
			c.Policies = set
			c.Connect = func(own transport.Hello, secret []byte) (Network, Membership) {
				if i == 0 {
					own.MaxVersion = transport.EntriesVersion - 1
				}
				return network.Node(own.ID, own, secret), members
			}
		})
		for owner, n := range nodes {
			for asker := range nodes {
				if asker == owner {
					continue
				}
				req := policy.Request{Policy: "api", Key: keyOwnedBy(t, n, fmt.Sprint("asked by ", asker))}
				if c := hammer(t, nodes[asker:asker+1], req, time.Millisecond, time.Second); c.by[policy.Lease] == 0 {
					t.Errorf("a key of n%d is decided by %v at n%d, want some by lease", owner+1, c.by, asker+1)
				}
				synctest.Wait()
				req.Policy, req.Key = "llm", keyOf(t, n, "llm", fmt.Sprint("costs of ", asker))
				req.Costs = map[string]int64{"input": 500, "output": 20}
				if d := check(t, nodes[asker], req); d.Degraded || d.LimitName != "in" || d.Remaining != 500 {
					t.Errorf("n%d asks n%d: %+v", asker+1, owner+1, d)
				}
			}
		}
	})
}

// TestDenyLease: who asks a bucket that is empty again and again is answered here, with the instant at which it fits.
func TestDenyLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := lendingCluster(t, 2, nil)
		h := planOf(t, nodes[0], "slow")
		key := keyElsewhere(t, h)
		req := policy.Request{Policy: "slow", Key: key}
		for range 2 {
			if d := check(t, nodes[0], req); !d.Allowed {
				t.Fatalf("%+v", d)
			}
		}
		first := check(t, nodes[0], req)
		if first.Allowed || first.DecidedBy != policy.Owner {
			t.Fatalf("the third check: %+v, want a denial of the owner", first)
		}
		time.Sleep(100 * time.Millisecond)
		for range 1000 {
			d := check(t, nodes[0], req)
			if d.Allowed || d.DecidedBy != policy.DenyLease || d.RetryAfter != first.RetryAfter-100*time.Millisecond || d.Remaining != 0 {
				t.Fatalf("%+v, want a denial here that tells the same instant as %+v", d, first)
			}
		}
		if d := check(t, nodes[0], policy.Request{Policy: "slow", Key: key, Cost: 3}); d.Allowed || !d.Never {
			t.Fatalf("a cost above the burst: %+v, want never", d)
		}
		time.Sleep(first.RetryAfter - 100*time.Millisecond)
		if d := check(t, nodes[0], req); !d.Allowed {
			t.Fatalf("after the time that was told: %+v", d)
		}
		if s := nodes[1].Stats(); s.Served > 6 {
			t.Errorf("the owner was asked %d times", s.Served)
		}
		time.Sleep(3 * time.Second)
		if s := nodes[0].Stats(); s.Purses != 0 {
			t.Errorf("%d deny leases are remembered after all is over", s.Purses)
		}
	})
}

// TestLeaverGivesBack: what a node holds when it leaves comes back, and does not burn.
func TestLeaverGivesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := lendingCluster(t, 2, nil)
		req := policy.Request{Policy: "api", Key: keyOwnedBy(t, nodes[0], "hot")}
		hammer(t, nodes[1:], req, 5*time.Millisecond, time.Second)
		if out(nodes) == 0 {
			t.Fatal("nothing was lent")
		}
		if err := nodes[1].Leave(ctx); err != nil {
			t.Fatal(err)
		}
		if l := nodes[0].Stats().Table.Leases; l.Out != 0 || l.Burned != 0 {
			t.Errorf("%+v: want nothing out, and nothing burned", l)
		}
	})
}

// TestCrashOfAHolderBurns: what a node held when it was lost is gone, and only after its life does the bucket fill
// again.
func TestCrashOfAHolderBurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := lendingCluster(t, 2, nil)
		key := keyOwnedBy(t, nodes[0], "hot")
		hammer(t, nodes[1:], policy.Request{Policy: "api", Key: key}, 5*time.Millisecond, time.Second)
		lent := out(nodes)
		if lent == 0 {
			t.Fatal("nothing was lent")
		}
		if err := nodes[1].Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if d := check(t, nodes[0], policy.Request{Policy: "api", Key: key, Cost: 1000}); d.Allowed {
			t.Errorf("the whole burst is admitted while %d are out: %+v", lent, d)
		}
		time.Sleep(2 * time.Second)
		if d := check(t, nodes[0], policy.Request{Policy: "api", Key: key, Cost: 1000}); !d.Allowed {
			t.Errorf("after their life: %+v", d)
		}
		if l := nodes[0].Stats().Table.Leases; l.Out != 0 || l.Burned != lent {
			t.Errorf("%+v: want %d burned", l, lent)
		}
	})
}

// TestBatchSpendsLeases: the checks of a batch are decided like others.
func TestBatchSpendsLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := lendingCluster(t, 2, nil)
		req := policy.Request{Policy: "api", Key: keyOwnedBy(t, nodes[0], "hot")}
		hammer(t, nodes[1:], req, 2*time.Millisecond, time.Second)
		by := make(map[policy.DecidedBy]int)
		for _, r := range nodes[1].CheckBatch(ctx, []policy.Request{req, req, {Policy: "nope"}, req}) {
			if r.Err == nil && r.Decision.Allowed {
				by[r.Decision.DecidedBy]++
			}
		}
		if by[policy.Lease] != 3 {
			t.Errorf("decided by %v, want 3 by lease", by)
		}
	})
}

// leapClock is virtual time, and what was added to it.
type leapClock struct {
	base  time.Time
	added atomic.Int64
}

func (c *leapClock) Now() bucket.Instant {
	return bucket.Instant(int64(time.Since(c.base)) + c.added.Load())
}

// TestLeaseDiesInSleep: a node that has slept for longer than a lease lives spends nothing of it.
func TestLeaseDiesInSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &leapClock{base: time.Now()}
		nodes := lendingCluster(t, 2, func(i int, c *Config) {
			if i == 1 {
				c.Clock = clock
			}
		})
		req := policy.Request{Policy: "api", Key: keyOwnedBy(t, nodes[0], "hot")}
		hammer(t, nodes[1:], req, 5*time.Millisecond, time.Second)
		if d := check(t, nodes[1], req); d.DecidedBy != policy.Lease {
			t.Fatalf("%+v: nothing was lent", d)
		}
		clock.added.Add(int64(3 * time.Second))
		if d := check(t, nodes[1], req); d.DecidedBy != policy.Owner {
			t.Errorf("after a sleep: %+v, want the owner asked", d)
		}
	})
}

// TestPurseFollowsItsGroup: when another node owns a group, what the old owner has lent is spent, and what is left goes
// back to the new one, who has the ledger.
func TestPurseFollowsItsGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := lendingCluster(t, 3, nil)
		n := nodes[1]
		req := policy.Request{Policy: "api", Key: keyOwnedBy(t, nodes[0], "hot")}
		hammer(t, nodes[1:2], req, 5*time.Millisecond, time.Second)
		if n.Stats().Purses != 1 {
			t.Fatalf("%d purses", n.Stats().Purses)
		}
		was := n.view.Load()
		changed := *was
		changed.links = slices.Clone(was.links)
		first, third := slices.Index(was.names, "n1"), slices.Index(was.names, "n3")
		changed.links[first] = was.links[third]
		n.view.Store(&changed)
		if d := check(t, n, req); d.DecidedBy != policy.Lease {
			t.Errorf("%+v: what was lent is not spent", d)
		}
		asked := nodes[2].Stats().LeaseRequestsReceived
		time.Sleep(2 * time.Second)
		if nodes[2].Stats().LeaseRequestsReceived == asked {
			t.Error("nothing was told to the new owner")
		}
		n.view.Store(was)
	})
}

// left is what a node has in all its purses.
func left(n *Node) (tokens int64) {
	for i := range n.purses.shards {
		s := &n.purses.shards[i]
		s.mu.Lock()
		for _, p := range s.byID {
			tokens += p.Left(n.clock.Now())
		}
		s.mu.Unlock()
	}
	return tokens
}

// TestLeasedCheckDoesNotAllocate: what is decided from a purse costs no memory.
func TestLeasedCheckDoesNotAllocate(t *testing.T) {
	nodes := cluster(t, new(mem.Network), 2, func(_ int, c *Config) { c.Policies = lendingPolicies(t) })
	req := policy.Request{Key: keyElsewhere(t, planOf(t, nodes[1], "ample"))}
	leasedKey, err := nodes[1].Handle("ample")
	if err != nil {
		t.Fatal(err)
	}
	leased := 0
	spend := func() {
		d, err := leasedKey.Check(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		if d.DecidedBy == policy.Lease {
			leased++
		}
	}
	const runs = 2000
	waitFor(t, "a large lease", func() bool {
		for range 5000 {
			spend()
		}
		return left(nodes[1]) > 2*runs // and the test's own warm-up
	})
	leased = 0
	// Renewals and the other goroutines allocate a little now and then; a check must not.
	if a := testing.AllocsPerRun(runs, spend); a > 0.5 {
		t.Errorf("%v allocations a check, want none", a)
	}
	if leased < runs*9/10 {
		t.Errorf("%d of %d checks were decided from a lease", leased, runs)
	}
}
