package node

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/mem"
)

// perHour is a policy of one limit that does not fill up while a test runs.
func perHour(name string, burst int64, key ...string) policy.Policy {
	return policy.Policy{Name: name, Key: key, Limits: []policy.Limit{
		{Limit: bucket.Limit{Count: 1, Per: 1000 * time.Hour, Burst: burst}, OnUnreachable: policy.UnreachableDeny},
	}}
}

// togetherSet has a user, decided with his tenant, which is decided with the whole service.
func togetherSet(t *testing.T, user, tenant, all int64) *policy.Set {
	t.Helper()
	u, te := perHour("user", user, "user"), perHour("tenant", tenant, "tenant")
	u.With, te.With = []string{"tenant"}, []string{"all"}
	set, err := policy.NewSet(u, te, perHour("all", all))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// togetherCluster starts nodes that know the policies, connected in memory, with that much time on each way.
func togetherCluster(t *testing.T, n int, set *policy.Set, way time.Duration) []*Node {
	t.Helper()
	network := &mem.Network{
		Delay: func(_, _ string) time.Duration { return way },
		After: func(d time.Duration, f func()) { time.AfterFunc(d, f) },
	}
	return cluster(t, network, n, func(_ int, c *Config) { c.Policies, c.Deadline = set, time.Second })
}

func rest(t *testing.T, n *Node, name, key string) int64 {
	t.Helper()
	req := policy.Request{Policy: name, CheckOnly: true}
	if key != "" {
		req.Parts = []string{key}
	}
	h := planOf(t, n, name)
	var q question
	if err := h.read(&req, &q); err != nil {
		t.Fatal(err)
	}
	var d policy.Decision
	if err := h.elsewhere(t.Context(), &q, &req, &d); err != nil {
		t.Fatal(err)
	}
	return d.Remaining
}

// TestTogether: all keys of a check admit, or none is charged (C131). The answer is that of the key which denied, or is nearest to
// it.
func TestTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := togetherCluster(t, 3, togetherSet(t, 1, 4, 10), time.Millisecond)
		ask := func(n int, user, tenant string) policy.Decision {
			t.Helper()
			return check(t, nodes[n%3], policy.Request{Policy: "user", Key: user, Attributes: map[string]string{"tenant": tenant}})
		}
		for i := range 20 { // of one user, who has one
			d := ask(i, "ann", "acme")
			if d.Allowed != (i == 0) || d.Policy != "user" || d.Degraded || d.DecidedBy != policy.Owner {
				t.Fatalf("check %d: %+v", i, d)
			}
		}
		synctest.Wait()
		time.Sleep(time.Second)
		if u, te, all := rest(t, nodes[0], "user", "ann"), rest(t, nodes[1], "tenant", "acme"), rest(t, nodes[2], "all", ""); u != 0 || te != 3 || all != 9 {
			t.Errorf("%d, %d and %d are left, want 0, 3 and 9", u, te, all)
		}
		for i := range 6 {
			// Each is somebody else, who has one. The user has none left after it and comes first; the tenant has three.
			want := "user"
			if i >= 3 {
				want = "tenant"
			}
			if d := ask(i, fmt.Sprint("bob", i), "acme"); d.Allowed != (i < 3) || d.Policy != want {
				t.Errorf("check %d: %+v", i, d)
			}
		}
		time.Sleep(time.Second)
		if te, all := rest(t, nodes[1], "tenant", "acme"), rest(t, nodes[2], "all", ""); te != 0 || all != 6 {
			t.Errorf("%d and %d are left, want 0 and 6", te, all)
		}
		if bob := rest(t, nodes[0], "user", "bob5"); bob != 1 {
			t.Errorf("who was denied for his tenant has %d left, want 1", bob)
		}
		_, err := nodes[0].Check(t.Context(), policy.Request{Policy: "user", Key: "ann"})
		if err == nil {
			t.Error("a check without the tenant's key is decided")
		}
		d := check(t, nodes[0], policy.Request{Policy: "user", Key: "carl", Attributes: map[string]string{"tenant": "new"}, CheckOnly: true})
		if !d.Allowed || d.Remaining != 1 {
			t.Errorf("a look: %+v", d)
		}
		time.Sleep(time.Second)
		if carl := rest(t, nodes[0], "user", "carl"); carl != 1 {
			t.Errorf("a look took something: %d left", carl)
		}
	})
}

