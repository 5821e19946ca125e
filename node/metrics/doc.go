// Package metrics exports what a node counts as Prometheus metrics.
//
// It is apart from package node so that embedding a node does not compile the Prometheus client. Labels come from
// configuration and from a fixed set of words, never from a request, so the number of series is known beforehand: ten
// for each policy, and some forty besides.
//
// The part of checks that were decided where they were asked is
//
//	sum(rate(drossel_checks_decided_total{where=~"own|lease|deny_lease|sample"}[1m]))
//	/ sum(rate(drossel_checks_decided_total[1m]))
//
// In decisions decided_by says owner for own and forwarded, and local for rule; the other words are the same. While
// keys are hot own, lease and deny_lease make up nearly all; drossel_lease_tokens_burned_total stands still unless
// nodes crash, and recalls are rare.
//
// What it does not do: count (package node does), or serve /metrics (transport/web does).
package metrics
