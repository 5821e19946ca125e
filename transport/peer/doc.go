// Package peer carries the streams of package transport over gRPC: one connection for each ordered pair of nodes, with
// one bidirectional stream for checks and one for bulk.
//
// Frames are gRPC messages as they are: a codec registered under its own content-subtype passes bytes through, so that
// protobuf services beside it are untouched. gRPC brings flow control, keepalive and orderly ends.
//
// What it does not do: encrypt (both sides only prove that they know the cluster's secret), reconnect, or look into
// frames.
package peer
