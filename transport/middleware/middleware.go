package middleware

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// Checker decides. It is called from many goroutines at once, with the context of the request that it decides.
type Checker interface {
	Check(ctx context.Context, req policy.Request) (policy.Decision, error)
}

// Options say what is limited and how it shows. All but Policy have a default. The functions are called from many
// goroutines at once.
type Options struct {
	// Policy names the policy that applies. It should have one key attribute, or none if Key returns "".
	Policy string
	// Key returns the key of a request. "" is no key at all, not one that all who have none share: a policy with a key
	// attribute refuses it. An error wraps ErrNoKey if the client is to blame. Default: the client's address, by
	// ClientAddress with TrustedProxies.
	Key func(*http.Request) (string, error)
	// TrustedProxies is how many proxies of your own each request passes. Default: 0, X-Forwarded-For is not believed.
	// Too many lets clients choose their address, too few takes a proxy for the client. It is not used if Key is set.
	TrustedProxies int
	// Cost returns the tokens that a request takes; 0 means 1. Default: 1.
	Cost func(*http.Request) int64
	// Headers are the styles in which answers tell of the limit. Default (nil): Draft11 and XRateLimit. An empty slice
	// that is not nil is none.
	Headers []Style
	// OnDeny answers a denied request in place of Deny. The fields of Headers are set already.
	OnDeny func(w http.ResponseWriter, r *http.Request, d policy.Decision)
	// OnError handles a request that could not be decided: it answers, or calls next. err is that of Key or of the
	// Checker.
	//
	// Default: what the client is to blame for (ErrNoKey, policy.ErrInvalid) is answered 400, or leaving out a header
	// would be a way around the limit. After any other error the request is served, without rate limit fields, and the
	// error is logged to Logger.
	OnError func(w http.ResponseWriter, r *http.Request, next http.Handler, err error)
	// Logger gets the errors of the default OnError, at level Warn: the 1st, 2nd, 4th, 8th and so on, so that an outage
	// does not fill the log. Default: they are dropped.
	Logger *slog.Logger
}

// ErrNoKey is wrapped by the error of a Key that finds nothing to tell the client by.
var ErrNoKey = errors.New("no key")

// New returns a middleware that asks lim before each request. A request whose own context is done, because the client
// has hung up or a timeout around it has struck, is not served: it is answered 503 with no body, for whoever still
// reads.
func New(lim Checker, opt Options) func(http.Handler) http.Handler {
	if opt.Key == nil {
		opt.Key = func(r *http.Request) (string, error) { return ClientAddress(r, opt.TrustedProxies) }
	}
	if opt.Headers == nil {
		opt.Headers = []Style{Draft11, XRateLimit}
	}
	if opt.OnDeny == nil {
		opt.OnDeny = Deny
	}
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	if opt.OnError == nil {
		opt.OnError = failOpen(opt.Logger)
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			d, err := decide(lim, opt, r)
			switch {
			case err != nil && r.Context().Err() != nil:
				w.WriteHeader(http.StatusServiceUnavailable) // nothing written at all would be an empty 200
				return
			case err != nil:
				opt.OnError(w, r, next, err)
				return
			}
			for _, style := range opt.Headers {
				style.set(w.Header(), d)
			}
			if !d.Allowed {
				opt.OnDeny(w, r, d)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// decide asks lim about one request.
func decide(lim Checker, opt Options, r *http.Request) (policy.Decision, error) {
	key, err := opt.Key(r)
	if err != nil {
		return policy.Decision{}, fmt.Errorf("key of the request: %w", err)
	}
	req := policy.Request{Policy: opt.Policy, Key: key}
	if opt.Cost != nil {
		req.Cost = opt.Cost(r)
	}
	return lim.Check(r.Context(), req)
}

// failOpen returns the default OnError.
func failOpen(log *slog.Logger) func(http.ResponseWriter, *http.Request, http.Handler, error) {
	var failures atomic.Uint64
	return func(w http.ResponseWriter, r *http.Request, next http.Handler, err error) {
		refused := errors.Is(err, ErrNoKey) || errors.Is(err, policy.ErrInvalid)
		if n := failures.Add(1); n&(n-1) == 0 {
			log.WarnContext(r.Context(), "request not decided", "err", err, "served", !refused, "failures", n)
		}
		if refused {
			http.Error(w, http.StatusText(http.StatusBadRequest), http.StatusBadRequest)
			return
		}
		next.ServeHTTP(w, r)
	}
}
