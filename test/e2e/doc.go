// Package e2e tests the drossel command as its users run it: the built binary, real processes, their flags, files, exit
// codes and texts, and what a cluster of them answers over HTTP and gRPC while members come, go, die, stop for a while
// and are cut off from each other. What clients were admitted is held against what is promised.
//
// The binary is built once for a run, with the race detector if the tests have it, and once without it for the tests
// that need nodes to be as fast as they are. Every process listens on free ports and is ended by its own handle. Machines
// that are apart are network namespaces, which only root can make; the tests that need them are skipped otherwise. Tests
// wait for conditions; what takes time is printed, and at most held to ten times what it should be. The flags -hot and
// -long make some of them shorter or longer; with -soak, which test/soak gives, one fault is made after the other for so long.
//
// It does not test packages by themselves, and nothing imports it.
package e2e
