package strict_test

import (
	"context"
	"fmt"
	"log"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/node"
	"github.com/drossel-dev/drossel/node/strict"
)

// A node whose strict limits Redis decides, and one check.
func ExampleOpen() {
	policies, err := policy.Parse("limits", []byte(`
version: 1
policies: {spend: {key: [tenant], consistency: strict, on_unreachable: deny, limits: [{quota: 1000/month}]}}
`))
	if err != nil {
		log.Fatal(err)
	}
	store, err := strict.Open(strict.Config{URLs: []string{"redis://127.0.0.1:6379"}}) // connects in the background
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close() // after the node
	limiter, err := node.New(node.Config{Policies: policies, Strict: store})
	if err != nil {
		log.Fatal(err)
	}
	if err := limiter.Start(context.Background()); err != nil {
		log.Fatal(err)
	}
	defer limiter.Close()
	d, err := limiter.Check(context.Background(), policy.Request{Policy: "spend", Key: "acme", Cost: 2000})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Allowed)
	// Output: false
}
