package node

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/ring"
	"github.com/drossel-dev/drossel/transport"
	"github.com/drossel-dev/drossel/transport/mem"
)

func TestLifecycle(t *testing.T) {
	n, err := New(Config{Policies: policies(t)})
	if err != nil {
		t.Fatal(err)
	}
	unavailable := func(when string) {
		t.Helper()
		if _, err := n.Check(ctx, policy.Request{Policy: "all"}); !errors.Is(err, policy.ErrUnavailable) {
			t.Errorf("%s: %v", when, err)
		}
		if r := n.CheckBatch(ctx, make([]policy.Request, 2)); !errors.Is(r[1].Err, policy.ErrUnavailable) {
			t.Errorf("%s, batch: %v", when, r[1].Err)
		}
		if n.Ready() == nil {
			t.Errorf("%s: ready", when)
		}
	}
	unavailable("before Start")
	if err := n.Leave(ctx); err != nil {
		t.Errorf("Leave before Start: %v", err)
	}
	if err := n.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if err := n.Start(ctx); err == nil {
		t.Error("started twice")
	}
	if n.Ready() != nil {
		t.Error(n.Ready())
	}
	check(t, n, policy.Request{Policy: "all"})
	for range 2 {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}
	unavailable("after Close")
	if err := n.Start(ctx); err == nil {
		t.Error("started after Close")
	}
}

func TestPortInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	for _, cfg := range []Config{
		{Name: "n", Gossip: "127.0.0.1:0", Peer: taken.Addr().String()},
		{Name: "n", Gossip: taken.Addr().String(), Peer: "127.0.0.1:0"},
	} {
		n, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Start(ctx); err == nil || !strings.Contains(err.Error(), taken.Addr().String()) {
			t.Errorf("start on a port in use: %v", err)
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}
	taken.Close()
}

func TestConfigSaysAllThatIsWrong(t *testing.T) {
	_, err := New(Config{
		Name: strings.Repeat("x", 300), Gossip: "0.0.0.0:7946", Peer: "nonsense", Secret: nil, TableBytes: 1,
		Deadline: -1, Ring: ring.Params{Load: 0.5},
	})
	if !errors.Is(err, ErrConfig) {
		t.Fatal(err)
	}
	for _, want := range []string{"Name has 300 bytes", "--secret-file", "--insecure", `Peer (--peer): is "nonsense"`, "Deadline is -1ns", "Load is 0.5"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not say %q", err, want)
		}
	}
	if _, err := New(Config{Join: []string{"127.0.0.1:1"}, Secret: []byte("short")}); !errors.Is(err, ErrConfig) ||
		!strings.Contains(err.Error(), "Join needs Gossip") || !strings.Contains(err.Error(), "Secret has 5 bytes") {
		t.Error(err)
	}
}

func TestOffLoopback(t *testing.T) {
	for addr, want := range map[string]bool{"127.0.0.1:1": false, "127.9.9.9:0": false, "[::1]:1": false, "localhost:1": false,
		":1": true, "0.0.0.0:1": true, "[::]:1": true, "10.0.0.1:1": true, "example.org:1": true, "junk": true} {
		if got := OffLoopback(addr); got != want {
			t.Errorf("OffLoopback(%q) = %v", addr, got)
		}
	}
}

// TestLeave stops one of three nodes politely under load: every check is decided by an owner all the while, and the
// others take its keys.
func TestLeave(t *testing.T) {
	nodes := realCluster(t, 3, nil)
	var stop atomic.Bool
	var asked, degraded atomic.Int64
	var callers sync.WaitGroup
	for _, n := range nodes[:2] {
		for c := range 2 {
			callers.Go(func() {
				for i := 0; !stop.Load(); i++ {
					d, err := n.Check(ctx, policy.Request{Policy: "api", Key: fmt.Sprint(c, i%500)})
					if err != nil {
						t.Error(err)
						return
					}
					asked.Add(1)
					if d.Degraded {
						degraded.Add(1)
					}
				}
			})
		}
	}
	begun := time.Now()
	if err := nodes[2].Leave(ctx); err != nil {
		t.Error(err)
	}
	t.Logf("Leave took %v", time.Since(begun))
	settled(t, nodes[:2])
	if err := nodes[2].Close(); err != nil {
		t.Error(err)
	}
	stop.Store(true)
	callers.Wait()
	if degraded.Load() > 0 {
		t.Errorf("%d of %d checks were degraded while a node left", degraded.Load(), asked.Load())
	}
	for i := range 100 {
		if d := check(t, nodes[0], policy.Request{Policy: "api", Key: fmt.Sprint("after", i)}); d.Node == "n3" || d.Degraded {
			t.Errorf("%+v", d)
		}
	}
}

