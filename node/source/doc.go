// Package source says where a text of policies comes from, and how it is watched: a file (node/source/file), a key in
// etcd (node/source/etcd) or a key in Consul (node/source/consul).
//
// A Source reports what is there, then each change, and what is in the way while something is. It never gives up. What
// every source needs is here as well, for those who write one of their own: a Reporter, which tells each text and each
// trouble once, and a Backoff, which spaces the tries.
//
// What it does not do: it does not look into a text (bucket/policy does), and does not decide what becomes of it. Whoever
// watches goes on with the last text that was good.
package source
