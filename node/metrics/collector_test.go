package metrics_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/node"
	"github.com/drossel-dev/drossel/node/metrics"
)

func start(t *testing.T) *node.Node {
	t.Helper()
	set, err := policy.Parse("test.yaml", []byte("{version: 1, policies: {api: {key: [user], limits: [{rate: 2/h}]}}}"))
	if err != nil {
		t.Fatal(err)
	}
	n, err := node.New(node.Config{Policies: set})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	return n
}

func TestCollector(t *testing.T) {
	n := start(t)
	for range 5 {
		if _, err := n.Check(context.Background(), policy.Request{Policy: "api", Key: "ann"}); err != nil {
			t.Fatal(err)
		}
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(metrics.NewCollector(n))
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	err := testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP drossel_checks_total Checks made at this node, by policy and verdict.
# TYPE drossel_checks_total counter
drossel_checks_total{policy="(inline)",verdict="allowed"} 0
drossel_checks_total{policy="(inline)",verdict="denied"} 0
drossel_checks_total{policy="api",verdict="allowed"} 2
drossel_checks_total{policy="api",verdict="denied"} 3
# HELP drossel_groups Groups of buckets in memory, by table.
# TYPE drossel_groups gauge
drossel_groups{table="local"} 0
drossel_groups{table="owned"} 1
`), "drossel_checks_total", "drossel_groups")
	if err != nil {
		t.Error(err)
	}
}

// TestC139 has very many users and policy names in requests, and no more series for it.
func TestC139(t *testing.T) {
	n := start(t)
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics.NewCollector(n))
	before, err := testutil.GatherAndCount(registry)
	if err != nil {
		t.Fatal(err)
	}
	limit := bucket.Limit{Burst: 1}
	for i := range 100_000 {
		user := fmt.Sprint("user-", i)
		if _, err := n.Check(context.Background(), policy.Request{Policy: "api", Key: user}); err != nil {
			t.Fatal(err)
		}
		if i%100 == 0 {
			if _, err := n.Check(context.Background(), policy.Request{Policy: user, Key: user, Limit: &limit}); err != nil {
				t.Fatal(err)
			}
		}
	}
	after, err := testutil.GatherAndCount(registry)
	if err != nil || after != before {
		t.Errorf("%d series before, %d after 100,000 users; %v", before, after, err)
	}
}
