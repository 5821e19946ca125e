package envoyimport_test

import (
	"fmt"

	"github.com/drossel-dev/drossel/cmd/internal/envoyimport"
)

func ExampleImport() {
	res, err := envoyimport.Import([]envoyimport.File{{Name: "config.yaml", Text: []byte(`
domain: edge
descriptors:
  - key: user
    detailed_metric: true
    rate_limit: {unit: minute, requests_per_unit: 10}
`)}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(res.Policies))
	fmt.Println(res.Notes[0])
	// Output:
	// # Policies for what Envoy sends, imported from config.yaml.
	// # Each is one rule of Envoy's rate limit service, and is for descriptors of just its entries.
	// # If the values of a key are secrets, say so: attributes: {api_key: {hash: true}}
	// version: 1
	// policies:
	//   # config.yaml:4
	//   edge.user:
	//     when: {domain: [edge], descriptor: [user]}
	//     key: [user]
	//     limits: [{algorithm: fixed_window, rate: 10/min}]
	// config.yaml:5: detailed_metric: metrics here have the names of policies, and never what clients send: leave it out, or write a descriptor for each value to watch
}
