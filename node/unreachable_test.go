package node

import (
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/ring"
	"github.com/drossel-dev/drossel/transport/mem"
)

// rulePolicies have each failure rule alone, and mixed with others.
func rulePolicies(t testing.TB) *policy.Set {
	t.Helper()
	set, err := policy.Parse("test.yaml", []byte(`
version: 1
policies:
  local: {key: [user], limits: [{name: a, rate: 10/h}, {name: b, rate: 8/h}]}
  deny: {key: [user], on_unreachable: deny, limits: [{name: a, rate: 10/h}, {name: b, rate: 8/h}]}
  allow: {key: [user], on_unreachable: allow, limits: [{name: a, rate: 10/h}, {name: b, rate: 8/h}]}
  one-denies:
    key: [user]
    on_unreachable: deny
    limits:
      - {name: a, rate: 8/h, on_unreachable: local}
      - {name: b, rate: 20/h, on_unreachable: allow}
      - {name: c, rate: 10/h}
  one-allows:
    key: [user]
    limits: [{name: a, rate: 9/h, on_unreachable: allow}, {name: b, rate: 12/h}, {name: c, rate: 10/h}]
  blocked: {key: [user], on_unreachable: allow, limits: [{name: a, rate: 10/h}, {name: b, rate: 10/h, burst: 0}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestFailureRules asks one of two nodes, which can't reach the other, for keys of that. Its shares are one half.
func TestFailureRules(t *testing.T) {
	type want struct {
		cost    int64
		look    bool
		allowed bool
		by      policy.DecidedBy
		limit   string // that speaks
		burst   int64
		left    int64
		retry   time.Duration
		never   bool
	}
	const local, timeout = policy.Local, policy.Timeout
	const token = 12 * time.Minute // 10 an hour, divided by two
	for _, c := range []struct {
		policy string
		wants  []want
		counts [3]uint64 // local, deny, allow
	}{
		{"local", []want{
			{cost: 4, look: true, allowed: true, by: local, limit: "b", burst: 8, left: 4},
			{cost: 3, allowed: true, by: local, limit: "b", burst: 8, left: 1},
			{cost: 2, look: true, by: local, limit: "b", burst: 8, left: 1, retry: 15 * time.Minute},
			{cost: 2, by: local, limit: "b", burst: 8, left: 1, retry: 15 * time.Minute},
			{cost: 1, allowed: true, by: local, limit: "b", burst: 8, left: 0},
			{cost: 8, by: local, limit: "a", burst: 10, left: 1, retry: retryUnreachable}, // above both shares
			{cost: 9, by: local, limit: "b", burst: 8, never: true},
		}, [3]uint64{7, 0, 0}},
		{"deny", []want{
			{cost: 1, by: timeout, limit: "a", burst: 10, retry: retryUnreachable},
			{cost: 1, look: true, by: timeout, limit: "a", burst: 10, retry: retryUnreachable},
			{cost: 9, by: local, limit: "b", burst: 8, never: true},
		}, [3]uint64{0, 3, 0}},
		{"allow", []want{
			{cost: 8, allowed: true, by: timeout, limit: "b", burst: 8, left: 8},
			{cost: 8, allowed: true, by: timeout, limit: "b", burst: 8, left: 8},
			{cost: 8, look: true, allowed: true, by: timeout, limit: "b", burst: 8, left: 8},
			{cost: 9, by: local, limit: "b", burst: 8, never: true},
		}, [3]uint64{0, 0, 4}},
		{"one-denies", []want{
			{cost: 1, by: timeout, limit: "c", burst: 10, retry: retryUnreachable},
			{cost: 1, look: true, by: timeout, limit: "c", burst: 10, retry: retryUnreachable},
			{cost: 9, by: local, limit: "a", burst: 8, never: true},
		}, [3]uint64{1, 2, 0}},
		{"one-allows", []want{
			{cost: 3, allowed: true, by: local, limit: "c", burst: 10, left: 2},
			{cost: 3, by: local, limit: "c", burst: 10, left: 2, retry: token},
			{cost: 3, look: true, by: local, limit: "c", burst: 10, left: 2, retry: token},
			{cost: 2, allowed: true, by: local, limit: "c", burst: 10, left: 0}, // so the denial has taken nothing of b
			{cost: 9, by: local, limit: "b", burst: 12, left: 1, retry: retryUnreachable},
			{cost: 10, by: local, limit: "a", burst: 9, never: true},
		}, [3]uint64{5, 0, 1}},
		{"blocked", []want{{cost: 1, by: local, limit: "b", burst: 0, never: true}}, [3]uint64{0, 0, 1}},
	} {
		t.Run(c.policy, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := new(mem.Network)
				nodes := cluster(t, network, 2, func(_ int, cfg *Config) {
					cfg.Deadline, cfg.Clock, cfg.Policies = 0, new(fixedClock), rulePolicies(t)
				})
				n := nodes[0]
				h := planOf(t, n, c.policy)
				key := keyElsewhere(t, h)
				network.Cut("n1", "n2")
				for i, w := range c.wants {
					d := check(t, n, policy.Request{Policy: c.policy, Key: key, Cost: w.cost, CheckOnly: w.look})
					if !d.Degraded || d.Node != "n1" || d.Policy != c.policy {
						t.Errorf("check %d: %+v, want it degraded, by n1", i+1, d)
					}
					got := want{w.cost, w.look, d.Allowed, d.DecidedBy, d.LimitName, d.Limit, d.Remaining, d.RetryAfter, d.Never}
					if diff := cmp.Diff(w, got, cmp.AllowUnexported(want{})); diff != "" {
						t.Errorf("check %d:\n%s", i+1, diff)
					}
				}
				for rule, want := range c.counts {
					if got := n.byRule[rule].Load(); got != want {
						t.Errorf("%d checks counted by the rule %v, want %d", got, policy.Unreachable(rule), want)
					}
				}
				if s := nodes[1].Stats(); s.Served != 0 || s.Table.Groups != 0 {
					t.Errorf("the owner served %d checks and holds %d buckets", s.Served, s.Table.Groups)
				}
			})
		})
	}
}

// questionOf returns what a check of the key asks.
func questionOf(t testing.TB, h *plan, key string) (q question) {
	t.Helper()
	if err := h.read(&policy.Request{Key: key}, &q); err != nil {
		t.Fatal(err)
	}
	return q
}

// viewsOf returns what each member of a ring of that size sees.
func viewsOf(t testing.TB, size int) []*view {
	t.Helper()
	b, err := ring.NewBuilder(ring.Params{})
	if err != nil {
		t.Fatal(err)
	}
	var members []ring.Member
	for i := range size {
		members = append(members, ring.Member{ID: fmt.Sprintf("node-%d", i), Boot: 1, State: ring.Active})
	}
	r, err := b.Place(members)
	if err != nil {
		t.Fatal(err)
	}
	views := make([]*view, size)
	for i := range views {
		views[i] = fixedView(r, members[i].ID)
	}
	return views
}

// TestNoMemoryForAShare: a check that needs a share is denied if there is no memory for one, by a limit that has
// shares; one that takes nothing needs none.
func TestNoMemoryForAShare(t *testing.T) {
	const localBytes = 1021 * 8 * 72
	n := start(t, Config{Policies: rulePolicies(t), TableBytes: localBytes * localShare})
	h := planOf(t, n, "one-allows")
	v := viewsOf(t, 2)[0]
	for i := range 100_000 {
		var d policy.Decision
		q := questionOf(t, h, fmt.Sprint(i))
		h.unreachable(v, &q, &d)
		if d.Allowed {
			continue
		}
		if !d.Degraded || d.Never || d.LimitName != "b" || d.DecidedBy != policy.Local || d.RetryAfter != retryUnreachable {
			t.Errorf("%+v", d)
		}
		q.look = true
		if h.unreachable(v, &q, &d); !d.Allowed {
			t.Errorf("a look: %+v", d)
		}
		allow := planOf(t, n, "allow")
		q = questionOf(t, allow, "ann")
		if allow.unreachable(v, &q, &d); !d.Allowed {
			t.Errorf("without any share: %+v", d)
		}
		return
	}
	t.Fatalf("100,000 keys fit in %d bytes", localBytes)
}

func TestFailureRulesDoNotAllocate(t *testing.T) {
	n := start(t, Config{Policies: rulePolicies(t)})
	v := viewsOf(t, 5)[1]
	for name, r := range n.book.Load().rules {
		h := r.only
		q := questionOf(t, h, "ann")
		var d policy.Decision
		if a := testing.AllocsPerRun(1000, func() { h.unreachable(v, &q, &d) }); a != 0 {
			t.Errorf("%s: %v allocations, want none", name, a)
		}
	}
}

// TestSharesAreGivenBack asks by views of several sizes at once: what is kept and in use afterwards is what the last
// one needs.
func TestSharesAreGivenBack(t *testing.T) {
	n := start(t, Config{Policies: rulePolicies(t), Clock: new(fixedClock)})
	h := planOf(t, n, "local")
	policies := n.limits.Len()
	var views []*view
	for size := 2; size <= 5; size++ {
		views = append(views, viewsOf(t, size)...)
	}
	var askers sync.WaitGroup
	for a := range 4 {
		askers.Go(func() {
			for i := range 2000 {
				q := questionOf(t, h, fmt.Sprint(i%100))
				q.look = i%3 == 0
				var d policy.Decision
				if h.unreachable(views[(i+a)%len(views)], &q, &d); d.Never || d.DecidedBy != policy.Local {
					t.Errorf("%+v", d)
					return
				}
			}
		})
	}
	askers.Wait()
	for part := range n.cfg.Ring.Partitions {
		n.local.Sweep(part, math.MaxInt64) // all are full by then
	}
	for rank := range 6 {
		g, err := h.share(6, rank)
		if err != nil {
			t.Fatal(err)
		}
		g.Release()
	}
	if got := n.limits.Len() - policies; got < 1 || got > 4 { // each of two bursts is rounded up or down
		t.Errorf("%d groups of shares are kept, want 1 to 4", got)
	}
	if g, err := h.share(1, 0); err != nil || n.limits.Len() != policies {
		t.Errorf("%v, %d groups of shares are kept for a node alone, want none: its share is the policy's group", err,
			n.limits.Len()-policies)
	} else {
		g.Release()
	}
}
