package node

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/mem"
)

// set reads policies.
func set(t testing.TB, text string) *policy.Set {
	t.Helper()
	s, err := policy.Parse("limits.yaml", []byte("version: 1\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type attributes = map[string]string

// TestMatchingPolicies: a check that names no policy is decided by all that match it, all or none.
func TestMatchingPolicies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := togetherCluster(t, 3, set(t, `
exempt: [{route: /healthz}]
policies:
  anonymous: {when: {user: absent}, key: [ip], limits: [{rate: 1/h, burst: 2}]}
  api: {when: {user: present, route: "/v1/*"}, key: [user], limits: [{rate: 1/h, burst: 3}], with: [ceiling]}
  search: {when: {route: /v1/search}, key: ["user|ip"], limits: [{rate: 1/h, burst: 1}]}
  ceiling: {when: {user: nobody}, key: [], limits: [{rate: 1/h, burst: 100}]}
`), time.Millisecond)
		ask := func(n int, a attributes) policy.Decision {
			t.Helper()
			return check(t, nodes[n%3], policy.Request{Attributes: a})
		}
		for i, c := range []struct {
			a       attributes
			allowed bool
			policy  string
			by      policy.DecidedBy
		}{
			{attributes{"user": "ann", "route": "/healthz"}, true, "", policy.Exempt},
			{attributes{"user": "ann", "route": "/other"}, true, "", policy.NoPolicy},
			{attributes{"user": "ann", "route": "/v1/search"}, true, "search", policy.Owner},
			{attributes{"user": "ann", "route": "/v1/search"}, false, "search", policy.Owner},
			{attributes{"user": "ann", "route": "/v1/x"}, true, "api", policy.Owner},
			{attributes{"user": "ann", "route": "/v1/x"}, true, "api", policy.Owner},
			{attributes{"user": "ann", "route": "/v1/x"}, false, "api", policy.Owner},
			{attributes{"ip": "192.0.2.1", "route": "/v1/search"}, true, "search", policy.Owner},
			{attributes{"ip": "192.0.2.1", "route": "/v1/search"}, false, "search", policy.Owner},
			{attributes{"ip": "192.0.2.1"}, true, "anonymous", policy.Owner},
			{attributes{"ip": "192.0.2.1"}, false, "anonymous", policy.Owner},
			{attributes{"ip": "192.0.2.2"}, true, "anonymous", policy.Owner},
		} {
			if d := ask(i, c.a); d.Allowed != c.allowed || d.Policy != c.policy || d.DecidedBy != c.by || d.Degraded {
				t.Errorf("check %d, %v: %+v, want %v by %s", i, c.a, d, c.allowed, c.policy)
			}
			time.Sleep(10 * time.Millisecond) // what was held for a check that is denied comes back
		}
		time.Sleep(time.Second)
		if left := rest(t, nodes[0], "ceiling", ""); left != 97 {
			t.Errorf("%d are left of the ceiling, want 97: three were admitted by a policy that it is decided with", left)
		}
		if _, err := nodes[0].Check(t.Context(), policy.Request{Key: "ann"}); !errors.Is(err, policy.ErrInvalid) {
			t.Errorf("%v: a key without a policy", err)
		}
		if _, err := nodes[0].Check(t.Context(), policy.Request{}); !errors.Is(err, policy.ErrMissingKey) {
			t.Errorf("%v: a request without the key of the policy that matches", err)
		}
		s := nodes[0].Stats()
		if s.Exempt != 1 {
			t.Errorf("%d exempt", s.Exempt)
		}
	})
}

