package metrics_test

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/drossel-dev/drossel/node"
	"github.com/drossel-dev/drossel/node/metrics"
)

func ExampleNewCollector() {
	n, err := node.New(node.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics.NewCollector(n))
	families, err := registry.Gather()
	fmt.Println(len(families), "metrics,", err)
	// Output: 60 metrics, <nil>
}
