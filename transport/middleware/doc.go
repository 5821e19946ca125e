// Package middleware limits an http.Handler.
//
// Each request is checked under a key, by default the client's address, or by all policies that match what is known about it. What is
// allowed goes on to the next handler with its ResponseWriter untouched, so that streaming and hijacking work, at once or when a pacer says
// that it is its turn; what is denied is answered 429 with Retry-After and a problem body. Both carry rate limit fields, in the styles of
// Options.Headers.
//
// It does not decide anything: it asks a Checker, such as a node, and says what that said.
package middleware