// TestTogetherAtOnce: many at a time at all nodes never admit more than any of the keys has, and leave nothing held.
func TestTogetherAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := togetherCluster(t, 3, togetherSet(t, 30, 100, 170), 3*time.Millisecond)
		var mu sync.Mutex
		admitted, byUser, byTenant := 0, map[string]int{}, map[string]int{}
		var asking sync.WaitGroup
		for i := range 600 {
			asking.Go(func() {
				user, tenant := fmt.Sprint("u", i%10), fmt.Sprint("t", i%2)
				time.Sleep(time.Duration(i%50) * time.Millisecond)
				d, err := nodes[i%3].Check(t.Context(), policy.Request{Policy: "user", Key: user, Attributes: map[string]string{"tenant": tenant}})
				if err != nil || d.Degraded {
					t.Error(d, err)
				}
				if d.Allowed {
					mu.Lock()
					defer mu.Unlock()
					admitted++
					byUser[user]++
					byTenant[tenant]++
				}
			})
		}
		asking.Wait()
		time.Sleep(5 * time.Second)
		if all := rest(t, nodes[0], "all", ""); all != int64(170-admitted) || admitted > 170 || admitted < 160 {
			t.Errorf("%d admitted of 170, and %d left", admitted, all)
		}
		for user, n := range byUser {
			if have := rest(t, nodes[0], "user", user); have != int64(30-n) || have < 0 {
				t.Errorf("%s: %d admitted of 30, and %d left", user, n, have)
			}
		}
		for tenant, n := range byTenant {
			if have := rest(t, nodes[1], "tenant", tenant); have != int64(100-n) || have < 0 {
				t.Errorf("%s: %d admitted of 100, and %d left", tenant, n, have)
			}
		}
	})
}

// TestTogetherGivenUp: a caller who gives up is charged nothing, at no key.
func TestTogetherGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := togetherCluster(t, 3, togetherSet(t, 5, 5, 5), 50*time.Millisecond)
		for i := range 9 {
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Millisecond)
			// Who owns all that it needs has an answer in time, others give up.
			_, _ = nodes[i%3].Check(ctx, policy.Request{Policy: "user", Key: fmt.Sprint("u", i), Attributes: map[string]string{"tenant": "x"}})
			cancel()
		}
		time.Sleep(5 * time.Second)
		total := int64(0)
		for i := range 9 {
			total += 5 - rest(t, nodes[0], "user", fmt.Sprint("u", i))
		}
		if all := rest(t, nodes[0], "all", ""); 5-all != total {
			t.Errorf("%d of the users' are gone, and %d of all", total, 5-all)
		}
	})
}

// TestTogetherInBatches: items of a batch that need several keys are decided like others.
func TestTogetherInBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := togetherCluster(t, 3, togetherSet(t, 2, 100, 7), time.Millisecond)
		var reqs []policy.Request
		for i := range 10 {
			reqs = append(reqs, policy.Request{Policy: "user", Key: fmt.Sprint("u", i), Attributes: map[string]string{"tenant": "x"}})
		}
		reqs = append(reqs, policy.Request{Policy: "user", Key: "nobody"}, policy.Request{Policy: "all", CheckOnly: true})
		admitted := 0
		results := nodes[0].CheckBatch(t.Context(), reqs)
		for i, r := range results {
			if (r.Err != nil) != (i == 10) {
				t.Errorf("item %d: %v", i, r.Err)
			}
			if i < 10 && r.Decision.Allowed {
				admitted++
			}
		}
		if admitted < 5 || admitted > 7 {
			t.Errorf("%d admitted, want about 7 and no more", admitted)
		}
	})
}

