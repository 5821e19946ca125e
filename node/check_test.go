package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/ring"
	"github.com/drossel-dev/drossel/transport"
	"github.com/drossel-dev/drossel/transport/mem"
)

var ctx = context.Background()

func check(t testing.TB, n *Node, req policy.Request) policy.Decision {
	t.Helper()
	d, err := n.Check(ctx, req)
	if err != nil {
		t.Fatalf("%s: %+v: %v", n.Name(), req, err)
	}
	return d
}

// keyOwnedBy returns a key of policy api that the node owns, not used before with the same salt.
func keyOwnedBy(t testing.TB, n *Node, salt string) string {
	t.Helper()
	return keyOf(t, n, "api", salt)
}

// keyOf returns a key of a policy that the node owns.
func keyOf(t testing.TB, n *Node, policyName, salt string) string {
	t.Helper()
	h := planOf(t, n, policyName)
	for i := range 10_000 {
		key := fmt.Sprint(salt, i)
		var q question
		if err := h.read(&policy.Request{Key: key}, &q); err != nil {
			t.Fatal(err)
		}
		if v := n.view.Load(); v.owner(q.part) == v.self {
			return key
		}
	}
	t.Fatal("the node owns nothing")
	return ""
}

func TestWrongRequests(t *testing.T) {
	n := start(t, Config{Policies: policies(t)})
	for _, c := range []struct {
		name string
		req  policy.Request
		want error
	}{
		{"no policy", policy.Request{Key: "ann"}, policy.ErrInvalid},
		{"unknown policy", policy.Request{Policy: "apu", Key: "ann"}, policy.ErrUnknownPolicy},
		{"no key", policy.Request{Policy: "api"}, policy.ErrInvalid},
		{"key for a policy without", policy.Request{Policy: "all", Key: "ann"}, policy.ErrInvalid},
		{"long key", policy.Request{Policy: "api", Key: string(make([]byte, policy.MaxKeyBytes+1))}, policy.ErrInvalid},
		{"negative cost", policy.Request{Policy: "api", Key: "ann", Cost: -1}, policy.ErrInvalid},
		{"unknown unit", policy.Request{Policy: "api", Key: "ann", Costs: map[string]int64{"tokens": 1}}, policy.ErrInvalid},
		{"impossible limit", policy.Request{Policy: "x", Key: "ann", Limit: &bucket.Limit{Count: 1}}, policy.ErrInvalid},
	} {
		if _, err := n.Check(ctx, c.req); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	if s := n.Stats(); s.Table.Groups != 0 || s.Limits != 3 {
		t.Errorf("wrong requests left %d groups and %d limits, want 0 and 3", s.Table.Groups, s.Limits)
	}
	for _, key := range []string{"\xff\x00", string(make([]byte, policy.MaxKeyBytes)), "john'doe", "ключ-é"} {
		if d := check(t, n, policy.Request{Policy: "api", Key: key}); !d.Allowed || d.Remaining != 9 {
			t.Errorf("key of %d bytes: %+v", len(key), d)
		}
	}
}

func TestDecisionCarriesTheLimitThatSpoke(t *testing.T) {
	n := start(t, Config{Policies: policies(t)})
	req := policy.Request{Policy: "tenant", Parts: []string{"acme", "large"}}
	for i := range 5 {
		if d := check(t, n, req); !d.Allowed || d.LimitName != "burst" || d.Remaining != int64(4-i) {
			t.Fatalf("check %d: %+v", i, d)
		}
	}
	d := check(t, n, req)
	if d.Allowed || d.LimitName != "burst" || d.Limit != 5 || d.Window != time.Second || d.RetryAfter <= 0 {
		t.Fatalf("%+v", d)
	}
	by := map[string]string{"tenant": "acme", "model": "large"}
	req = policy.Request{Policy: "tenant", Attributes: by, CheckOnly: true, Cost: 8}
	if d := check(t, n, req); d.Allowed || !d.Never || d.LimitName != "burst" {
		t.Fatalf("cost above a burst, key by attributes: %+v", d)
	}
}

func TestCheckOnlyTakesNothing(t *testing.T) {
	nodes := cluster(t, new(mem.Network), 3, nil)
	for i, n := range nodes { // at the owner and elsewhere
		req := policy.Request{Policy: "api", Key: "ann", CheckOnly: true, Cost: 10}
		if d := check(t, n, req); !d.Allowed || d.Remaining != 10 {
			t.Errorf("node %d: %+v", i, d)
		}
	}
}

// TestUnreachableOwner cuts the owner off: the check is answered by the failure rule within its deadline.
func TestUnreachableOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := new(mem.Network)
		nodes := cluster(t, network, 3, func(_ int, c *Config) { c.Deadline = 0 })
		key := keyOwnedBy(t, nodes[1], "k")
		if d := check(t, nodes[0], policy.Request{Policy: "api", Key: key}); d.DecidedBy != policy.Owner || d.Node != "n2" {
			t.Fatalf("%+v", d)
		}
		network.Cut("n1", "n2")
		begun := time.Now()
		d := check(t, nodes[0], policy.Request{Policy: "api", Key: key})
		took := time.Since(begun)
		if !d.Degraded || d.DecidedBy != policy.Local || d.Node != "n1" || !d.Allowed {
			t.Errorf("%+v", d)
		}
		if took < defaultDeadline || took > defaultDeadline+2*expiryInterval {
			t.Errorf("answered after %v, want %v", took, defaultDeadline)
		}
		if s := nodes[0].Stats(); s.FaultUnreachable != 1 {
			t.Errorf("%d faults counted, want 1", s.FaultUnreachable)
		}

		// A caller's own deadline comes first, with a margin to answer in.
		early, cancel := context.WithTimeout(ctx, 8*time.Millisecond)
		begun = time.Now()
		if _, err := nodes[0].Check(early, policy.Request{Policy: "api", Key: key}); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took < 5*time.Millisecond || took > 7*time.Millisecond {
			t.Errorf("answered after %v of a caller's 8ms, want 5ms", took)
		}
		cancel()

		// One who hangs up gets an error, and holds nothing up.
		gone, hangUp := context.WithCancel(ctx)
		time.AfterFunc(time.Millisecond, hangUp)
		if _, err := nodes[0].Check(gone, policy.Request{Policy: "api", Key: key}); !errors.Is(err, context.Canceled) {
			t.Errorf("hung up: %v", err)
		}
		if n := nodes[0].waiting.Load(); n != 0 {
			t.Errorf("%d checks still wait", n)
		}

		// Healed, the late answers find nobody, and new checks their owner.
		network.Heal("n1", "n2")
		synctest.Wait()
		if d := check(t, nodes[0], policy.Request{Policy: "api", Key: key}); d.Degraded || d.Node != "n2" {
			t.Errorf("healed: %+v", d)
		}
	})
}