// TestSeedThatComesLater starts a node whose seed is not there yet: it serves as a guest of one, by a share that is the
// whole, and joins when the seed comes up.
func TestSeedThatComesLater(t *testing.T) {
	l, err := net.Listen("tcp", "127.77.0.1:0") // an address where nothing else takes the port in between
	if err != nil {
		t.Fatal(err)
	}
	seed := l.Addr().String()
	l.Close()
	a := start(t, Config{Name: "a", Gossip: "127.0.0.1:0", Join: []string{seed}, Policies: policies(t), JoinTimeout: 50 * time.Millisecond})
	if d := check(t, a, policy.Request{Policy: "api", Key: "ann"}); !d.Allowed || !d.Degraded || d.Remaining != 9 {
		t.Fatalf("alone: %+v", d)
	}
	b := start(t, Config{Name: "b", Gossip: seed, Peer: "127.77.0.1:0", Policies: policies(t)})
	settled(t, []*Node{a, b})
}

// TestStrangers has nodes of another label, secret or ring dial each other: they are refused, and both sides are named.
func TestStrangers(t *testing.T) {
	members := Static{{ID: "a", Boot: 1, Peer: "a", State: ring.Active}, {ID: "b", Boot: 1, Peer: "b", State: ring.Active}}
	for name, c := range map[string]struct {
		change func(*Config)
		want   []string
	}{
		"label":  {func(c *Config) { c.Label = "staging" }, []string{`"drossel"`, `"staging"`}},
		"secret": {func(c *Config) { c.Secret = []byte("0123456789abcdef") }, []string{"secret=", "a has", "b has"}},
		"ring":   {func(c *Config) { c.Ring.Partitions = 271 }, []string{"partitions=1021", "partitions=271"}},
	} {
		t.Run(name, func(t *testing.T) {
			network := new(mem.Network)
			cfg := Config{Policies: policies(t), Connect: func(own transport.Hello, secret []byte) (Network, Membership) {
				return network.Node(own.ID, own, secret), members
			}}
			cfg.Name = "b"
			b := cfg
			c.change(&b)
			start(t, b)
			cfg.Name = "a"
			a := start(t, cfg)
			var said string
			waitFor(t, "b to be refused", func() bool {
				said = a.Members(ctx)[1].Error
				return strings.Contains(said, transport.ErrRefused.Error())
			})
			for _, want := range c.want {
				if !strings.Contains(said, want) {
					t.Errorf("%q does not say %q", said, want)
				}
			}
			if d := check(t, a, policy.Request{Policy: "all"}); !d.Allowed {
				t.Errorf("%+v", d)
			}
		})
	}
}

// TestC28 is a machine that sleeps: what came in meanwhile counts, though the monotonic clock stood still.
func TestC28(t *testing.T) {
	c := newMachineClock()
	l := bucket.Limit{Count: 5, Per: time.Hour, Burst: 5}
	s := bucket.Full(&l, c.Now())
	s.Take(&l, c.Now(), 5)
	if s.Take(&l, c.Now(), 1).Allowed {
		t.Fatal("a sixth of five")
	}
	c.asleep = func() (time.Duration, bool) { return c.before + 10*time.Hour, true }
	c.watchSleep()
	if d := s.Take(&l, c.Now(), 1); !d.Allowed || d.Remaining != 4 {
		t.Fatalf("after ten hours asleep: %+v", d)
	}
	for _, reading := range []func() (time.Duration, bool){ // readings that can't be take nothing back
		func() (time.Duration, bool) { return 0, true }, func() (time.Duration, bool) { return 0, false },
	} {
		c.asleep = reading
		c.watchSleep()
		if got := time.Duration(c.slept.Load()); got != 10*time.Hour {
			t.Fatalf("asleep for %v, want 10h", got)
		}
	}
	if slept, ok := asleep(); ok && slept < 0 {
		t.Fatalf("the machine slept %v", slept)
	}
}

// TestChurn has nodes come and go under load: no check fails, no goroutine or check is left behind.
func TestChurn(t *testing.T) {
	nodes := realCluster(t, 2, func(_ int, c *Config) { c.Deadline, c.Forget = 0, time.Second })
	var stop atomic.Bool
	var callers sync.WaitGroup
	for _, n := range nodes {
		for c := range 3 {
			callers.Go(func() {
				for i := 0; !stop.Load(); i++ {
					if _, err := n.Check(ctx, policy.Request{Policy: "api", Key: fmt.Sprint(c, i%100)}); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	for i := range 3 {
		n, err := New(Config{Name: fmt.Sprint("guest", i), Gossip: "127.0.0.1:0", Join: []string{nodes[0].GossipAddr()}, Policies: policies(t)})
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Start(ctx); err != nil {
			t.Fatal(err)
		}
		settled(t, append(nodes[:2:2], n))
		if i%2 == 0 {
			if err := n.Leave(ctx); err != nil {
				t.Error(err)
			}
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}
	settled(t, nodes)
	stop.Store(true)
	callers.Wait()
	for _, n := range nodes {
		waitFor(t, "all checks to be done", func() bool { return n.waiting.Load() == 0 })
	}
}

// TestLastToLeave has a node leave that is the last: nobody takes its keys, so it keeps them, and they are not
// refilled.
func TestLastToLeave(t *testing.T) {
	n := start(t, Config{Policies: policies(t)})
	check(t, n, policy.Request{Policy: "all", Cost: 3})
	if err := n.Leave(ctx); err != nil {
		t.Fatal(err)
	}
	if d := check(t, n, policy.Request{Policy: "all"}); d.Allowed || d.Degraded {
		t.Errorf("%+v", d)
	}
}
