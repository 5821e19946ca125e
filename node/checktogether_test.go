package node

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
)

// ofDomain asks by what a gateway says of a request.
func ofDomain(pairs ...string) policy.Request {
	all := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = pairs[i+1]
	}
	return policy.Request{Attributes: all}
}

func whenPresent(p policy.Policy, attribute string) policy.Policy {
	p.When = policy.Condition{attribute: {}}
	return p
}

// TestCheckTogether: of requests that are decided together all are charged or none, wherever their keys are.
func TestCheckTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set, err := policy.NewSet(whenPresent(perHour("group", 10, "group"), "group"), whenPresent(perHour("special", 3, "special"), "special"))
		if err != nil {
			t.Fatal(err)
		}
		nodes := togetherCluster(t, 3, set, time.Millisecond)
		denied := 0
		for i := range 5 {
			got := nodes[i%3].CheckTogether(t.Context(), []policy.Request{ofDomain("group", "a"), ofDomain("special", "b"), ofDomain("other", "c")})
			for j, r := range got {
				if r.Err != nil || r.Decision.Degraded {
					t.Fatalf("request %d: %+v %v", j, r.Decision, r.Err)
				}
			}
			g, s, o := got[0].Decision, got[1].Decision, got[2].Decision
			left, special := int64(9-i), int64(2-i)
			if i >= 3 {
				left, special, denied = 7, 0, denied+1
			}
			if !g.Allowed || g.Remaining != left || g.Policy != "group" {
				t.Errorf("call %d: the group: %+v, want allowed and %d left", i, g, left)
			}
			if s.Allowed != (i < 3) || s.Remaining != special || s.Policy != "special" {
				t.Errorf("call %d: the special: %+v, want %d left", i, s, special)
			}
			if !o.Allowed || o.DecidedBy != policy.NoPolicy {
				t.Errorf("call %d: what no policy is for: %+v", i, o)
			}
			time.Sleep(time.Second)
			look := check(t, nodes[0], policy.Request{Policy: "group", Key: "a", CheckOnly: true})
			if more := g.ResetAfter - look.ResetAfter; more < time.Second || more > time.Second+5*time.Millisecond {
				t.Errorf("call %d: the group is full in %v, and a second later in %v", i, g.ResetAfter, look.ResetAfter)
			}
		}
		if left := rest(t, nodes[0], "group", "a"); left != 7 || denied != 2 {
			t.Errorf("%d are left of the group after %d denials, want 7 after 2", left, denied)
		}
	})
}

// TestCheckTogetherSameKey: two requests of one key pay twice, or not at all.
func TestCheckTogetherSameKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set, err := policy.NewSet(perHour("user", 5, "user"))
		if err != nil {
			t.Fatal(err)
		}
		nodes := togetherCluster(t, 2, set, time.Millisecond)
		for i, n := range []*Node{nodes[0], nodes[1], nodes[0]} {
			one := policy.Request{Policy: "user", Key: "ann"}
			got := n.CheckTogether(t.Context(), []policy.Request{one, one})
			if allowed := got[0].Decision.Allowed && got[1].Decision.Allowed; allowed != (i < 2) {
				t.Errorf("call %d: %+v", i, got)
			}
			time.Sleep(time.Second)
		}
		if left := rest(t, nodes[0], "user", "ann"); left != 1 {
			t.Errorf("%d left, want 1", left)
		}
	})
}

