package metrics_test

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/node/metrics"
	"github.com/drossel-dev/drossel/transport/door"
)

func TestDoors(t *testing.T) {
	doors := metrics.Doors{door.GRPC: new(door.Counts), door.Envoy: new(door.Counts)}
	n := start(t)
	doors[door.Envoy].Of(n).Check(t.Context(), policy.Request{Policy: "nobody's"})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(doors, metrics.NewCollector(n))
	want := `
# HELP drossel_door_checks_total Checks asked from outside, by door and by verdict: allowed, denied, or failed without one.
# TYPE drossel_door_checks_total counter
drossel_door_checks_total{door="envoy",verdict="allowed"} 0
drossel_door_checks_total{door="envoy",verdict="denied"} 0
drossel_door_checks_total{door="envoy",verdict="failed"} 1
drossel_door_checks_total{door="grpc",verdict="allowed"} 0
drossel_door_checks_total{door="grpc",verdict="denied"} 0
drossel_door_checks_total{door="grpc",verdict="failed"} 0
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "drossel_door_checks_total"); err != nil {
		t.Error(err)
	}
}
