// Package ring places partitions on members: from a list of members to one owner for every partition, and to the
// successor that takes over if the owner is lost.
//
// Placement is a pure function of the members' ids and the parameters, so nodes that hold the same list agree without a
// word. A Builder computes it, a Ring is one immutable result. How well it balances and how little it moves is measured
// in DESIGN.md.
//
// What it does not do: find members (ring/gossip), decide who may answer for a partition (the ring says only who
// should), or keep the state of a key (bucket/table).
package ring
