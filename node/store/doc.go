// Package store keeps on disk what has to outlive a node: the editions of policies that were applied.
//
// It is one bbolt file, drossel.db, in the data directory of the node, which nobody else may use meanwhile. What is kept is on the disk
// when KeepEdition returns.
//
// What it does not do: decide which edition applies (node), or keep buckets.
package store