// TestBatchMatches: items of a batch that name no policy are decided like others.
func TestBatchMatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := togetherCluster(t, 3, set(t, `
exempt: [{route: /healthz}]
policies:
  user: {when: {user: present}, key: [user], limits: [{rate: 1/h, burst: 5}]}
  route: {when: {route: present}, key: [route], limits: [{rate: 1/h, burst: 3}]}
`), time.Millisecond)
		var reqs []policy.Request
		for range 7 {
			reqs = append(reqs, policy.Request{Attributes: attributes{"user": "ann"}})
		}
		for i := range 4 {
			reqs = append(reqs, policy.Request{Attributes: attributes{"user": fmt.Sprint("u", i), "route": "/x"}})
		}
		reqs = append(reqs, policy.Request{Attributes: attributes{"route": "/healthz"}}, policy.Request{}, policy.Request{Policy: "user"})
		admitted := map[bool]int{}
		results := nodes[1].CheckBatch(t.Context(), reqs)
		for i, r := range results[:11] {
			if r.Err != nil || r.Decision.Degraded {
				t.Errorf("item %d: %+v", i, r)
			}
			if r.Decision.Allowed {
				admitted[i < 7]++
			}
		}
		if admitted[true] != 5 || admitted[false] != 3 {
			t.Errorf("%d of the user's are admitted and %d of the route's, want 5 and 3", admitted[true], admitted[false])
		}
		if d := results[11].Decision; !d.Allowed || d.DecidedBy != policy.Exempt {
			t.Errorf("%+v", results[11])
		}
		if d := results[12].Decision; !d.Allowed || d.DecidedBy != policy.NoPolicy {
			t.Errorf("%+v", results[12])
		}
		if !errors.Is(results[13].Err, policy.ErrMissingKey) {
			t.Errorf("%+v", results[13])
		}
	})
}

// TestMissingKey: a request without a part of the key is refused, denied, or left alone, as the policy says, and never shares a bucket
// with others that lack it (C110).
func TestMissingKey(t *testing.T) {
	n := start(t, Config{Policies: set(t, `
policies:
  refuses: {key: [user], limits: [{rate: 1/h, burst: 1}]}
  denies: {key: [user], on_missing: deny, limits: [{rate: 1/h, burst: 1}]}
  skips: {key: [user], on_missing: skip, limits: [{rate: 1/h, burst: 1}]}
  falls: {key: ["user|ip"], limits: [{rate: 1/h, burst: 1}]}
`)})
	for _, ip := range []string{"192.0.2.1", "192.0.2.2", "192.0.2.2"} {
		ask := func(name string) (policy.Decision, error) {
			return n.Check(t.Context(), policy.Request{Policy: name, Attributes: attributes{"ip": ip}})
		}
		if _, err := ask("refuses"); !errors.Is(err, policy.ErrInvalid) || !errors.Is(err, policy.ErrMissingKey) {
			t.Errorf("refuses: %v", err)
		}
		if d, err := ask("denies"); err != nil || d.Allowed || !d.Never || d.DecidedBy != policy.MissingKey || d.Policy != "denies" {
			t.Errorf("denies: %+v, %v", d, err)
		}
		if d, err := ask("skips"); err != nil || !d.Allowed || d.DecidedBy != policy.NoPolicy {
			t.Errorf("skips: %+v, %v", d, err)
		}
	}
	for i, want := range []bool{true, true, false} {
		d := check(t, n, policy.Request{Policy: "falls", Attributes: attributes{"ip": fmt.Sprint("192.0.2.", min(i+1, 2))}})
		if d.Allowed != want {
			t.Errorf("falls, check %d: %+v", i, d)
		}
	}
	if s := n.Stats(); s.MissingKey != 3 || s.NoPolicy != 3 {
		t.Errorf("%d denied for a missing key and %d without a policy, want 3 and 3", s.MissingKey, s.NoPolicy)
	}
}

// TestTiers: a request gets the limits of its tier, or those of its key's override, in the bucket that it had before.
func TestTiers(t *testing.T) {
	n := start(t, Config{Policies: set(t, `
policies:
  api:
    key: [user]
    limits: [{rate: 1/h, burst: 10}]
    tiers: {free: {limits: [{rate: 1/h, burst: 2}]}, staff: {unlimited: true}}
    overrides: {acme: {limits: [{rate: 1/h, burst: 100}]}}
`)})
	ask := func(user, tier string) policy.Decision {
		t.Helper()
		return check(t, n, policy.Request{Policy: "api", Key: user, Attributes: attributes{"tier": tier}})
	}
	for _, c := range []struct {
		user, tier string
		limit      int64
	}{{"a", "", 10}, {"b", "gold", 10}, {"c", "free", 2}, {"acme", "free", 100}} {
		if d := ask(c.user, c.tier); d.Limit != c.limit || d.Remaining != c.limit-1 || d.LimitName != "api" {
			t.Errorf("%s of tier %s: %+v, want a limit of %d", c.user, c.tier, d, c.limit)
		}
	}
	for range 100 {
		if d := ask("a", "staff"); !d.Allowed || d.DecidedBy != policy.Exempt || d.Policy != "api" {
			t.Fatalf("%+v", d)
		}
	}
	// Who is moved to a lower tier has what is left of it, and back in the higher no more than that.
	for i, want := range []struct {
		tier string
		left int64
	}{{"", 9}, {"free", 1}, {"", 0}} {
		if d := ask("d", want.tier); !d.Allowed || d.Remaining != want.left {
			t.Errorf("check %d, tier %q: %+v, want %d left", i, want.tier, d, want.left)
		}
	}
}

