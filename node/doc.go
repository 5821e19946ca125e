// Package node is one member of a cluster that limits rates together, embedded in a service or run as a daemon.
//
// A node answers checks. It knows the policies, hashes a key to its partition, and asks the ring who owns that: if it
// does itself, the bucket in its own memory decides; else tokens that the owner has lent this node, or its word that
// there are none; else the check goes to the owner, in one frame with whatever else waits for the same peer. When the
// owner does not answer within the deadline, the node decides by the failure rule. check.go reads in that order.
//
//	New -> Start -> (Check, CheckBatch ...) -> Leave -> Close
//
// New validates and starts nothing. Start returns when the node takes checks. Leave tells the others to go on without
// this node, and may be left out. Close ends everything; after it a node is of no further use. Checks before Start and
// after Close return an error that wraps policy.ErrUnavailable.
//
// Of the packages that decide this one alone has a clock and goroutines. Each goroutine is started by Start and ends with Close.
//
// What it does not do: speak to callers over a network (transport/api, transport/web), read files or environment (cmd),
// or export metrics (node/metrics).
package node
