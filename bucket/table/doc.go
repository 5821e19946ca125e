// Package table holds very many groups of buckets in plain memory.
//
// A group is all limits of one policy on one key: its states lie side by side in one slot and are taken together, all
// or none. Slots stand in open-addressed arrays of machine words, one array per partition and group size, so the
// garbage collector has nothing to walk, growing stops one partition for microseconds, and a partition can be moved
// whole. The limits themselves are interned: a slot names them by a 32-bit index.
//
// A group whose buckets are all full is no different from one that was never seen; sweeping removes such groups, and
// nothing else ever is. When the memory bound is reached a new key is refused rather than an exhausted one forgotten.
//
// A group that other nodes ask for often is hot: it has a lender (bucket/lease), and all takes go through that.
//
// A partition can be closed, and is then only kept: to be handed over, or as a copy of one that another node decides.
// Export writes groups down and Import reads them, leases and all; Track and Changed say which have changed since;
// TakenOver goes on from a copy when the owner was lost; Move gives a partition to another table of this node.
//
// What it does not do: hash keys, know who owns a partition or how it gets from node to node, or read a clock (instants
// are arguments).
package table
