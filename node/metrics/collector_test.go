package metrics_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/bucket/table"
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
# HELP drossel_checks_decided_total Checks made at this node, by policy and by where decided.
# TYPE drossel_checks_decided_total counter
drossel_checks_decided_total{policy="(inline)",where="deny_lease"} 0
drossel_checks_decided_total{policy="(inline)",where="forwarded"} 0
drossel_checks_decided_total{policy="(inline)",where="lease"} 0
drossel_checks_decided_total{policy="(inline)",where="own"} 0
drossel_checks_decided_total{policy="(inline)",where="rule"} 0
drossel_checks_decided_total{policy="(inline)",where="sample"} 0
drossel_checks_decided_total{policy="api",where="deny_lease"} 0
drossel_checks_decided_total{policy="api",where="forwarded"} 0
drossel_checks_decided_total{policy="api",where="lease"} 0
drossel_checks_decided_total{policy="api",where="own"} 5
drossel_checks_decided_total{policy="api",where="rule"} 0
drossel_checks_decided_total{policy="api",where="sample"} 0
# HELP drossel_groups Groups of buckets in memory, by table.
# TYPE drossel_groups gauge
drossel_groups{table="local"} 0
drossel_groups{table="owned"} 1
`), "drossel_checks_total", "drossel_checks_decided_total", "drossel_groups")
	if err != nil {
		t.Error(err)
	}
}

// counted is a Source of numbers that are all different.
type counted struct{}

func (counted) Stats() node.Stats {
	return node.Stats{
		Policies: []node.PolicyStats{{
			Policy: "api", Allowed: 12, Denied: 9, Own: 1, Lease: 2, DenyLease: 3, Sample: 4, Forwarded: 5, ByRule: 6, Redis: 7, RedisDenial: 8, Prefetched: 9,
			ShadowAllowed: 82, ShadowDenied: 83,
		}},
		Purses: 7, LeaseRequestsSent: 8, LeaseRequestsReceived: 9,
		ByRule:    node.RuleStats{Local: 51, Deny: 52, Allow: 53},
		DebtsOpen: 54, DebtsSettled: 55, DebtsDropped: 56,
		OtherLimits: 90,
		Exempt:      84, NoPolicy: 85, MissingKey: 86, Edition: 87, PolicyChanges: 88, PoliciesRefused: 89,
		Ownership: node.OwnershipStats{
			Given: 61, Received: 62, Minted: 70, Blank: 7, Losses: 63, Fences: 64, Renewals: 65, Outbid: 66,
			Authority: 250 * time.Millisecond, Open: 71, Claimed: 72, Frozen: 73, Copies: 74, Uncopied: 75, Snapshots: 76,
			Lag: 1500 * time.Millisecond, SentBytes: 77, Words: 78, WordBytes: 79, Parked: 80, Short: 81,
			Transfers: node.Histogram{Count: 3, Sum: 2 * time.Second, Buckets: map[time.Duration]uint64{time.Second: 3}},
		},
		Table: table.Stats{Entries: 91, Leases: table.LeaseStats{Hot: 10, Out: 20, Lendable: 80, Burned: 30, Recalls: 40}},
	}
}

func TestCollectorOfLeases(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(metrics.NewCollector(counted{}))
	err := testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP drossel_checks_decided_total Checks made at this node, by policy and by where decided.
# TYPE drossel_checks_decided_total counter
drossel_checks_decided_total{policy="api",where="deny_lease"} 3
drossel_checks_decided_total{policy="api",where="forwarded"} 5
drossel_checks_decided_total{policy="api",where="lease"} 2
drossel_checks_decided_total{policy="api",where="own"} 1
drossel_checks_decided_total{policy="api",where="redis"} 7
drossel_checks_decided_total{policy="api",where="redis_chunk"} 9
drossel_checks_decided_total{policy="api",where="redis_denial"} 8
drossel_checks_decided_total{policy="api",where="rule"} 6
drossel_checks_decided_total{policy="api",where="sample"} 4
# HELP drossel_lease_groups_hot Owned groups that other nodes ask for often, and that are lent from.
# TYPE drossel_lease_groups_hot gauge
drossel_lease_groups_hot 10
# HELP drossel_lease_lent_ratio Tokens out on lease, as a part of those that may be; 0 if none may.
# TYPE drossel_lease_lent_ratio gauge
drossel_lease_lent_ratio 0.25
# HELP drossel_lease_purses Groups of other owners that this node has a lease or a deny lease of.
# TYPE drossel_lease_purses gauge
drossel_lease_purses 7
# HELP drossel_lease_recalls_total Times that all holders of a group were asked to give everything back.
# TYPE drossel_lease_recalls_total counter
drossel_lease_recalls_total 40
# HELP drossel_lease_requests_received_total Requests about leases that came from other nodes.
# TYPE drossel_lease_requests_received_total counter
drossel_lease_requests_received_total 9
# HELP drossel_lease_requests_sent_total Requests about leases sent to owners: first ones, renewals, returns, and repeated ones.
# TYPE drossel_lease_requests_sent_total counter
drossel_lease_requests_sent_total 8
# HELP drossel_lease_tokens_burned_total Tokens that were lent, and neither spent, as reported, nor returned.
# TYPE drossel_lease_tokens_burned_total counter
drossel_lease_tokens_burned_total 30
# HELP drossel_lease_tokens_lendable Tokens of the hot groups that may be out at a time.
# TYPE drossel_lease_tokens_lendable gauge
drossel_lease_tokens_lendable 80
# HELP drossel_lease_tokens_out Tokens of owned groups that are out on lease.
# TYPE drossel_lease_tokens_out gauge
drossel_lease_tokens_out 20
`), "drossel_checks_decided_total", "drossel_lease_groups_hot", "drossel_lease_lent_ratio", "drossel_lease_purses",
		"drossel_lease_recalls_total", "drossel_lease_requests_received_total", "drossel_lease_requests_sent_total",
		"drossel_lease_tokens_burned_total", "drossel_lease_tokens_lendable", "drossel_lease_tokens_out")
	if err != nil {
		t.Error(err)
	}
}

