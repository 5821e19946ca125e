// Package pace is the client's side of rate limits: an http.RoundTripper and gRPC interceptors that send no more than they may.
//
// They obey a server that has said when to come back, by Retry-After of 429 and 503, or RetryInfo of RESOURCE_EXHAUSTED and UNAVAILABLE: until
// then nothing more goes to that place, from any goroutine. They ask a limiter of one's own before each request, if there is one, for
// instance a node that the whole fleet shares. A request that must wait does, if that is not too long; else it fails at once, unsent, with
// ErrLimited. A denied request is sent again if Options.MaxAttempts says so. Who waited for the same instant does not return in it, but a
// little spread.
//
// It does not guess: a server that says no and not when is not waited for, and failures of other kinds are left to whoever retries those. It
// does not know what a server's limits are before that has said no.
package pace