// TestC10 asks with a context that has ended: an error, and no token taken.
func TestC10(t *testing.T) {
	n := start(t, Config{Policies: policies(t)})
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := n.Check(ended, policy.Request{Policy: "all"}); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v, want %v", err, context.Canceled)
	}
	if d := check(t, n, policy.Request{Policy: "all"}); d.Remaining != 2 {
		t.Fatalf("%+v: a token was taken for a caller who had gone", d)
	}
}

// TestSharesSumUpToTheLimit cuts everybody off from everybody: all nodes together admit what one bucket would.
func TestSharesSumUpToTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := new(mem.Network)
		nodes := cluster(t, network, 4, func(_ int, c *Config) { c.Deadline = 0; c.Clock = new(fixedClock) })
		for _, a := range nodes {
			for _, b := range nodes {
				if a != b {
					network.Cut(a.Name(), b.Name())
				}
			}
		}
		for k := range 20 {
			admitted := 0
			var owner *Node
			for _, n := range nodes {
				for range 12 {
					d := check(t, n, policy.Request{Policy: "api", Key: fmt.Sprint(k)})
					if !d.Degraded {
						owner = n // it has its whole bucket: this is what the row of the promise table allows
						break
					}
					if d.Allowed {
						admitted++
					} else if d.Never || d.RetryAfter == 0 {
						t.Fatalf("%+v", d)
					}
				}
			}
			if owner == nil || admitted < 6 || admitted > 8 { // 10 tokens less the owner's share of 2 or 3
				t.Errorf("key %d: three cut-off nodes admitted %d of 10, want 7 or 8", k, admitted)
			}
		}
	})
}

func TestPartSumsUp(t *testing.T) {
	for _, l := range []bucket.Limit{{Count: 10, Per: time.Hour, Burst: 10}, {Count: 1, Per: time.Second}, {Count: 7, Per: 3, Burst: bucket.MaxTokens},
		{Count: 1, Per: 1 << 62, Burst: 3}} {
		for nodes := 1; nodes <= 20; nodes++ {
			var sum int64
			for rank := range nodes {
				p := part(l, nodes, rank)
				if err := p.Validate(); err != nil {
					t.Fatal(err)
				}
				sum += p.Burst
				if p.Count != 0 && (p.Count != l.Count || p.Per != l.Per*time.Duration(nodes)) {
					t.Errorf("%+v by %d: %+v", l, nodes, p)
				}
			}
			if sum != l.Burst {
				t.Errorf("%+v: %d shares sum up to %d", l, nodes, sum)
			}
		}
	}
}

