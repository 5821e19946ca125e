package node

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/ring"
	"github.com/drossel-dev/drossel/transport"
	"github.com/drossel-dev/drossel/transport/mem"
)

// memberlist ends a probe that is under way when it is shut down by itself, after its timeout.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/hashicorp/memberlist.(*Memberlist).probeNode"))
}

// policies are those of most tests: "api" by user, 10 an hour; "tenant" by two attributes, two limits.
func policies(t testing.TB) *policy.Set {
	t.Helper()
	set, err := policy.Parse("test.yaml", []byte(`
version: 1
policies:
  api: {key: [user], limits: [{rate: 10/h}]}
  tenant: {key: [tenant, model], limits: [{name: burst, rate: 5/s}, {name: day, rate: 8/d}]}
  all: {key: [], limits: [{rate: 3/h}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// start starts a node and ends it with the test.
func start(t testing.TB, cfg Config) *Node {
	t.Helper()
	n, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Errorf("close %s: %v", n.Name(), err)
		}
	})
	return n
}

// cluster starts nodes that know each other, in memory. Each change to the configuration is made for all.
func cluster(t testing.TB, network *mem.Network, size int, change func(i int, c *Config)) []*Node {
	t.Helper()
	var members Static
	for i := range size {
		name := fmt.Sprintf("n%d", i+1)
		members = append(members, ring.Member{ID: name, Boot: 1, Peer: name, State: ring.Active})
	}
	nodes := make([]*Node, size)
	for i := range nodes {
		cfg := Config{
			Name: members[i].ID, Policies: policies(t), Deadline: time.Minute,
			Connect: func(own transport.Hello, secret []byte) (Network, Membership) {
				return network.Node(own.ID, own, secret), members
			},
		}
		if change != nil {
			change(i, &cfg)
		}
		nodes[i] = start(t, cfg)
	}
	settled(t, nodes)
	return nodes
}

type fixedClock bucket.Instant

func (c *fixedClock) Now() bucket.Instant { return bucket.Instant(*c) }

func TestAlone(t *testing.T) {
	n := start(t, Config{Policies: policies(t)})
	for i := range 12 {
		d, err := n.Check(context.Background(), policy.Request{Policy: "api", Key: "ann"})
		if err != nil {
			t.Fatal(err)
		}
		if d.Allowed != (i < 10) || d.DecidedBy != policy.Owner || d.Degraded || d.Node != "alone" {
			t.Fatalf("check %d: %+v", i, d)
		}
	}
}

func TestThreeNodesAreOneBucket(t *testing.T) {
	nodes := cluster(t, new(mem.Network), 3, nil)
	ctx := context.Background()
	for key := range 60 {
		allowed := 0
		for i := range 30 {
			d, err := nodes[i%3].Check(ctx, policy.Request{Policy: "api", Key: fmt.Sprint(key)})
			if err != nil {
				t.Fatal(err)
			}
			if d.Degraded {
				t.Fatalf("key %d, check %d: %+v", key, i, d)
			}
			if d.Allowed {
				allowed++
			}
		}
		if allowed != 10 {
			t.Fatalf("key %d: %d allowed by three nodes, want 10", key, allowed)
		}
	}
	for _, n := range nodes {
		s := n.Stats()
		p := s.Policies[1]
		if p.Policy != "api" || p.Allowed+p.Denied != 600 || p.Forwarded == 0 || p.Forwarded == 600 || p.ByRule != 0 {
			t.Errorf("%s: %+v", n.Name(), p)
		}
	}
}

// planOf returns the limits of a policy as a node applies them to nearly every request.
func planOf(t testing.TB, n *Node, name string) *plan {
	t.Helper()
	r, err := n.book.Load().rule(name)
	if err != nil {
		t.Fatal(err)
	}
	return r.plans[0].real
}
