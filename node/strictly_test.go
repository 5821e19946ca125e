package node

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/bucket/redis"
	"github.com/drossel-dev/drossel/transport/mem"
)

// sharedStore is a Strict with faults. Its clock is that of the machine.
type sharedStore struct {
	memory redis.Memory
	calls  atomic.Int64
	takes  atomic.Int64

	mu    sync.Mutex
	fault fault
	late  []redis.Ask // what was sent and not read
}

type fault int

const (
	fine  fault = iota
	gone        // it says that it does nothing
	mute        // it says nothing, and reads later
	lossy       // it does what it is asked, and says nothing
)

var errGone = fmt.Errorf("%w: gone", redis.ErrNotDone)

func (s *sharedStore) set(f fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// read does what was sent while it was mute.
func (s *sharedStore) read() (done int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fine
	for i := range s.late {
		if _, err := s.do(&s.late[i]); err == nil {
			done++
		}
	}
	s.late = nil
	return done
}

func (s *sharedStore) do(a *redis.Ask) (redis.Reply, error) {
	return s.memory.Ask(bucket.Instant(time.Now().UnixNano()), a)
}

func (s *sharedStore) Ask(ctx context.Context, a *redis.Ask) (redis.Reply, error) {
	s.calls.Add(1)
	if a.Do == redis.Take {
		s.takes.Add(1)
	}
	s.mu.Lock()
	f := s.fault
	if f == mute {
		s.late = append(s.late, *a)
	}
	s.mu.Unlock()
	switch f {
	case gone:
		return redis.Reply{}, errGone
	case mute:
		<-ctx.Done()
		return redis.Reply{}, ctx.Err()
	}
	time.Sleep(time.Millisecond)
	r, err := s.do(a)
	if f == lossy {
		<-ctx.Done()
		return redis.Reply{}, ctx.Err()
	}
	return r, err
}

// strictSet has policies of which each but the last is strict.
const strictSet = `
version: 1
policies:
  spend: {key: [user], consistency: strict, limits: [{rate: 1000/30d}]}
  few: {key: [user], consistency: strict, limits: [{rate: 5/10s}]}
  two: {key: [user], consistency: strict, limits: [{rate: 5/d}, {name: all, rate: 100/d, on_unreachable: allow}]}
  shut: {key: [user], consistency: strict, on_unreachable: deny, limits: [{rate: 10/d}]}
  open: {key: [user], consistency: strict, on_unreachable: allow, limits: [{rate: 10/d}]}
  both: {key: [user], with: [spend, free], consistency: strict, limits: [{rate: 20/d}]}
  tried: {key: [user], consistency: strict, limits: [{rate: 20/d}, {name: half, rate: 10/d, shadow: true}]}
  free: {key: [tenant], limits: [{rate: 3/d}]}
  wide: {key: [user], consistency: strict, limits: [{quota: 1_000_000_000/year}]}
  split: {key: [], consistency: strict, strict: {shards: 8}, limits: [{rate: 1003/30d}, {name: all, rate: 900/30d, algorithm: fixed_window}]}
  chunks: {key: [user], consistency: strict, strict: {prefetch: 50}, limits: [{quota: 1000/year}]}
  flow: {key: [user], consistency: strict, strict: {prefetch: 20}, limits: [{rate: 100/s, burst: 100}]}
`

// strictCluster starts nodes that ask one store.
func strictCluster(t *testing.T, size int) ([]*Node, *sharedStore) {
	t.Helper()
	set, err := policy.Parse("test.yaml", []byte(strictSet))
	if err != nil {
		t.Fatal(err)
	}
	s := new(sharedStore)
	network := &mem.Network{
		Delay: func(_, _ string) time.Duration { return 500 * time.Microsecond },
		After: func(d time.Duration, f func()) { time.AfterFunc(d, f) },
	}
	return cluster(t, network, size, func(_ int, c *Config) { c.Policies, c.Strict, c.Deadline = set, s, 0 }), s
}

// left is what the store has left of a policy's first limit.
func (s *sharedStore) left(t *testing.T, n *Node, name, key string) int64 {
	t.Helper()
	pl := n.book.Load().rules[name].plans[0].real
	var q question
	if err := pl.read(&policy.Request{Parts: []string{key}}, &q); err != nil {
		t.Fatal(err)
	}
	r, err := s.do(&redis.Ask{Do: redis.Look, Policy: name, ID: q.id, Limits: pl.group.Limits(), Costs: make([]int64, len(pl.limits))})
	if err != nil {
		t.Fatal(err)
	}
	return r.Decision.Remaining
}

// TestStrictExactly: callers at all nodes admit exactly what there is, by one call for each check, and none for what was denied a moment ago.
func TestStrictExactly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes, s := strictCluster(t, 2)
		var allowed atomic.Int64
		var callers sync.WaitGroup
		for i := range 64 {
			callers.Go(func() {
				for range 40 {
					d := check(t, nodes[i%2], policy.Request{Policy: "spend", Key: "ann"})
					if d.DecidedBy != policy.Redis || d.Degraded {
						t.Errorf("%+v", d)
					}
					if d.Allowed {
						allowed.Add(1)
					}
				}
			})
		}
		callers.Wait()
		if n := allowed.Load(); n != 1000 {
			t.Errorf("%d admitted, want 1000", n)
		}
		var st PolicyStats
		for _, n := range nodes {
			for _, p := range n.Stats().Policies {
				if p.Policy == "spend" {
					st.Allowed, st.Redis, st.RedisDenial = st.Allowed+p.Allowed, st.Redis+p.Redis, st.RedisDenial+p.RedisDenial
				}
			}
		}
		if calls := s.calls.Load(); uint64(calls) != st.Redis || st.Redis+st.RedisDenial != 64*40 || st.RedisDenial < 1000 || st.Allowed != 1000 {
			t.Errorf("%d calls of the store; %+v", calls, st)
		}
		batch := nodes[0].CheckBatch(t.Context(), []policy.Request{{Policy: "spend", Key: "bob"}, {Policy: "spend", Key: "bob"}})
		for _, r := range batch {
			if r.Err != nil || !r.Decision.Allowed || r.Decision.DecidedBy != policy.Redis {
				t.Errorf("in a batch: %+v", r)
			}
		}
	})
}

