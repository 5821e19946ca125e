// Package gossip finds out who is alive, as a stream of member lists.
//
// It wraps hashicorp/memberlist: nodes ping each other over UDP and TCP and pass on what they hear, so a crash is seen
// by everybody in 3 to 6 seconds, a join or a leave in well under one. Each process takes part under a name of its own,
// its id and boot together, so a restarted node never waits for its former self to be forgotten; the newest boot of an
// id is the member.
//
//	Start ──> Join, repeated for ever ──> Leave ──> Close
//	            SetState, Members, Changes            (a crash is a Close without a Leave)
//
// Nodes of another cluster label, another secret or other ring parameters refuse each other, with both values named.
//
// What it does not do: it carries liveness and one small record per node, no data. Being alive is not being well: a
// process whose service hangs still answers pings. And it agrees on nothing: nodes see changes at different times, in
// different orders, and on both sides of a cut.
package gossip
