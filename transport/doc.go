// Package transport is what nodes say to each other: messages, their bytes, and the streams that carry them.
//
// Two nodes talk over two streams in each direction: checks, which is never held up, and bulk. Each begins with a
// handshake in which both sides show that they belong to the same cluster; after it only frames cross, each a type byte
// and a body in a compact binary form (integers as varints, everything else fixed or length-prefixed). Only durations
// cross the wire, never instants. What is said about leases may be lost or come twice; everything else comes in order
// or the stream ends.
//
// What it does not do: decide anything, retry, keep state about checks, or read what members say to each other about
// who owns what. transport/peer carries the streams over gRPC, transport/mem within one process.
package transport