// TestShadow: limits in shadow mode count like others and deny nothing, and the enforced ones see nothing of them (C136).
func TestShadow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := togetherCluster(t, 3, set(t, `
policies:
  trial: {key: [user], shadow: true, limits: [{rate: 1/h, burst: 2}]}
  mixed: {key: [user], limits: [{name: real, rate: 1/h, burst: 4}, {name: trial, rate: 1/h, burst: 2, shadow: true}]}
  plain: {key: [user], limits: [{name: real, rate: 1/h, burst: 4}]}
`), time.Millisecond)
		for i := range 5 {
			d := check(t, nodes[i%3], policy.Request{Policy: "trial", Key: "ann"})
			if !d.Allowed || d.ShadowDenied != (i >= 2) || d.DecidedBy != policy.Shadow || d.RetryAfter != 0 || d.Never {
				t.Errorf("trial, check %d: %+v", i, d)
			}
		}
		for i := range 6 {
			d := check(t, nodes[i%3], policy.Request{Policy: "mixed", Key: "bob"})
			p := check(t, nodes[i%3], policy.Request{Policy: "plain", Key: "bob"})
			if d.ShadowDenied != (i >= 2) || d.Policy != "mixed" || d.LimitName != "real" {
				t.Errorf("mixed, check %d: %+v", i, d)
			}
			if d.Allowed != p.Allowed || d.Remaining != p.Remaining || d.Limit != p.Limit || d.Allowed != (i < 4) {
				t.Errorf("check %d: %+v\nwithout the limit in shadow mode %+v", i, d, p)
			}
		}
		time.Sleep(time.Second)
		var allowed, denied uint64
		for _, n := range nodes {
			for _, p := range n.Stats().Policies {
				if p.Policy == "trial" {
					allowed, denied = allowed+p.ShadowAllowed, denied+p.ShadowDenied
				}
			}
		}
		if allowed != 2 || denied != 3 {
			t.Errorf("counted %d as allowed and %d as denied, want 2 and 3", allowed, denied)
		}
		for _, n := range nodes {
			if held := n.Stats().Table.Held; held != 0 {
				t.Errorf("something of %d groups is still held", held)
			}
		}
	})
}

// TestShadowTakesWhatWouldBeTaken: of what the enforced limits deny a limit in shadow mode takes nothing.
func TestShadowTakesWhatWouldBeTaken(t *testing.T) {
	n := start(t, Config{Policies: set(t, `
policies:
  mixed: {key: [user], limits: [{rate: 1/h, burst: 2}, {rate: 1/h, burst: 3, shadow: true}]}
`)})
	for i := range 10 {
		if d := check(t, n, policy.Request{Policy: "mixed", Key: "ann"}); d.Allowed != (i < 2) || d.ShadowDenied {
			t.Errorf("check %d: %+v: three were never taken", i, d)
		}
	}
}