// TestCostAboveTheShare asks a cut-off node for more than its share can ever hold: only the owner can say yes, but it
// is not never.
func TestCostAboveTheShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := new(mem.Network)
		nodes := cluster(t, network, 3, func(_ int, c *Config) { c.Deadline = 0 })
		key := keyOwnedBy(t, nodes[1], "k")
		network.Cut("n1", "n2")
		if d := check(t, nodes[0], policy.Request{Policy: "api", Key: key, Cost: 9}); d.Allowed || d.Never || d.RetryAfter != retryUnreachable {
			t.Errorf("cost 9 of 10: %+v", d)
		}
		if d := check(t, nodes[0], policy.Request{Policy: "api", Key: key, Cost: 11}); d.Allowed || !d.Never || d.RetryAfter != 0 {
			t.Errorf("cost 11 of 10: %+v", d)
		}
	})
}

// TestRingsDiffer has three nodes with different lists of members: a check is passed on once, and no more.
func TestRingsDiffer(t *testing.T) {
	network := new(mem.Network)
	member := func(name string) ring.Member { return ring.Member{ID: name, Boot: 1, Peer: name, State: ring.Active} }
	lists := map[string]Static{
		"n1": {member("n1"), member("n2")},
		"n2": {member("n2"), member("n3")},
		"n3": {member("n3")},
	}
	nodes := map[string]*Node{}
	for _, name := range []string{"n3", "n2", "n1"} {
		nodes[name] = start(t, Config{Name: name, Policies: policies(t), Deadline: time.Minute,
			Connect: func(own transport.Hello, secret []byte) (Network, Membership) {
				return network.Node(name, own, secret), lists[name]
			}})
	}
	passed := 0
	for i := range 200 {
		d := check(t, nodes["n1"], policy.Request{Policy: "api", Key: fmt.Sprint(i)})
		if d.Degraded || !d.Allowed {
			t.Fatalf("key %d: %+v", i, d)
		}
		if d.Node == "n3" {
			passed++
		}
	}
	if got := nodes["n2"].Stats().Passed; passed == 0 || got != uint64(passed) {
		t.Errorf("%d decisions by the node that only n2 knows, %d passed on", passed, got)
	}
	if own := nodes["n3"].Stats().Served; own != uint64(passed) {
		t.Errorf("n3 served %d, want %d", own, passed)
	}

	// From n5 some keys go to n4, from there to n1 and to n2, and n2 takes n3 for the owner: that is one hop too many.
	var other *Node
	for name, list := range map[string]Static{"n4": {member("n1"), member("n4")}, "n5": {member("n4"), member("n5")}} {
		other = start(t, Config{Name: name, Policies: policies(t), Deadline: time.Minute,
			Connect: func(own transport.Hello, secret []byte) (Network, Membership) {
				return network.Node(name, own, secret), list
			}})
		nodes[name] = other
	}
	other = nodes["n5"]
	waitFor(t, "n5 to reach n4", func() bool { return other.Stats().LinksUp == 1 && nodes["n4"].Stats().LinksUp == 1 })
	degraded := 0
	for i := range 2000 {
		if d := check(t, other, policy.Request{Policy: "api", Key: fmt.Sprint("x", i)}); d.Degraded {
			degraded++
		} else if nodes[d.Node] == nil {
			t.Fatalf("%+v", d)
		}
	}
	if faults := other.Stats().FaultNotOwner; degraded == 0 || uint64(degraded) != faults {
		t.Errorf("%d degraded, %d counted as without an owner", degraded, faults)
	}
}

func TestBatch(t *testing.T) {
	nodes := cluster(t, new(mem.Network), 3, nil)
	var reqs []policy.Request
	for i := range 100 {
		reqs = append(reqs, policy.Request{Policy: "api", Key: fmt.Sprint(i % 20), Cost: 3})
	}
	reqs[17] = policy.Request{Policy: "nope", Key: "x"}
	reqs[18] = policy.Request{Policy: "api", Cost: -1, Key: "x"}
	reqs[19] = policy.Request{Policy: "mine", Key: "x", Limit: &bucket.Limit{Burst: 1}}
	results := nodes[0].CheckBatch(ctx, reqs)
	if len(results) != len(reqs) {
		t.Fatalf("%d results for %d requests", len(results), len(reqs))
	}
	allowed := map[string]int{}
	for i, r := range results {
		switch {
		case i == 17 && !errors.Is(r.Err, policy.ErrUnknownPolicy), i == 18 && !errors.Is(r.Err, policy.ErrInvalid),
			i != 17 && i != 18 && r.Err != nil:
			t.Errorf("item %d: %v", i, r.Err)
		case i == 19 && (!r.Decision.Allowed || r.Decision.Policy != "mine"):
			t.Errorf("item %d: %+v", i, r.Decision)
		}
		if r.Decision.Degraded {
			t.Errorf("item %d: %+v", i, r.Decision)
		}
		if r.Decision.Allowed && reqs[i].Policy == "api" {
			allowed[reqs[i].Key]++
		}
	}
	for i := range 17 {
		if n := allowed[fmt.Sprint(i)]; n != 3 { // of 5 requests for 3 tokens each, 10 tokens
			t.Errorf("key %d: %d allowed, want 3", i, n)
		}
	}
}