// TestCheckTogetherAtOnce: many at a time at all nodes never admit more than any key has, and leave nothing held.
func TestCheckTogetherAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set, err := policy.NewSet(perHour("a", 100, "user"), perHour("b", 60, "user"))
		if err != nil {
			t.Fatal(err)
		}
		nodes := togetherCluster(t, 3, set, 2*time.Millisecond)
		var mu sync.Mutex
		admitted := map[string]int64{}
		var asking sync.WaitGroup
		for i := range 400 {
			asking.Go(func() {
				time.Sleep(time.Duration(i%40) * time.Millisecond)
				user := fmt.Sprint("u", i%3)
				limit := bucket.Limit{Count: 1, Per: 1000 * time.Hour, Burst: 80}
				got := nodes[i%3].CheckTogether(t.Context(), []policy.Request{
					{Policy: "a", Key: user}, {Policy: "b", Key: user}, {Policy: "mine", Key: user, Limit: &limit},
				})
				all := true
				for _, r := range got {
					if r.Err != nil || r.Decision.Degraded {
						t.Error(r.Decision, r.Err)
					}
					all = all && r.Decision.Allowed
				}
				if all {
					mu.Lock()
					defer mu.Unlock()
					admitted[user]++
				}
			})
		}
		asking.Wait()
		time.Sleep(5 * time.Second)
		for user, n := range admitted {
			if n != 60 {
				t.Errorf("%d admitted of %s, want 60", n, user)
			}
			if a := rest(t, nodes[0], "a", user); a != 40 {
				t.Errorf("%d are left of a, want 40", a)
			}
		}
	})
}

// TestCheckTogetherErrors: one wrong request, and nobody pays.
func TestCheckTogetherErrors(t *testing.T) {
	set, err := policy.NewSet(perHour("user", 5, "user"))
	if err != nil {
		t.Fatal(err)
	}
	n := start(t, Config{Policies: set})
	one := policy.Request{Policy: "user", Key: "ann"}
	got := n.CheckTogether(t.Context(), []policy.Request{one, {Policy: "users", Key: "ann"}})
	if !errors.Is(got[1].Err, policy.ErrUnknownPolicy) || !errors.Is(got[0].Err, policy.ErrUnknownPolicy) {
		t.Errorf("%+v, want ErrUnknownPolicy of both", got)
	}
	got = n.CheckTogether(t.Context(), []policy.Request{{Policy: "user", Key: "ann", Refund: true, CheckOnly: true}, one})
	if !errors.Is(got[0].Err, policy.ErrInvalid) || got[1].Err == nil {
		t.Errorf("%+v, want ErrInvalid", got)
	}
	if got = n.CheckTogether(t.Context(), make([]policy.Request, MaxTogether+1)); !errors.Is(got[0].Err, policy.ErrInvalid) {
		t.Errorf("too many: %v", got[0].Err)
	}
	if got = n.CheckTogether(t.Context(), nil); len(got) != 0 {
		t.Errorf("none: %+v", got)
	}
	if d := check(t, n, policy.Request{Policy: "user", Key: "ann", CheckOnly: true}); d.Remaining != 5 {
		t.Errorf("%d left, want 5", d.Remaining)
	}
}

// TestCheckTogetherWithoutKey: what a policy denies for its missing key denies the whole, and nobody pays; a refund denies nobody.
func TestCheckTogetherWithoutKey(t *testing.T) {
	keyed := perHour("keyed", 5, "user")
	keyed.OnMissing = policy.MissingDeny
	set, err := policy.NewSet(keyed, perHour("group", 10, "group"), perHour("other", 10, "group"))
	if err != nil {
		t.Fatal(err)
	}
	n := start(t, Config{Policies: set})
	lacking, group, other := policy.Request{Policy: "keyed"}, policy.Request{Policy: "group", Key: "a"}, policy.Request{Policy: "other", Key: "a"}
	for _, reqs := range [][]policy.Request{{group, lacking}, {lacking, group}, {group, lacking, other}} {
		for _, r := range n.CheckTogether(t.Context(), reqs) {
			if r.Err != nil || r.Decision.Allowed != (r.Decision.DecidedBy != policy.MissingKey) {
				t.Errorf("%+v: %+v %v", reqs, r.Decision, r.Err)
			}
		}
	}
	for _, name := range []string{"group", "other"} {
		if d := check(t, n, policy.Request{Policy: name, Key: "a", CheckOnly: true}); d.Remaining != 10 {
			t.Errorf("%d of %s are left after nothing was admitted, want 10", d.Remaining, name)
		}
	}
	lacking.Refund = true
	got := n.CheckTogether(t.Context(), []policy.Request{group, lacking, other})
	if !got[0].Decision.Allowed || !got[1].Decision.Allowed || !got[2].Decision.Allowed || got[0].Decision.Remaining != 9 || got[2].Decision.Remaining != 9 {
		t.Errorf("beside a refund without a key: %+v, want both charged", got)
	}
}

