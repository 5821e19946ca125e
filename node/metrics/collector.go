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

// Collect implements prometheus.Collector.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	s := c.source.Stats()
	counter := func(d *prometheus.Desc, v uint64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	histogram := func(d *prometheus.Desc, h node.Histogram) {
		buckets := make(map[float64]uint64, len(h.Buckets))
		for bound, n := range h.Buckets {
			buckets[bound.Seconds()] = n
		}
		out <- prometheus.MustNewConstHistogram(d, h.Count, h.Sum.Seconds(), buckets)
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
		if p.Redis+p.RedisDenial+p.Prefetched > 0 {
			counter(decided, p.Redis, p.Policy, "redis")
			counter(decided, p.RedisDenial, p.Policy, "redis_denial")
			counter(decided, p.Prefetched, p.Policy, "redis_chunk")
		}
		if p.ShadowAllowed+p.ShadowDenied > 0 {
			counter(shadow, p.ShadowAllowed, p.Policy, "allowed")
			counter(shadow, p.ShadowDenied, p.Policy, "denied")
		}
	}
	counter(unlimited, s.Exempt, "exempt")
	counter(unlimited, s.NoPolicy, "no_policy")
	counter(unlimited, s.MissingKey, "missing_key")
	gauge(edition, float64(s.Edition))
	counter(changes, s.PolicyChanges)
	counter(wrong, s.PoliciesRefused)
	counter(ruled, s.ByRule.Local, "local")
	counter(ruled, s.ByRule.Deny, "deny")
	counter(ruled, s.ByRule.Allow, "allow")
	counter(faults, s.FaultNotOwner, "not_owner")
	counter(faults, s.FaultFull, "full")
	counter(faults, s.FaultUnreachable, "unreachable")
	counter(served, s.Served)
	counter(otherRing, s.OtherRing)
	counter(passed, s.Passed)

	histogram(latency, s.ForwardLatency)

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

	gauge(debts, float64(s.DebtsOpen))
	counter(settled, s.DebtsSettled)
	counter(dropped, s.DebtsDropped)
	gauge(storeDebts, float64(s.Strict.DebtsOpen))
	counter(storeSettled, s.Strict.Settled)
	counter(storeDropped, s.Strict.Dropped)
	counter(savedBytes, s.Durable.SavedBytes)
	counter(unsaved, s.Durable.Unsaved)
	counter(restored, s.Durable.Restored)

	o := s.Ownership
	counter(moves, o.Given, "given")
	counter(moves, o.Received, "received")
	counter(mints, o.Minted-o.Blank, "copy")
	counter(mints, o.Blank, "nothing")
	counter(losses, o.Losses)
	counter(fences, o.Fences)
	counter(renewals, o.Renewals)
	counter(outbid, o.Outbid)
	gauge(authority, o.Authority.Seconds())
	gauge(states, float64(o.Open), "open")
	gauge(states, float64(o.Claimed), "claimed")
	gauge(states, float64(o.Frozen), "frozen")
	gauge(states, float64(o.Copies), "copy")
	gauge(uncopied, float64(o.Uncopied))
	gauge(snapshots, float64(o.Snapshots))
	gauge(lag, o.Lag.Seconds())
	counter(sent, o.SentBytes)
	counter(short, o.Short)
	histogram(transfers, o.Transfers)
	counter(words, o.Words)
	counter(wordBytes, o.WordBytes)
	gauge(parked, float64(o.Parked))

	gauge(groups, float64(s.Table.Groups), "owned")
	gauge(groups, float64(s.LocalTable.Groups), "local")
	gauge(bytes, float64(s.Table.Bytes), "owned")
	gauge(bytes, float64(s.LocalTable.Bytes), "local")
	counter(refused, s.Table.Refused, "owned")
	counter(refused, s.LocalTable.Refused, "local")
	gauge(limits, float64(s.Limits))
	gauge(keyLimits, float64(s.Table.Entries))
	counter(otherLimits, s.OtherLimits)
	gauge(members, float64(s.Members))
	gauge(linksUp, float64(s.LinksUp))
	gauge(partitions, float64(s.Partitions))
	gauge(owned, float64(s.OwnedPartitions))
	gauge(epoch, float64(s.Epoch>>11))
}