// TestStrictDenials: what was denied is denied again without asking, until there is as much, and for a second at most.
func TestStrictDenials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes, s := strictCluster(t, 1)
		ask := func(cost int64) policy.Decision {
			t.Helper()
			return check(t, nodes[0], policy.Request{Policy: "few", Key: "ann", Cost: cost})
		}
		ask(5)
		first := ask(2) // in 4 s
		before := s.calls.Load()
		time.Sleep(300 * time.Millisecond)
		if d := ask(2); d.Allowed || d.DecidedBy != policy.Redis || d.RetryAfter > first.RetryAfter-300*time.Millisecond ||
			d.RetryAfter < first.RetryAfter-310*time.Millisecond || s.calls.Load() != before {
			t.Errorf("%+v after %+v, %d calls", d, first, s.calls.Load()-before)
		}
		if d := ask(3); d.Allowed || s.calls.Load() != before {
			t.Errorf("more was asked for: %+v, %d calls", d, s.calls.Load()-before)
		}
		if d := ask(1); d.Allowed || s.calls.Load() != before+1 {
			t.Errorf("less was asked for: %+v, %d calls", d, s.calls.Load()-before)
		}
		time.Sleep(999 * time.Millisecond)
		if ask(1); s.calls.Load() != before+2 {
			t.Error("a denial holds for more than a second")
		}
		time.Sleep(701 * time.Millisecond) // the first token is there
		if d := ask(1); !d.Allowed {
			t.Errorf("%+v: there is one", d)
		}
		if d := ask(6); !d.Never {
			t.Errorf("%+v, want never", d)
		}
	})
}

