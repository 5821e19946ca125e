// Package bucket is the arithmetic of limits: token buckets, pacers, sliding, fixed, first-hit and calendar windows, and groups of
// them that are taken from all together or not at all. All are exact but for large sliding windows, whose error is stated.
//
// Everything here is pure. The instant is an argument, and what the wall clock is ahead of it; integers decide, and no goroutine,
// clock or lock is involved, so each rule can be read as a table of instants. Rates reach from one token in years to a billion a
// second, costs and bursts to 2^53; nothing drifts, overflows or rounds in the caller's favour.
//
// A State is a bucket by itself: a token bucket has methods of its own, and everything else is asked as a Group. How each algorithm
// uses the three words of a State stands where it is: state.go, pacer.go, log.go (sliding windows up to MaxLogged), sliding.go (larger
// ones) and counted.go (the other windows).
//
// What it does not do: find the bucket of a key (bucket/table), name limits (bucket/policy), or know of other nodes.
package bucket