// TestSetPolicies: other policies apply from the next check on, by name and by handle; what was counted stays.
func TestSetPolicies(t *testing.T) {
	n := start(t, Config{Policies: set(t, "policies: {api: {key: [user], limits: [{rate: 1/h, burst: 10}]}, old: {key: [], limits: [{rate: 1/s}]}}")})
	h, err := n.Handle("api")
	if err != nil {
		t.Fatal(err)
	}
	old, err := n.Handle("old")
	if err != nil {
		t.Fatal(err)
	}
	ask := func(wantAllowed bool, wantLeft, wantLimit int64) {
		t.Helper()
		d, err := h.Check(t.Context(), policy.Request{Key: "ann"})
		if err != nil || d.Allowed != wantAllowed || d.Remaining != wantLeft || d.Limit != wantLimit {
			t.Errorf("%+v, %v, want %v, %d of %d left", d, err, wantAllowed, wantLeft, wantLimit)
		}
	}
	replace := func(text string) {
		t.Helper()
		if err := n.SetPolicies(set(t, text), Source{}); err != nil {
			t.Fatal(err)
		}
	}
	ask(true, 9, 10)
	replace("policies: {api: {key: [user], limits: [{rate: 1/h, burst: 5}]}, new: {key: [], limits: [{rate: 1/s}]}}")
	ask(true, 4, 5)
	replace("policies: {api: {key: [user], limits: [{rate: 1/h, burst: 100}]}, new: {key: [], limits: [{rate: 1/s}]}}")
	ask(true, 3, 100) // raising it gives nothing
	if _, err := old.Check(t.Context(), policy.Request{}); !errors.Is(err, policy.ErrUnknownPolicy) {
		t.Errorf("%v: a policy that is no more", err)
	}
	if _, err := n.Handle("old"); !errors.Is(err, policy.ErrUnknownPolicy) {
		t.Errorf("%v: a policy that is no more", err)
	}
	if d := check(t, n, policy.Request{Policy: "new"}); !d.Allowed {
		t.Errorf("%+v", d)
	}
	if err := n.SetPolicies(nil, Source{}); err != nil {
		t.Fatal(err)
	}
	if d := check(t, n, policy.Request{}); !d.Allowed || d.DecidedBy != policy.NoPolicy {
		t.Errorf("%+v", d)
	}
}

// TestNewestPoliciesDecide: while nodes hear of new policies at different times a bucket goes by the newest that its owner has heard of,
// from its owner or from anybody who asked, and never back.
func TestNewestPoliciesDecide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		was := set(t, "policies: {api: {key: [user], consistency: direct, limits: [{rate: 1/h, burst: 100}]}}")
		is := set(t, "policies: {api: {key: [user], consistency: direct, limits: [{name: more, rate: 1/h, burst: 5}, {rate: 1/h, burst: 50}]}}")
		nodes := togetherCluster(t, 3, nil, time.Millisecond)
		version := func(n int, s *policy.Set, v uint64) {
			t.Helper()
			if err := nodes[n].SetPolicies(s, Source{Revision: v}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range nodes {
			version(i, was, 1)
		}
		key := keyOwnedBy(t, nodes[0], "k")
		ask := func(n int, allowed bool, left, limit int64) {
			t.Helper()
			d := check(t, nodes[n], policy.Request{Policy: "api", Key: key})
			if d.Allowed != allowed || d.Remaining != left || d.Limit != limit || d.Degraded {
				t.Errorf("at %s: %+v, want %v and %d of %d left", nodes[n].Name(), d, allowed, left, limit)
			}
		}
		ask(0, true, 99, 100)
		ask(1, true, 98, 100)
		version(1, is, 2)    // an asker has heard first
		ask(1, true, 4, 5)   // the new limit counts at once
		ask(0, true, 3, 100) // and for the owner, in the words of the limits that it has
		ask(2, true, 2, 100)
		version(0, is, 2)
		ask(0, true, 1, 5)
		ask(2, true, 0, 100)  // who has not heard does not bring the old ones back
		ask(2, false, 0, 100) // though by these it would be allowed
		ask(1, false, 0, 5)
		version(0, was, 3) // now they come back, when the first asks by them
		ask(0, true, 44, 100)
		ask(1, true, 43, 50)
		ask(2, true, 42, 100)
	})
}