// TestManyInlineLimits sends more different limits over one link than it names at a time.
func TestManyInlineLimits(t *testing.T) {
	nodes := cluster(t, new(mem.Network), 2, nil)
	var callers sync.WaitGroup
	for c := range 4 {
		callers.Go(func() {
			for i := range 2 * maxRefs {
				burst := int64(i%(maxRefs+500) + 1)
				req := policy.Request{Policy: "mine", Key: fmt.Sprint(c, "/", i), Cost: burst, Limit: &bucket.Limit{Burst: burst}}
				d, err := nodes[0].Check(ctx, req)
				if err != nil || !d.Allowed || d.Limit != burst || d.Remaining != 0 || d.Degraded {
					t.Errorf("limit %d: %+v, %v", burst, d, err)
					return
				}
			}
		})
	}
	callers.Wait()
	for _, n := range nodes {
		if s := n.Stats(); s.Policies[len(s.Policies)-1].Policy != InlineName {
			t.Errorf("%+v", s.Policies)
		}
	}
}

// TestTableFull fills an owner's memory: a new key is decided by the failure rule and counted, an old one as ever.
func TestTableFull(t *testing.T) {
	small := func(_ int, c *Config) { c.TableBytes = 1021 * 8 * 48 * localShare }
	nodes := cluster(t, new(mem.Network), 2, small)
	first := keyOwnedBy(t, nodes[0], "first")
	for range 10 {
		check(t, nodes[0], policy.Request{Policy: "api", Key: first})
	}
	degraded := 0
	for i := range 200_000 {
		d := check(t, nodes[0], policy.Request{Policy: "api", Key: fmt.Sprint(i)})
		if d.Degraded {
			degraded++
			if d.Allowed && d.Limit > 10 {
				t.Fatalf("%+v", d)
			}
		}
	}
	if degraded == 0 {
		t.Fatal("200,000 keys fit a table for some 60,000")
	}
	if s := nodes[0].Stats(); s.FaultFull == 0 || s.Table.Refused == 0 || s.Table.Bytes > 1021*8*48*localShare {
		t.Errorf("%+v", s)
	}
	for _, n := range nodes {
		if d := check(t, n, policy.Request{Policy: "api", Key: first}); d.Allowed || d.Degraded {
			t.Errorf("the exhausted key at %s: %+v", n.Name(), d)
		}
	}
}

func TestHandleDoesNotAllocate(t *testing.T) {
	n := start(t, Config{Policies: policies(t)})
	api, err := n.Handle("api")
	if err != nil {
		t.Fatal(err)
	}
	tenant, err := n.Handle("tenant")
	if err != nil {
		t.Fatal(err)
	}
	parts := []string{"acme", "large"}
	if a := testing.AllocsPerRun(1000, func() {
		if _, err := api.Check(ctx, policy.Request{Key: "ann"}); err != nil {
			t.Error(err)
		}
		if _, err := tenant.Check(ctx, policy.Request{Parts: parts}); err != nil {
			t.Error(err)
		}
	}); a != 0 {
		t.Errorf("%v allocations for two checks of owned keys", a)
	}
}

// TestQueueOfASilentPeer asks for long while answers do not come back: what was given up is not kept.
func TestQueueOfASilentPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := new(mem.Network)
		nodes := cluster(t, network, 2, func(_ int, c *Config) { c.Deadline = 0 })
		key := keyOwnedBy(t, nodes[1], "k")
		network.Cut("n2", "n1")
		var callers sync.WaitGroup
		for range 100 {
			callers.Go(func() {
				for range 50 {
					if d := check(t, nodes[0], policy.Request{Policy: "api", Key: key}); !d.Degraded {
						t.Errorf("%+v", d)
					}
				}
			})
		}
		callers.Wait()
		l := (*nodes[0].open.Load())[0]
		l.mu.Lock()
		if len(l.queue) != 0 || l.queued != 0 || len(l.slots)-len(l.free) != 0 {
			t.Errorf("%d queued (%d counted), %d sent", len(l.queue), l.queued, len(l.slots)-len(l.free))
		}
		l.mu.Unlock()
		network.Heal("n2", "n1")
	})
}
