// Package mem carries the streams of package transport within one process, for tests and for replaying logs: the same
// handshake and the same frames, over queues instead of sockets.
//
// A Network is a set of places by address. What befalls streams on a real network can befall them here: frames take
// time, a direction is cut and its frames wait until it heals, a connection breaks. Frames are never lost within a
// stream, reordered or doubled, as TCP never does.
//
// What it does not do: read a clock. Delays are set off by a function that the caller hands in.
package mem