// TestC101: while the store is gone all nodes together admit what one bucket would, and what they did is charged when it is back, once.
func TestC101(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes, s := strictCluster(t, 4)
		for i := range 400 {
			check(t, nodes[i%4], policy.Request{Policy: "spend", Key: "ann"})
		}
		s.set(gone)
		var allowed int64
		for i := range 4 * 500 {
			d := check(t, nodes[i%4], policy.Request{Policy: "spend", Key: "ann"})
			if !d.Degraded || d.DecidedBy != policy.Owner {
				t.Fatalf("%+v", d)
			}
			if d.Allowed {
				allowed++
			}
		}
		if allowed != 1000 {
			t.Errorf("%d admitted meanwhile, want the 1000 of one bucket", allowed)
		}
		time.Sleep(time.Second)
		s.set(fine)
		time.Sleep(time.Second)
		for _, n := range nodes {
			if st := n.Stats().Strict; st.DebtsOpen != 0 || st.Settled == 0 || st.Dropped != 0 {
				t.Errorf("%s: %+v", n.name, st)
			}
		}
		pl := nodes[0].book.Load().rules["spend"].plans[0].real
		var q question
		if err := pl.read(&policy.Request{Key: "ann"}, &q); err != nil {
			t.Fatal(err)
		}
		r, err := s.do(&redis.Ask{Do: redis.Look, Policy: "spend", ID: q.id, Limits: pl.group.Limits(), Costs: []int64{1}})
		// 600 were there and 1000 were admitted, so 401 have to come until there is one.
		if want := 401 * 30 * 24 * time.Hour / 1000; err != nil || r.Decision.RetryAfter > want || r.Decision.RetryAfter < want-time.Minute {
			t.Errorf("%+v, %v: want to wait %v", r, err, want)
		}
	})
}

// TestC97: a take whose answer is lost counts once, whether it was done, was not, or will be after what was admitted instead was charged.
func TestC97(t *testing.T) {
	for name, f := range map[string]fault{"done, and the answer lost": lossy, "read late": mute, "not done": gone} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				nodes, s := strictCluster(t, 2)
				check(t, nodes[0], policy.Request{Policy: "two", Key: "ann"})
				s.set(f)
				begun := time.Now()
				for i := range 3 {
					d := check(t, nodes[i%2], policy.Request{Policy: "two", Key: "ann"})
					if !d.Allowed || !d.Degraded {
						t.Fatalf("%+v", d)
					}
				}
				if took := time.Since(begun); took > 3*defaultDeadline {
					t.Errorf("three checks took %v", took)
				}
				s.mu.Lock()
				late := s.late
				s.late, s.fault = nil, fine
				s.mu.Unlock()
				time.Sleep(2 * time.Second)
				s.mu.Lock()
				s.late = late
				s.mu.Unlock()
				if n := s.read(); n != 0 {
					t.Errorf("%d of %d that came late were done as well", n, len(late))
				}
				if left := s.left(t, nodes[0], "two", "ann"); left != 1 {
					t.Errorf("%d are left, want 1", left)
				}
				d := check(t, nodes[0], policy.Request{Policy: "two", Key: "ann"})
				if again := check(t, nodes[1], policy.Request{Policy: "two", Key: "ann"}); !d.Allowed || again.Allowed {
					t.Errorf("%+v, then %+v", d, again)
				}
				for _, n := range nodes {
					if open := len(n.ops.shard(bucket.ID{}).open); n.Stats().Strict.DebtsOpen != 0 || open != 0 {
						t.Errorf("%s: %+v, %d numbers open", n.name, n.Stats().Strict, open)
					}
				}
			})
		})
	}
}