func TestCollectorOfOwnership(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(metrics.NewCollector(counted{}))
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]float64)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			got[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetHistogram().GetSampleSum()
		}
	}
	for name, want := range map[string]float64{
		"checks_by_rule_total local": 51, "checks_by_rule_total deny": 52, "checks_by_rule_total allow": 53,
		"shadow_checks_total api allowed": 82, "shadow_checks_total api denied": 83,
		"checks_without_limit_total exempt": 84, "checks_without_limit_total no_policy": 85, "checks_without_limit_total missing_key": 86,
		"policy_edition": 87, "policy_changes_total": 88, "policy_refused_total": 89, "checks_other_limits_total": 90, "keys_with_own_limits": 91,
		"debts_open": 54, "debts_settled_total": 55, "debts_dropped_total": 56,
		"ownership_moves_total given": 61, "ownership_moves_total received": 62,
		"ownership_mints_total copy": 63, "ownership_mints_total nothing": 7,
		"ownership_losses_confirmed_total": 63, "ownership_fences_total": 64, "ownership_renewals_total": 65,
		"ownership_outbid_total": 66, "ownership_authority_seconds": 0.25, "ownership_partitions open": 71,
		"ownership_partitions claimed": 72, "ownership_partitions frozen": 73, "ownership_partitions copy": 74,
		"replication_uncopied_partitions": 75, "replication_snapshots": 76, "replication_lag_seconds": 1.5,
		"replication_sent_bytes_total": 77, "replication_short_total": 81, "ownership_words_total": 78,
		"ownership_word_bytes_total": 79, "checks_parked": 80, "ownership_transfer_duration_seconds": 2,
	} {
		if v, there := got["drossel_"+name]; !there || v != want {
			t.Errorf("%s is %v (there: %v), want %v", name, v, there, want)
		}
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
