// Package etcd watches a text of policies in a key of etcd.
//
// It reads the key, and watches it from there on. A watch may die without a word, and the client of etcd goes on trying in
// silence when all servers are gone; so every 10 s the key is asked for as well, which shows that etcd is there, and
// whether the watch has missed something. If anything is wrong it begins anew, with a read: after compaction too, when
// etcd has forgotten what the watch would go on from.
//
//	connect ──> read ──> watch, and ask every 10 s ──> read ...   the watch has ended
//	   └──────────┴───────────────────┴──> wait ──> connect ...   etcd cannot be asked
//
// It is apart from the other sources so that only who imports it compiles the client of etcd.
//
// What it does not do: it does not write to etcd, and does not look for its members: it asks those it is given.
package etcd