// TestLoweringReturnsLeases: what was lent under a limit that is lowered comes back within the time that leases last, and no more is
// lent than the new limit has.
func TestLoweringReturnsLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := lendingCluster(t, 3, nil)
		req := policy.Request{Policy: "api", Key: keyOwnedBy(t, nodes[0], "hot")}
		hammer(t, nodes, req, 4*time.Millisecond, 2*time.Second)
		if out(nodes) == 0 {
			t.Fatal("nothing is lent")
		}
		lower := set(t, "policies: {api: {key: [user], limits: [{rate: 60/s}]}}")
		for _, n := range nodes {
			if err := n.SetPolicies(lower, Source{Revision: 1}); err != nil {
				t.Fatal(err)
			}
		}
		begun := time.Now()
		c := hammer(t, nodes, req, 4*time.Millisecond, time.Second)
		if c.admitted > 60+60 {
			t.Errorf("%d admitted in the second after it was lowered to 60/s with a burst of 60", c.admitted)
		}
		for out(nodes) > 60/4 {
			if time.Since(begun) > 2*time.Second {
				t.Fatalf("%d tokens are still out", out(nodes))
			}
			time.Sleep(time.Millisecond)
		}
	})
}

// TestOnePolicyOfManyRoutes: routes that share a policy share its buckets (C106).
func TestOnePolicyOfManyRoutes(t *testing.T) {
	n := start(t, Config{Policies: set(t, "policies: {both: {when: {route: [/a, /b]}, key: [user], limits: [{rate: 10/min}]}}")})
	allowed := 0
	for range 10 {
		for _, route := range []string{"/a", "/b"} {
			if d := check(t, n, policy.Request{Attributes: attributes{"route": route, "user": "ann"}}); d.Allowed {
				allowed++
			}
		}
	}
	if allowed != 10 {
		t.Errorf("%d are allowed, want 10 in all", allowed)
	}
}

// TestSecretsStayHidden: a key that is a secret is not shown in what the node tells of leases.
func TestSecretsStayHidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := togetherCluster(t, 2, set(t, `
attributes: {api_key: {hash: true}}
policies: {api: {key: [api_key], limits: [{rate: 1000/s}]}}
`), time.Millisecond)
		req := policy.Request{Policy: "api", Key: keyOwnedBy(t, nodes[0], "sesame")}
		hammer(t, nodes[1:], req, 4*time.Millisecond, time.Second)
		told := asText(t, nodes[1].Leases(t.Context()))
		if !strings.Contains(told, `"..."`) || strings.Contains(told, "sesame") {
			t.Error(told)
		}
	})
}

// TestShadowHoldsNobodyUp: a check waits for a limit in shadow mode no longer than an answer usually takes, and is neither degraded nor
// refused for its sake.
func TestShadowHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cut atomic.Bool
		network := &mem.Network{
			Delay: func(_, _ string) time.Duration {
				if cut.Load() {
					return 10 * time.Second
				}
				return time.Millisecond
			},
			After: func(d time.Duration, f func()) { time.AfterFunc(d, f) },
		}
		nodes := cluster(t, network, 3, func(_ int, c *Config) {
			c.Policies, c.Deadline = set(t, `
policies:
  api: {key: [user], limits: [{rate: 1/h, burst: 100000}, {name: s, rate: 1/h, burst: 1, shadow: true}]}
  trial: {key: [user], shadow: true, limits: [{rate: 1/h, burst: 1}]}
`), 500*time.Millisecond
		})
		n := nodes[0]
		r, v, req := n.book.Load().rules["api"], n.view.Load(), policy.Request{}
		for i := 0; ; i++ { // enforced here, its shadow elsewhere
			req.Key = fmt.Sprint(i)
			var a, b question
			if err := errors.Join(r.plans[0].real.read(&req, &a), r.plans[0].shadow.read(&req, &b)); err != nil {
				t.Fatal(err)
			}
			if v.owner(a.part) == v.self && v.owner(b.part) != v.self {
				break
			}
		}
		req.Policy = "api"
		ask := func(within time.Duration, shadow bool) {
			t.Helper()
			begun := time.Now()
			d := check(t, n, req)
			if took := time.Since(begun); took > within || !d.Allowed || d.Degraded || d.ShadowDenied != shadow {
				t.Errorf("after %v: %+v, want no more than %v", took, d, within)
			}
		}
		ask(3*time.Millisecond, false)
		ask(3*time.Millisecond, true)
		cut.Store(true)
		ask(10*time.Millisecond, false)
		req.Policy = "trial"
		for range 10 {
			req.Key += "x"
			ask(10*time.Millisecond, false)
		}
		cut.Store(false)
		time.Sleep(20 * time.Second)
	})
}