// TestC100: a store that says nothing costs no check more than its deadline.
func TestC100(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes, s := strictCluster(t, 2)
		s.set(mute)
		for i := range 10 {
			begun := time.Now()
			d := check(t, nodes[0], policy.Request{Policy: "shut", Key: "ann"})
			if d.Allowed || !d.Degraded || d.DecidedBy != policy.Timeout || time.Since(begun) > defaultDeadline {
				t.Fatalf("check %d: %+v after %v", i, d, time.Since(begun))
			}
			begun = time.Now()
			if d = check(t, nodes[1], policy.Request{Policy: "open", Key: "ann"}); !d.Allowed || !d.Degraded || time.Since(begun) > defaultDeadline {
				t.Fatalf("check %d: %+v after %v", i, d, time.Since(begun))
			}
		}
		s.read()
		time.Sleep(time.Second)
		if d := check(t, nodes[0], policy.Request{Policy: "shut", Key: "ann"}); d.DecidedBy != policy.Redis {
			t.Errorf("%+v", d)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := nodes[0].Check(ctx, policy.Request{Policy: "shut", Key: "ann"}); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}

// TestStrictTogether: what is decided by Redis and elsewhere is taken everywhere or nowhere, and Redis is not asked if others deny.
func TestStrictTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes, s := strictCluster(t, 3)
		ask := func(i int, user, tenant string) policy.Decision {
			t.Helper()
			return check(t, nodes[i%3], policy.Request{Policy: "both", Attributes: map[string]string{"user": user, "tenant": tenant}})
		}
		for i := range 5 {
			calls := s.calls.Load()
			d := ask(i, "ann", "acme")
			if d.Allowed != (i < 3) || d.Degraded || i >= 3 && (d.Policy != "free" || s.calls.Load() != calls) {
				t.Errorf("check %d: %+v, %d calls", i, d, s.calls.Load()-calls)
			}
		}
		time.Sleep(time.Second)
		if both, spend := s.left(t, nodes[0], "both", "ann"), s.left(t, nodes[0], "spend", "ann"); both != 17 || spend != 997 {
			t.Errorf("%d and %d are left, want 17 and 997", both, spend)
		}
		check(t, nodes[0], policy.Request{Policy: "spend", Key: "bob", Cost: 1000})
		for i := range 3 {
			if d := ask(i, "bob", "new"); d.Allowed || d.Policy != "spend" {
				t.Errorf("check %d: %+v", i, d)
			}
		}
		time.Sleep(time.Second)
		if both, free := s.left(t, nodes[0], "both", "bob"), rest(t, nodes[0], "free", "new"); both != 20 || free != 3 {
			t.Errorf("%d and %d are left of what was not used, want 20 and 3", both, free)
		}
		s.set(lossy) // it takes, and the nodes go on by themselves
		for i := range 3 {
			if d := ask(i, "carl", "third"); !d.Allowed || !d.Degraded {
				t.Errorf("check %d: %+v", i, d)
			}
		}
		s.set(fine)
		time.Sleep(2 * time.Second)
		if both, spend := s.left(t, nodes[0], "both", "carl"), s.left(t, nodes[0], "spend", "carl"); both != 17 || spend != 997 {
			t.Errorf("%d and %d are left, want 17 and 997", both, spend)
		}
	})
}

// TestStrictShadow: a limit in shadow mode is counted in Redis, and never denies.
func TestStrictShadow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes, s := strictCluster(t, 2)
		for i := range 22 {
			d := check(t, nodes[i%2], policy.Request{Policy: "tried", Key: "ann"})
			if d.Allowed != (i < 20) || d.ShadowDenied != (i >= 10) || d.LimitName != "tried" {
				t.Errorf("check %d: %+v", i, d)
			}
		}
		s.set(gone)
		if d := check(t, nodes[0], policy.Request{Policy: "tried", Key: "bob"}); !d.Allowed || !d.Degraded {
			t.Errorf("%+v", d)
		}
	})
}

// TestStrictNeedsStore: policies that are strict are refused where there is no Redis.
func TestStrictNeedsStore(t *testing.T) {
	set, err := policy.Parse("test.yaml", []byte(strictSet))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(Config{Policies: set}); err == nil || !strings.Contains(err.Error(), "--redis") {
		t.Errorf("%v", err)
	}
	tier := "{version: 1, policies: {api: {key: [user], unlimited: true, tiers: {a: {limits: [{rate: 1/s, consistency: strict}]}}}}}"
	if set, err := policy.Parse("tier.yaml", []byte(tier)); err != nil {
		t.Error(err)
	} else if _, err := New(Config{Policies: set}); err == nil {
		t.Error("a tier that is strict is taken")
	}
	n := start(t, Config{})
	if err := n.SetPolicies(set, Source{}); err == nil {
		t.Error("they are taken")
	}
	if _, err := n.Apply(t.Context(), "test.yaml", strictSet); !errors.Is(err, policy.ErrInvalidPolicy) {
		t.Errorf("%v", err)
	}
}