// TestCheckTogetherStrict: what Redis would have decided of a request is told also if another is denied, and nothing is taken there.
func TestCheckTogetherStrict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes, store := strictCluster(t, 2)
		for i := range 5 {
			got := nodes[i%2].CheckTogether(t.Context(), []policy.Request{
				{Policy: "free", Attributes: map[string]string{"tenant": "acme"}}, {Policy: "spend", Key: "ann"}})
			free, spend := got[0].Decision, got[1].Decision
			left := int64(999 - i)
			if i >= 3 {
				left = 997
			}
			if free.Allowed != (i < 3) || !spend.Allowed || spend.DecidedBy != policy.Redis || spend.Policy != "spend" || spend.Remaining != left {
				t.Errorf("call %d: %+v, %+v, want %d left", i, free, spend, left)
			}
		}
		if left := store.left(t, nodes[0], "spend", "ann"); left != 997 {
			t.Errorf("%d are left, want 997", left)
		}
		store.set(gone)
		got := nodes[0].CheckTogether(t.Context(), []policy.Request{
			{Policy: "free", Attributes: map[string]string{"tenant": "acme"}}, {Policy: "spend", Key: "bob"}})
		if d := got[1].Decision; got[0].Decision.Allowed || !d.Degraded || d.Policy != "spend" {
			t.Errorf("without Redis: %+v", got)
		}
	})
}

// TestReplaces: a policy takes the place of others for a request, and for all that are decided with it; what a request names stays.
func TestReplaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		vip := whenPresent(perHour("vip", 5, "vip"), "vip")
		vip.Replaces = []string{"group"}
		group := whenPresent(perHour("group", 2, "group"), "group")
		set, err := policy.NewSet(group, vip)
		if err != nil {
			t.Fatal(err)
		}
		nodes := togetherCluster(t, 3, set, time.Millisecond)
		for i := range 4 {
			if d := check(t, nodes[i%3], ofDomain("group", "a", "vip", "v")); !d.Allowed || d.Policy != "vip" || d.Remaining != int64(4-i) {
				t.Errorf("check %d: %+v", i, d)
			}
		}
		got := nodes[1].CheckTogether(t.Context(), []policy.Request{ofDomain("group", "a"), ofDomain("vip", "v"), {Policy: "group", Key: "b"}})
		if g, v, named := got[0].Decision, got[1].Decision, got[2].Decision; g.DecidedBy != policy.NoPolicy || v.Remaining != 0 || named.Remaining != 1 {
			t.Errorf("together: %+v", got)
		}
		time.Sleep(time.Second)
		if a, b := rest(t, nodes[0], "group", "a"), rest(t, nodes[0], "group", "b"); a != 2 || b != 1 {
			t.Errorf("of the group %d and %d are left, want 2 and 1", a, b)
		}
		check(t, nodes[0], policy.Request{Policy: "group", Key: "a", Cost: 2})
		give := []policy.Request{ofDomain("group", "a"), ofDomain("vip", "v")}
		give[0].Refund, give[1].Refund = true, true
		for _, r := range nodes[2].CheckTogether(t.Context(), give) {
			if r.Err != nil || !r.Decision.Allowed {
				t.Errorf("given back: %+v", r)
			}
		}
		if group, vip := rest(t, nodes[0], "group", "a"), rest(t, nodes[0], "vip", "v"); group != 0 || vip != 1 {
			t.Errorf("%d and %d are left, want 0 and 1: what was not taken is not given back", group, vip)
		}
		if d := check(t, nodes[0], ofDomain("group", "a")); d.Allowed {
			t.Errorf("without a vip: %+v", d)
		}
	})
}

