// Package e2e tests the drossel command as its users run it: the built binary, real processes on loopback, their flags,
// files, exit codes and texts, and what a cluster of them answers over HTTP and gRPC while members come, go and die.
//
// The binary is built once for a run, with the race detector if the tests have it. Every process listens on free ports
// and is ended by its own handle. Tests wait for conditions; what takes time is printed, not asserted.
//
// It does not test packages by themselves, nor machines apart from each other, and nothing imports it.
package e2e
