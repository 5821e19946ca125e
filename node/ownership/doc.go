// Package ownership decides who decides: which member of a cluster holds which partition, and how that changes when
// members come, go, die, or lose each other.
//
// A Machine is one node's part in it, as a pure step machine: messages, the time and what the node has done go in;
// messages to send and Acts to carry out come out. It knows no clock, no network and no bucket, so that thousands of
// clusters with every kind of fault can be run in a test. The rules and the reasons for them stand in DESIGN.md.
//
// What it does not do: find other nodes (ring/gossip tells it whom there is), compute placement (it is handed a
// function), keep or copy the state of a key (bucket/table, and the node that carries out its Acts).
//
// A Machine is not safe for concurrent use.
package ownership
