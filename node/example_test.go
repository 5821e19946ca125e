package node_test

import (
	"context"
	"fmt"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/node"
)

// A node without a gossip address is alone: a limiter in this process. With Gossip and Join it is one of a cluster.
func ExampleNode_Check() {
	ctx := context.Background()
	policies, err := policy.Parse("limits.yaml", []byte(`
version: 1
policies:
  api: {key: [user], limits: [{rate: 2/min}]}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	n, err := node.New(node.Config{Policies: policies})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := n.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	defer n.Close()
	for range 3 {
		d, err := n.Check(ctx, policy.Request{Policy: "api", Key: "ann"})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(d.Allowed, d.Remaining, d.DecidedBy)
	}
	// Output:
	// true 1 owner
	// true 0 owner
	// false 0 owner
}

// A handle skips the look-up of the policy, and a check by it allocates nothing.
func ExampleNode_Handle() {
	policies, err := policy.NewSet(policy.Policy{
		Name: "jobs", Key: []string{"tenant", "queue"},
		Limits: []policy.Limit{{Name: "burst", Limit: bucket.Limit{Burst: 10}}}, // ten in all: it has no rate
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	n, err := node.New(node.Config{Policies: policies})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	if err := n.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	defer n.Close()
	jobs, err := n.Handle("jobs")
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := jobs.Check(ctx, policy.Request{Parts: []string{"acme", "mail"}, Cost: 4})
	fmt.Println(d.Allowed, d.Remaining, d.LimitName, err)
	d, err = jobs.Check(ctx, policy.Request{Parts: []string{"acme", "mail"}, Cost: 7})
	fmt.Println(d.Allowed, d.Remaining, d.Never, err)
	// Output:
	// true 6 burst <nil>
	// false 6 true <nil>
}

// Requests of a batch that belong to the same owner travel together. One bad request does not touch the others.
func ExampleNode_CheckBatch() {
	n, err := node.New(node.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	if err := n.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	defer n.Close()
	once := &bucket.Limit{Burst: 1}
	for _, r := range n.CheckBatch(ctx, []policy.Request{
		{Policy: "mail", Key: "ann", Limit: once},
		{Policy: "mail", Key: "ann", Limit: once},
		{Policy: "nobody knows this", Key: "ann"},
	}) {
		fmt.Println(r.Decision.Allowed, r.Err)
	}
	// Output:
	// true <nil>
	// false <nil>
	// false unknown policy "nobody knows this": no policies are defined
}

// Other policies apply from the next check on. What was counted stays: lowering a limit takes effect at once, and raising it grants
// nothing.
func ExampleNode_SetPolicies() {
	ctx := context.Background()
	set := func(burst int) *policy.Set {
		s, err := policy.Parse("limits.yaml", fmt.Appendf(nil, `
version: 1
exempt: [{route: /healthz}]
policies:
  api: {when: {user: present}, key: [user], limits: [{rate: 1/h, burst: %d}]}
`, burst))
		if err != nil {
			panic(err)
		}
		return s
	}
	n, err := node.New(node.Config{Policies: set(10)})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := n.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	defer n.Close()
	ask := func(route string) { // by all policies that match
		d, err := n.Check(ctx, policy.Request{Attributes: map[string]string{"user": "ann", "route": route}})
		fmt.Println(d.Allowed, d.Remaining, d.Limit, d.DecidedBy, err)
	}
	ask("/v1/things")
	ask("/healthz")
	for _, burst := range []int{5, 100} {
		if err := n.SetPolicies(set(burst), node.Source{}); err != nil {
			fmt.Println(err)
		}
		ask("/v1/things")
	}
	// Output:
	// true 9 10 owner <nil>
	// true 0 0 exempt <nil>
	// true 4 5 owner <nil>
	// true 3 100 owner <nil>
}
