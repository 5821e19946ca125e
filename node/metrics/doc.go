// Package metrics exports what a node counts as Prometheus metrics.
//
// It is apart from package node so that embedding a node does not compile the Prometheus client. Labels come from
// configuration and from a fixed set of words, never from a request, so the number of series is known beforehand: four
// for each policy, and some thirty besides.
//
// What it does not do: count (package node does), or serve /metrics (transport/web does).
package metrics
