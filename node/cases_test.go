package node

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/mem"
)

// Faults that users of other limiters have reported, as cases.

// caseCluster starts nodes with one policy, "case", of one limit.
func caseCluster(t *testing.T, size int, l policy.Limit) []*Node {
	t.Helper()
	l.Name = "case"
	set, err := policy.NewSet(policy.Policy{Name: "case", Key: []string{"user"}, Limits: []policy.Limit{l}},
		policy.Policy{Name: "api", Key: []string{"user"}, Limits: []policy.Limit{l}})
	if err != nil {
		t.Fatal(err)
	}
	return cluster(t, new(mem.Network), size, func(_ int, c *Config) { c.Policies = set })
}

func every(per time.Duration, count, burst int64) bucket.Limit {
	return bucket.Limit{Count: count, Per: per, Burst: burst}
}

// C145: two nodes, one request in 30 s, asked for by turns. A node that is not the owner must not say yes by itself.
func TestC145OneOfTwoNodes(t *testing.T) {
	for _, consistency := range []policy.Consistency{policy.Leased, policy.Direct} {
		t.Run(consistency.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				nodes := caseCluster(t, 2, policy.Limit{Limit: every(30*time.Second, 1, 1), Consistency: consistency})
				allowed := 0
				for i := range 30 {
					if check(t, nodes[i%2], policy.Request{Policy: "case", Key: "ann"}).Allowed {
						allowed++
					}
					time.Sleep(900 * time.Millisecond)
				}
				if allowed != 1 {
					t.Errorf("%d allowed, want 1", allowed)
				}
				time.Sleep(3 * time.Second)
				if d := check(t, nodes[1], policy.Request{Policy: "case", Key: "ann"}); !d.Allowed {
					t.Errorf("after 30 s: %+v", d)
				}
			})
		})
	}
}

// C148: three nodes and one check at the owner, which must not come back to it as news: one is used, whoever is asked.
func TestC148NothingIsCountedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := caseCluster(t, 3, policy.Limit{Limit: every(time.Hour, 10, 10)})
		key := keyOwnedBy(t, nodes[0], "k")
		check(t, nodes[0], policy.Request{Policy: "api", Key: key})
		time.Sleep(5 * time.Second)
		for _, n := range nodes {
			if d := check(t, n, policy.Request{Policy: "api", Key: key, CheckOnly: true}); d.Remaining != 9 {
				t.Errorf("%s: %+v, want 9 left", n.Name(), d)
			}
		}
	})
}

// C149: 60 a minute, and all three nodes are asked for all of it at once: 60 in all, and never 60 at each.
func TestC149AllAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := caseCluster(t, 3, policy.Limit{Limit: every(time.Minute, 60, 60)})
		c := new(tally)
		var all sync.WaitGroup
		for range 100 {
			for _, n := range nodes {
				all.Go(func() { c.add(check(t, n, policy.Request{Policy: "case", Key: "ann"})) })
			}
		}
		all.Wait()
		if c.admitted != 60 {
			t.Errorf("%d admitted at once, want 60", c.admitted)
		}
		later := hammer(t, nodes, policy.Request{Policy: "case", Key: "ann"}, 50*time.Millisecond, time.Minute)
		if later.admitted > 60 || later.admitted < 58 {
			t.Errorf("%d admitted in the minute after it, want 60, or a little less", later.admitted)
		}
	})
}

// TestC11: to look first and take later takes as much as there is, and no more, wherever that is decided.
func TestC11(t *testing.T) {
	all := set(t, `policies:
  owned: {key: [user], limits: [{rate: 1/h, algorithm: fixed_window}]}
  shared: {key: [user], consistency: strict, limits: [{rate: 1/h, algorithm: fixed_window}]}
`)
	n := start(t, Config{Policies: all, Strict: NewMemoryStore(nil)})
	for _, name := range []string{"owned", "shared"} {
		look := policy.Request{Policy: name, Key: "ann", CheckOnly: true}
		take := policy.Request{Policy: name, Key: "ann"}
		if d := check(t, n, look); !d.Allowed || d.Remaining != 1 {
			t.Errorf("%s: a look: %+v", name, d)
		}
		if d := check(t, n, take); !d.Allowed || d.Remaining != 0 {
			t.Errorf("%s: the take: %+v", name, d)
		}
		if d := check(t, n, look); d.Allowed || d.Remaining != 0 {
			t.Errorf("%s: a look after it: %+v", name, d)
		}
		if d := check(t, n, take); d.Allowed {
			t.Errorf("%s: the second: %+v", name, d)
		}
	}
}