// TestStrictShards: the shards of a limit admit all of it and no more, a look adds them up, and what was admitted without them is charged.
func TestStrictShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes, s := strictCluster(t, 2)
		ask := func(i int, cost int64, look bool) policy.Decision {
			t.Helper()
			return check(t, nodes[i%2], policy.Request{Policy: "split", Cost: cost, CheckOnly: look})
		}
		if d := ask(0, 1, true); !d.Allowed || d.Remaining != 900 || d.Limit != 900 {
			t.Errorf("%+v, want 900", d)
		}
		admitted := int64(0)
		for i := range 500 {
			if d := ask(i, 1, false); !d.Allowed || d.DecidedBy != policy.Redis {
				t.Fatalf("check %d: %+v", i, d)
			}
			admitted++
		}
		if d := ask(0, 1, true); d.Remaining != 400 {
			t.Errorf("after 500 of 900 a look has %+v", d)
		}
		s.set(gone)
		for i := range 10 {
			if d := ask(i, 1, false); !d.Allowed || !d.Degraded {
				t.Fatalf("check %d: %+v", i, d)
			}
			admitted++
		}
		s.set(lossy)
		for i := range 10 {
			if d := ask(i, 1, false); !d.Allowed || !d.Degraded {
				t.Fatalf("check %d: %+v", i, d)
			}
			admitted++
		}
		s.set(fine)
		time.Sleep(2 * time.Second)
		if d := ask(0, 1, true); d.Remaining != 380 {
			t.Errorf("after 520 of 900 a look has %+v", d)
		}
		for i := range 400 {
			if d := ask(i, 1, false); d.Allowed {
				admitted++
			}
		}
		if admitted != 900 {
			t.Errorf("%d admitted, want 900", admitted)
		}
		calls := s.calls.Load()
		if d := ask(0, 1, false); d.Allowed || s.calls.Load() != calls {
			t.Errorf("%+v, %d calls", d, s.calls.Load()-calls)
		}
		if d := ask(0, 500, false); d.Allowed || !d.Never {
			t.Errorf("more than a shard has: %+v", d)
		}
	})
}

// TestStrictPrefetch: nodes that fetch chunks admit all of a quota and no more, ask seldom, and give back what they don't use.
func TestStrictPrefetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes, s := strictCluster(t, 2)
		ask := func(i int, cost int64) policy.Decision {
			t.Helper()
			return check(t, nodes[i%2], policy.Request{Policy: "chunks", Key: "ann", Cost: cost})
		}
		for i := range 10 {
			if d := ask(i, 1); !d.Allowed || d.DecidedBy != policy.Redis {
				t.Fatalf("check %d: %+v", i, d)
			}
		}
		if n := s.takes.Load(); n != 2 {
			t.Errorf("%d calls for ten checks at two nodes", n)
		}
		if left := s.left(t, nodes[0], "chunks", "ann"); left != 900 {
			t.Errorf("%d are left, want 900", left)
		}
		time.Sleep(2 * time.Second)
		if left := s.left(t, nodes[0], "chunks", "ann"); left != 990 {
			t.Errorf("%d are left when the rest has come back, want 990", left)
		}
		var allowed atomic.Int64
		var callers sync.WaitGroup
		for i := range 32 {
			callers.Go(func() {
				for range 40 {
					if ask(i, 1).Allowed {
						allowed.Add(1)
					}
					time.Sleep(20 * time.Millisecond)
				}
			})
		}
		callers.Wait()
		time.Sleep(2 * time.Second)
		if left := s.left(t, nodes[0], "chunks", "ann"); allowed.Load()+left != 990 {
			t.Errorf("%d were admitted and %d are left of 990", allowed.Load(), left)
		}
		for i := range 200 {
			if ask(i, 1).Allowed {
				allowed.Add(1)
			}
		}
		if allowed.Load() != 990 {
			t.Errorf("%d admitted, want 990", allowed.Load())
		}
		if d := ask(0, 2000); !d.Never {
			t.Errorf("%+v", d)
		}
		check(t, nodes[0], policy.Request{Policy: "chunks", Key: "bob"})
		if err := nodes[0].Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		if left := s.left(t, nodes[1], "chunks", "bob"); left != 999 {
			t.Errorf("%d are left after the node has gone, want 999", left)
		}
	})
}

