package middleware

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/headers"
)

// New returns a middleware that asks lim before each request. One that a pacer tells to wait waits for its turn before it is served, as long
// as max_wait of its policy allows: beyond that the pacer has denied it. A request whose own context is done, because the client has hung up
// or a timeout around it has struck, is not served: it is answered 503 with no body, for whoever still reads, and what it took stays taken.
// It panics if headers.Validate has something against Options.Headers.
func New(lim Checker, opt Options) func(http.Handler) http.Handler {
	opt = opt.withDefaults()
	if err := headers.Validate(opt.Headers); err != nil {
		panic(fmt.Errorf("middleware: Options.Headers: %w", err))
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if opt.Skip != nil && opt.Skip(r) {
				next.ServeHTTP(w, r)
				return
			}
			d, err := decide(lim, &opt, r)
			switch {
			case err != nil && r.Context().Err() != nil:
				w.WriteHeader(http.StatusServiceUnavailable) // nothing written at all would be an empty 200
				return
			case err != nil:
				opt.OnError(w, r, next, err)
				return
			}
			for _, f := range headers.Fields(opt.Headers, time.Now(), d) {
				w.Header().Set(f.Name, f.Value)
			}
			switch {
			case !d.Allowed:
				opt.OnDeny(w, r, d)
			case d.Wait() > 0 && !await(r.Context(), d.Wait()):
				w.WriteHeader(http.StatusServiceUnavailable)
			default:
				next.ServeHTTP(w, r)
			}
		})
	}
}

// decide asks lim about one request.
func decide(lim Checker, opt *Options, r *http.Request) (policy.Decision, error) {
	req := policy.Request{Policy: opt.PolicyFor(r)}
	switch {
	case opt.Attributes != nil:
		req.Attributes = opt.Attributes(r)
	case req.Policy == "":
		req.Attributes = Attributes(r, opt.TrustedProxies)
	}
	if req.Policy != "" {
		key, err := opt.Key(r)
		if err != nil {
			return policy.Decision{}, fmt.Errorf("key of the request: %w", err)
		}
		req.Key = key
	}
	if opt.Cost != nil {
		req.Cost = opt.Cost(r)
	}
	return lim.Check(r.Context(), req)
}

// await waits for a turn; false if ctx ends before.
func await(ctx context.Context, turn time.Duration) bool {
	t := time.NewTimer(turn)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Deny answers a denied request: 429 with a problem body of type quota-exceeded that names the limit, and Retry-After
// in whole seconds, rounded up and at least 1. A denial because nobody could be asked is 503 of type
// temporary-reduced-capacity: the client has done nothing wrong. If no wait can help there is no Retry-After.
func Deny(w http.ResponseWriter, _ *http.Request, d policy.Decision) { headers.Deny(d).Write(w, 0) }
