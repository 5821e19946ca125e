// Package bucket is the arithmetic of one limit: an exact token bucket, refilled when it is looked at.
//
// Everything here is pure. The instant is an argument, integers decide, and no goroutine, clock or lock is involved, so
// each rule can be read as a table of instants. Rates reach from one token in years to a billion a second, costs and
// bursts to 2^53; nothing drifts, overflows or rounds in the caller's favour.
//
// What it does not do: find the bucket of a key (bucket/table), name limits (bucket/policy), or know of other nodes.
package bucket
