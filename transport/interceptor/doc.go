// Package interceptor limits a gRPC server.
//
// Each call is checked before its handler sees it, under a key, by default the caller's address, or by all policies that match what is known
// about it; a stream when it opens, and if wanted again for every message that it receives. What a pacer admits later waits for its turn. A
// denial is RESOURCE_EXHAUSTED with RetryInfo, which well-behaved clients wait by, and QuotaFailure, which names the limit. How the limit
// stands goes into the header metadata of both.
//
// It does not decide anything: it asks a Checker, such as a node, and says what that said. It does not know who calls either: take a key
// that somebody has checked.
package interceptor
