// Package store keeps on disk what has to outlive a node: its name and who its members were, the editions of policies that were applied,
// limits of single keys, and, for when all nodes end at once, what was taken of durable limits.
//
// It is one bbolt file, drossel.db, and journals of groups beside it, in the data directory of the node, which nobody else may use meanwhile.
// What is kept is on the disk when the method returns. A file that can't be read is moved aside, and what can be read of it stays.
//
// What it does not do: decide which edition applies, what is written when, or what a group on disk is worth (all that is node's).
package store