// TestRefund: what is given back may be taken again, at whatever node, and never more than was taken.
func TestRefund(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set, err := policy.NewSet(perHour("user", 5, "user"))
		if err != nil {
			t.Fatal(err)
		}
		nodes := togetherCluster(t, 3, set, time.Millisecond)
		for range 5 {
			check(t, nodes[0], policy.Request{Policy: "user", Key: "ann"})
		}
		if d := check(t, nodes[1], policy.Request{Policy: "user", Key: "ann"}); d.Allowed {
			t.Fatalf("a sixth: %+v", d)
		}
		for i, want := range []int64{2, 4, 5, 5} {
			d := check(t, nodes[i%3], policy.Request{Policy: "user", Key: "ann", Cost: 2, Refund: true})
			if !d.Allowed || d.Remaining != want || d.RetryAfter != 0 || d.Degraded {
				t.Errorf("refund %d: %+v, want %d left", i, d, want)
			}
		}
		time.Sleep(2 * time.Second) // who was denied remembers it for a moment
		got := nodes[2].CheckTogether(t.Context(), []policy.Request{
			{Policy: "user", Key: "ann", Cost: 5}, {Policy: "user", Key: "bob", Refund: true},
		})
		if !got[0].Decision.Allowed || !got[1].Decision.Allowed || got[1].Decision.Remaining != 5 {
			t.Errorf("%+v", got)
		}
		time.Sleep(time.Second) // what is held is out until the owner hears that it was spent
		got = nodes[1].CheckTogether(t.Context(), []policy.Request{
			{Policy: "user", Key: "ann", Cost: 4}, {Policy: "user", Key: "ann", Cost: 3, Refund: true},
		})
		if got[0].Decision.Allowed || !got[1].Decision.Allowed || got[1].Decision.Remaining != 3 {
			t.Errorf("4 where 3 have come back: %+v", got)
		}
	})
}

// TestRefundWithoutOwner: nobody gives back what he can't know of, and nobody is denied for that.
func TestRefundWithoutOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set, err := policy.NewSet(perHour("user", 5, "user"))
		if err != nil {
			t.Fatal(err)
		}
		nodes := togetherCluster(t, 2, set, time.Millisecond)
		key := keyOf(t, nodes[1], "user", "x")
		nodes[1].Close()
		d := check(t, nodes[0], policy.Request{Policy: "user", Key: key, Refund: true})
		if !d.Allowed || !d.Degraded {
			t.Errorf("%+v, want it allowed and degraded", d)
		}
	})
}

// TestStrictRefund gives back in Redis.
func TestStrictRefund(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes, store := strictCluster(t, 2)
		ask := func(n *Node, cost int64, refund bool) policy.Decision {
			t.Helper()
			return check(t, n, policy.Request{Policy: "spend", Key: "k", Cost: cost, Refund: refund})
		}
		full := ask(nodes[0], 3, false).Remaining + 3
		if d := ask(nodes[1], 2, true); !d.Allowed || d.Remaining != full-1 || d.DecidedBy != policy.Redis {
			t.Errorf("2 of 3: %+v, want %d left", d, full-1)
		}
		if d := ask(nodes[1], 9, true); d.Remaining != full {
			t.Errorf("more than was taken: %+v, want %d left", d, full)
		}
		if d := ask(nodes[0], full, false); !d.Allowed || d.Remaining != 0 {
			t.Errorf("all: %+v", d)
		}
		if _, err := nodes[0].Check(t.Context(), policy.Request{Policy: "chunks", Key: "k", Refund: true}); !errors.Is(err, policy.ErrInvalid) {
			t.Errorf("where windows are fetched ahead: %v, want ErrInvalid", err)
		}
		store.set(gone)
		if d := ask(nodes[0], 1, true); !d.Allowed || !d.Degraded {
			t.Errorf("without Redis: %+v, want it allowed and degraded", d)
		}
	})
}
