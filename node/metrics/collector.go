package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/drossel-dev/drossel/node"
)

// Collector reads the counts of one node each time it is scraped. Register it with a registry of your own:
//
//	registry.MustRegister(metrics.NewCollector(n))
//
// Safe for concurrent use.
type Collector struct{ source Source }

// Source is the node, or what counts like one.
type Source interface{ Stats() node.Stats }

// NewCollector returns the collector of a node.
func NewCollector(s Source) *Collector { return &Collector{s} }

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("drossel_"+name, help, labels, nil)
}

var (
	checks     = desc("checks_total", "Checks made at this node, by policy and verdict.", "policy", "verdict")
	forwarded  = desc("checks_forwarded_total", "Checks made at this node that another node decided, by policy.", "policy")
	byRule     = desc("checks_degraded_total", "Checks made at this node that a failure rule decided, by policy.", "policy")
	decided    = desc("checks_decided_total", "Checks made at this node, by policy and by where decided.", "policy", "where")
	faults     = desc("forward_faults_total", "Forwarded checks that a failure rule had to decide, by cause.", "cause")
	latency    = desc("forward_duration_seconds", "How long forwarded checks took, from queueing to the answer.")
	served     = desc("checks_served_total", "Checks that came from other nodes.")
	otherRing  = desc("checks_other_ring_total", "Checks that came from nodes with another ring than this one's.")
	passed     = desc("checks_passed_total", "Checks from other nodes that were passed on, because rings differed.")
	hot        = desc("lease_groups_hot", "Owned groups that other nodes ask for often, and that are lent from.")
	tokensOut  = desc("lease_tokens_out", "Tokens of owned groups that are out on lease.")
	lendable   = desc("lease_tokens_lendable", "Tokens of the hot groups that may be out at a time.")
	lent       = desc("lease_lent_ratio", "Tokens out on lease, as a part of those that may be; 0 if none may.")
	burned     = desc("lease_tokens_burned_total", "Tokens that were lent, and neither spent, as reported, nor returned.")
	recalls    = desc("lease_recalls_total", "Times that all holders of a group were asked to give everything back.")
	asked      = desc("lease_requests_sent_total", "Requests about leases sent to owners: first ones, renewals, returns, and repeated ones.")
	answered   = desc("lease_requests_received_total", "Requests about leases that came from other nodes.")
	purses     = desc("lease_purses", "Groups of other owners that this node has a lease or a deny lease of.")
	groups     = desc("groups", "Groups of buckets in memory, by table.", "table")
	bytes      = desc("table_bytes", "Memory of the arrays of buckets, by table.", "table")
	refused    = desc("groups_refused_total", "Checks of new keys that found no memory, by table.", "table")
	limits     = desc("limits", "Different groups of limits in memory.")
	members    = desc("ring_members", "Members in the ring of this node.")
	linksUp    = desc("links_up", "Other members that are connected.")
	partitions = desc("ring_partitions", "Partitions of the ring.")
	owned      = desc("ring_partitions_owned", "Partitions that this node owns.")
	epoch      = desc("ring_epoch", "The ring's epoch, shortened to 53 bits: nodes that agree have the same.")
)

// Describe implements prometheus.Collector.
func (c *Collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{checks, forwarded, byRule, decided, faults, latency, served, otherRing, passed,
		hot, tokensOut, lendable, lent, burned, recalls, asked, answered, purses, groups, bytes, refused, limits, members,
		linksUp, partitions, owned, epoch} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	s := c.source.Stats()
	counter := func(d *prometheus.Desc, v uint64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for _, p := range s.Policies {
		counter(checks, p.Allowed, p.Policy, "allowed")
		counter(checks, p.Denied, p.Policy, "denied")
		counter(forwarded, p.Forwarded, p.Policy)
		counter(byRule, p.ByRule, p.Policy)
		counter(decided, p.Own, p.Policy, "own")
		counter(decided, p.Lease, p.Policy, "lease")
		counter(decided, p.DenyLease, p.Policy, "deny_lease")
		counter(decided, p.Sample, p.Policy, "sample")
		counter(decided, p.Forwarded, p.Policy, "forwarded")
		counter(decided, p.ByRule, p.Policy, "rule")
	}
	counter(faults, s.FaultNotOwner, "not_owner")
	counter(faults, s.FaultFull, "full")
	counter(faults, s.FaultUnreachable, "unreachable")
	counter(served, s.Served)
	counter(otherRing, s.OtherRing)
	counter(passed, s.Passed)

	buckets := make(map[float64]uint64, len(s.ForwardLatency.Buckets))
	for bound, n := range s.ForwardLatency.Buckets {
		buckets[bound.Seconds()] = n
	}
	out <- prometheus.MustNewConstHistogram(latency, s.ForwardLatency.Count, s.ForwardLatency.Sum.Seconds(), buckets)

	l := s.Table.Leases
	gauge(hot, float64(l.Hot))
	gauge(tokensOut, float64(l.Out))
	gauge(lendable, float64(l.Lendable))
	gauge(lent, float64(l.Out)/float64(max(l.Lendable, 1)))
	counter(burned, uint64(l.Burned))
	counter(recalls, uint64(l.Recalls))
	counter(asked, s.LeaseRequestsSent)
	counter(answered, s.LeaseRequestsReceived)
	gauge(purses, float64(s.Purses))

	gauge(groups, float64(s.Table.Groups), "owned")
	gauge(groups, float64(s.LocalTable.Groups), "local")
	gauge(bytes, float64(s.Table.Bytes), "owned")
	gauge(bytes, float64(s.LocalTable.Bytes), "local")
	counter(refused, s.Table.Refused, "owned")
	counter(refused, s.LocalTable.Refused, "local")
	gauge(limits, float64(s.Limits))
	gauge(members, float64(s.Members))
	gauge(linksUp, float64(s.LinksUp))
	gauge(partitions, float64(s.Partitions))
	gauge(owned, float64(s.OwnedPartitions))
	gauge(epoch, float64(s.Epoch>>11))
}
