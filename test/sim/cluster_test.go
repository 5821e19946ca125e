package sim

import (
	"context"
	"fmt"
	"sync"
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

// setup says what cluster is made.
type setup struct {
	nodes    int
	policies []policy.Policy
	groups   []*group // owners and ids are found out
	// delay is how long a frame takes; nil is no time.
	delay func(from, to string) time.Duration
	// ppm are how much faster the nodes' clocks run, in millionths; nil is not at all.
	ppm      []int64
	fates    fates
	deadline time.Duration // 0 is 10 s: checks wait for their owners
	// members are what a node believes; nil is the truth.
	members func(node int, all node.Static) node.Static
}

// cluster is some nodes in one bubble of virtual time.
type cluster struct {
	t       testing.TB
	began   time.Time
	names   []string
	nodes   []*node.Node
	clocks  []*clock
	network *mem.Network
	tap     *tap
	oracle  oracle
	byID    map[bucket.ID]*group // written before there is load

	mu     sync.Mutex
	slow   bool // delays apply
	cuts   map[way]int
	silent map[int]int
}

// name is the id and the address of a node.
func name(i int) string { return fmt.Sprintf("n%d", i) }

// newCluster starts the nodes, connects them, and finds out who owns what. They end with the test, which runs in a
// bubble of testing/synctest. Delays apply from then on.
func newCluster(t testing.TB, s setup) *cluster {
	t.Helper()
	c := &cluster{
		t: t, began: time.Now(), byID: make(map[bucket.ID]*group), cuts: make(map[way]int), silent: make(map[int]int),
	}
	c.tap = &tap{cluster: c, fates: s.fates, peers: make(map[way]transport.Peer), fate: make(map[message]*fate)}
	c.network = &mem.Network{After: func(d time.Duration, f func()) { time.AfterFunc(d, f) }}
	if s.delay != nil {
		c.network.Delay = func(from, to string) time.Duration {
			if !c.isSlow() {
				return 0
			}
			return s.delay(from, to)
		}
	}
	set, err := policy.NewSet(s.policies...)
	if err != nil {
		t.Fatal(err)
	}
	var all node.Static
	for i := range s.nodes {
		all = append(all, ring.Member{ID: name(i), Boot: 1, Peer: name(i), State: ring.Active})
	}
	if s.deadline == 0 {
		s.deadline = 10 * time.Second
	}
	for i := range s.nodes {
		clock := &clock{began: c.began, offset: bucket.Instant(i) * bucket.Instant(time.Hour)}
		if s.ppm != nil {
			clock.ppm = s.ppm[i]
		}
		members := all
		if s.members != nil {
			members = s.members(i, all)
		}
		c.start(node.Config{
			Name: name(i), Policies: set, Deadline: s.deadline, Clock: clock,
			Ring: ring.Params{Partitions: 61}, // fewer are made sooner
			Connect: func(own transport.Hello, secret []byte) (node.Network, node.Membership) {
				return tapped{c.network.Node(own.ID, own, secret), c.tap, own.ID}, members
			},
		}, clock)
	}
	c.connected()
	for _, g := range s.groups {
		c.learn(g)
	}
	c.mu.Lock()
	c.slow = true
	c.mu.Unlock()
	return c
}

func (c *cluster) start(cfg node.Config, clock *clock) {
	c.t.Helper()
	n, err := node.New(cfg)
	if err == nil {
		err = n.Start(context.Background())
	}
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		if err := n.Close(); err != nil {
			c.t.Errorf("close %s: %v", cfg.Name, err)
		}
	})
	c.nodes, c.clocks, c.names = append(c.nodes, n), append(c.clocks, clock), append(c.names, cfg.Name)
}

// connected waits until all links are up. A node that started early has failed to reach the later ones, and tries
// again.
func (c *cluster) connected() {
	for _, n := range c.nodes {
		for s := n.Stats(); s.LinksUp < s.Members-1; s = n.Stats() {
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
		}
	}
}

func (c *cluster) index(name string) int {
	for i, n := range c.names {
		if n == name {
			return i
		}
	}
	c.t.Fatalf("a decision by %q, which is no node", name)
	return 0
}

// sleep lets virtual time pass.
func (c *cluster) sleep(d time.Duration) { time.Sleep(d) }

func (c *cluster) isSlow() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.slow
}