// TestLegsHaveTheirOwnKeys: what a purse says of a key is that of its policy, not of the one that the request named.
func TestLegsHaveTheirOwnKeys(t *testing.T) {
	n := start(t, Config{Policies: togetherSet(t, 1, 1, 1)})
	b := n.book.Load()
	for _, req := range []policy.Request{{Key: "ann"}, {Parts: []string{"ann"}}, {Attributes: map[string]string{"user": "ann"}}} {
		if req.Attributes == nil {
			req.Attributes = map[string]string{}
		}
		req.Attributes["tenant"] = "acme"
		legs, err := n.legsOf(b, b.rules["user"], nil, &req, new(policy.Decision))
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{"ann", "acme", ""} {
			if got := legs[i].plan.policy.KeyText(&legs[i].req); got != want {
				t.Errorf("%+v: leg %d is of %q, want %q", req, i, got, want)
			}
		}
	}
}

// TestPursesComeFirst: a lease may have ended under what was taken aside of it. Then nothing of the check is spent, at any key,
// wherever it stands among them.
func TestPursesComeFirst(t *testing.T) {
	for dead := range 3 {
		n := start(t, Config{Policies: togetherSet(t, 5, 5, 5)})
		b := n.book.Load()
		req := policy.Request{Key: "ann", Attributes: map[string]string{"tenant": "acme"}}
		legs, err := n.legsOf(b, b.rules["user"], nil, &req, new(policy.Decision))
		if err != nil {
			t.Fatal(err)
		}
		n.ask(t.Context(), legs, n.elapsed()+time.Second, true)
		now := n.clock.Now()
		of := &legs[dead]
		n.end(of.plan, &of.q, now, false)
		of.q.hold.at, of.q.hold.purse = heldInPurse, new(purse) // of which nothing was taken aside
		if legs.end(n, now, true) {
			t.Errorf("the check is admitted though the lease of key %d has ended", dead)
		}
		for name, key := range map[string]string{"user": "ann", "tenant": "acme", "all": ""} {
			if got := rest(t, n, name, key); got != 5 {
				t.Errorf("%d of 5 are left for %s", got, name)
			}
		}
	}
}

// TestRecallBesideAHold: what an owner wants back while something of it is taken aside is given back as soon as that has ended.
func TestRecallBesideAHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := lendingCluster(t, 2, nil)
		n := nodes[1]
		req := policy.Request{Policy: "api", Key: keyOwnedBy(t, nodes[0], "hot")}
		hammer(t, nodes[1:], req, 5*time.Millisecond, time.Second)
		h := planOf(t, n, "api")
		q := question{hold: &pledge{life: 100 * time.Millisecond, costs: []int64{1}}}
		if err := h.read(&req, &q); err != nil {
			t.Fatal(err)
		}
		var d policy.Decision
		if v := n.view.Load(); !h.borrowed(v.link(v.owner(q.part)), &q, n.clock.Now(), &d) || q.hold.at != heldInPurse {
			t.Fatalf("%+v: nothing is taken aside of what is lent", d)
		}
		s := n.purses.shard(q.part)
		s.mu.Lock()
		q.hold.purse.giveBack()
		s.mu.Unlock()
		time.Sleep(20 * time.Millisecond)
		if left(n) == 0 || out(nodes) == 0 {
			t.Error("what was lent went back under what is taken aside")
		}
		n.end(h, &q, n.clock.Now(), false)
		for end := time.Now().Add(20 * time.Millisecond); out(nodes) > 0; time.Sleep(time.Millisecond / 4) { // then more is lent
			if time.Now().After(end) {
				t.Fatalf("%d tokens are still out", out(nodes))
			}
		}
	})
}