// TestShadowRefusesNobody: what is wrong with a request for a limit in shadow mode is nobody's error; and a look at one counts nothing.
func TestShadowRefusesNobody(t *testing.T) {
	n := start(t, Config{Policies: set(t, `
attributes: {ip: {ipv4: 32}}
policies:
  real: {key: [user], limits: [{rate: 1/h, burst: 3}]}
  trial: {key: [ip], limits: [{rate: 1/h, burst: 1, shadow: true}]}
`)})
	for _, a := range []attributes{{"user": "ann"}, {"user": "ann", "ip": "unknown"}} {
		if d := check(t, n, policy.Request{Attributes: a}); !d.Allowed || d.DecidedBy != policy.Owner {
			t.Errorf("%v: %+v", a, d)
		}
	}
	if d := check(t, n, policy.Request{Policy: "trial"}); !d.Allowed || d.DecidedBy != policy.Shadow {
		t.Errorf("%+v", d)
	}
	for range 10 {
		check(t, n, policy.Request{Attributes: attributes{"user": "bob", "ip": "192.0.2.1"}, CheckOnly: true})
	}
	for _, p := range n.Stats().Policies {
		if p.ShadowAllowed+p.ShadowDenied+p.Denied > 0 {
			t.Errorf("%+v", p)
		}
	}
}

// TestTierFlap: a key of which requests come in two tiers keeps what was taken of a limit that one of them lacks.
func TestTierFlap(t *testing.T) {
	n := start(t, Config{Policies: set(t, `
policies:
  api:
    key: [user]
    limits: [{rate: 1000/s}, {name: daily, quota: 5/day}, {name: tried, rate: 1/h, burst: 2, shadow: true}]
    tiers: {trial: {limits: [{rate: 1000/s}]}, more: {limits: [{name: extra, rate: 1/h, burst: 3}]}}
`)})
	admitted, shadow := map[string]int{}, 0
	for i := range 99 {
		tier := []string{"", "trial", "more"}[i%3]
		d := check(t, n, policy.Request{Policy: "api", Key: "ann", Attributes: attributes{"tier": tier}})
		if d.Allowed {
			admitted[tier]++
		}
		if d.ShadowDenied {
			shadow++
		}
	}
	if admitted[""] != 5 || admitted["trial"] != 33 || admitted["more"] != 3 || shadow != 31 {
		t.Errorf("%v admitted, and a limit in shadow mode would have denied %d", admitted, shadow)
	}
	if n := n.Stats().Table.Groups; n != 2 {
		t.Errorf("%d groups of one key, want one, and one of what is in shadow mode", n)
	}
}

// TestSameFileOtherTimes: nodes whose files have the same text at different times go by tiers as if they were one.
func TestSameFileOtherTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := set(t, `
policies:
  api:
    key: [user]
    limits: [{rate: 1/h, burst: 5}]
    tiers: {pro: {limits: [{rate: 1/h, burst: 1000}]}}
`)
		nodes := togetherCluster(t, 2, s, time.Millisecond)
		for i, n := range nodes {
			if err := n.SetPolicies(s, Source{Kind: SourceFile, Name: "limits.yaml", Revision: uint64(1000 - i)}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(5 * time.Second)
		for _, n := range nodes {
			if s := n.PolicyStatus(); s.Revision != 1000 {
				t.Errorf("%s has revision %d of the file, want the highest", n.Name(), s.Revision)
			}
		}
		key := keyOwnedBy(t, nodes[1], "k")
		ask := func(n *Node, tier string) policy.Decision {
			return check(t, n, policy.Request{Policy: "api", Key: key, Attributes: attributes{"tier": tier}})
		}
		ask(nodes[0], "pro")
		admitted := 0
		for range 100 {
			if ask(nodes[1], "free").Allowed {
				admitted++
			}
		}
		if admitted > 5 {
			t.Errorf("%d of tier free are admitted, by a limit of 5", admitted)
		}
	})
}