// TestStrictPrefetchFlows: chunks of a bucket that fills again, and what comes back of them, admit in no span more than the bucket would.
func TestStrictPrefetchFlows(t *testing.T) {
	for seed := range uint64(8) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			nodes, _ := strictCluster(t, 2)
			var times []time.Duration // at which one was admitted
			begun := time.Now()
			sleeps := []int{500, 790, 810, 860, 950, 1000, 1030, 1060, 1090, 1200, 2500}
			for i := range 60 {
				many := r.IntN(1 << r.IntN(9)) // from one to many at once
				switch i % 4 {
				case 0: // all there is, when what was fetched before is about to end
					many = 150
				case 3: // each node fetches
					many = 4
				}
				for range many {
					if check(t, nodes[r.IntN(2)], policy.Request{Policy: "flow", Key: "ann"}).Allowed {
						times = append(times, time.Since(begun))
					}
				}
				sleep := r.IntN(1 << r.IntN(12))
				if i%4 == 3 || i%4 == 2 {
					sleep = sleeps[r.IntN(len(sleeps))]
				}
				time.Sleep(time.Duration(sleep) * time.Millisecond)
			}
			if len(times) < 500 {
				t.Errorf("seed %d: only %d were admitted", seed, len(times))
			}
			for i := range times {
				for j := i; j < len(times); j++ {
					if most := 100 + int64((times[j]-times[i])/(10*time.Millisecond)) + 1; int64(j-i+1) > most {
						t.Fatalf("seed %d: %d were admitted from %v to %v, want %d at the most", seed, j-i+1, times[i], times[j], most)
					}
				}
			}
		})
	}
}

// TestStrictOnce: whatever becomes of what is asked of the store, and of its answers, in the end it has counted all that was admitted, once.
func TestStrictOnce(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				nodes, s := strictCluster(t, 3)
				var stop atomic.Bool
				var admitted [4]atomic.Int64
				var callers sync.WaitGroup
				for i := range 9 {
					callers.Go(func() {
						r := rand.New(rand.NewPCG(seed, uint64(i)))
						for !stop.Load() {
							key, cost := r.IntN(len(admitted)), 1+r.Int64N(5)
							d, err := nodes[r.IntN(3)].Check(t.Context(), policy.Request{Policy: "wide", Key: fmt.Sprint(key), Cost: cost})
							if err != nil || !d.Allowed {
								t.Errorf("%+v, %v", d, err)
							}
							admitted[key].Add(cost)
							time.Sleep(time.Duration(r.IntN(5)) * time.Millisecond)
						}
					})
				}
				r := rand.New(rand.NewPCG(seed, 99))
				for range 60 {
					s.set(fault(r.IntN(4)))
					time.Sleep(time.Duration(r.IntN(300)) * time.Millisecond)
					if r.IntN(3) == 0 {
						s.read()
					}
				}
				stop.Store(true)
				callers.Wait()
				s.read()
				time.Sleep(5 * time.Second)
				for key := range admitted {
					used := 1_000_000_000 - s.left(t, nodes[0], "wide", fmt.Sprint(key))
					if want := admitted[key].Load(); used != want {
						t.Errorf("key %d: %d admitted, %d counted", key, want, used)
					}
				}
				for _, n := range nodes {
					if st := n.Stats().Strict; st.DebtsOpen != 0 || st.Dropped != 0 {
						t.Errorf("%s: %+v", n.name, st)
					}
				}
			})
		})
	}
}
