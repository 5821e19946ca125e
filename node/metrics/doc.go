// Package metrics exports what a node counts as Prometheus metrics.
//
// It is apart from package node so that embedding a node does not compile the Prometheus client. Labels come from
// configuration and from a fixed set of words, never from a request, so the number of series is known beforehand: ten
// for each policy, 13 if it is strict, some fifty besides, and two histograms.
//
// The part of checks that were decided where they were asked is
//
//	sum(rate(drossel_checks_decided_total{where=~"own|lease|deny_lease|sample|redis_denial|redis_chunk"}[1m]))
//	/ sum(rate(drossel_checks_decided_total[1m]))
//
// In decisions decided_by says owner for own and forwarded, redis for redis_denial and redis_chunk, and local for rule; the other words are the same. While
// keys are hot own, lease and deny_lease make up nearly all; drossel_lease_tokens_burned_total stands still unless
// nodes crash, and recalls are rare.
//
// A cluster is whole while every partition is decided by somebody, and every node may decide:
//
//	sum(drossel_ownership_partitions{state="open"}) == max(drossel_ring_partitions)
//	min(drossel_ownership_authority_seconds) > 0
//
// How long callers had to do with a failure rule, and whether owners have charged for what it admitted:
//
//	sum by (rule) (rate(drossel_checks_by_rule_total[1m]))
//	sum(drossel_debts_open)
//
// What would be lost with an owner is what its copies lack. The first is a fraction of a second, and the second is 0 while
// there are two nodes or more:
//
//	max(drossel_replication_lag_seconds)
//	sum(drossel_replication_uncopied_partitions)
//
// Mints follow crashes, and those whose source is nothing mean that every copy was lost as well; moves follow joins and
// leaves. Fences, renewals and outbid stand still while nobody is cut off or paused. 99 of 100 partitions are given
// away within
//
//	histogram_quantile(0.99, sum by (le) (rate(drossel_ownership_transfer_duration_seconds_bucket[5m])))
//
// What it does not do: count (package node does), or serve /metrics (transport/web does).
package metrics
