package middleware

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/headers"
)

// Checker decides. It is called from many goroutines at once, with the context of the request that it decides.
type Checker interface {
	Check(ctx context.Context, req policy.Request) (policy.Decision, error)
}

// Options say what is limited and how it shows. All have a default. The functions are called from many goroutines at once.
type Options struct {
	// Policy names the policy that applies. It should have one key attribute, or none if Key returns "". Default: all policies that match
	// what is known about the request, which is Attributes.
	Policy string
	// PolicyFor names the policy of a request, for instance by its route; "" is all that match. Default: Policy.
	PolicyFor func(*http.Request) string
	// Key returns the key of a request, for a policy that is named. "" is no key at all, not one that all who have none share: a policy
	// with a key attribute refuses it. An error wraps ErrNoKey if the client is to blame. Default: the client's address, by
	// ClientAddress with TrustedProxies. See also HeaderKey.
	Key func(*http.Request) (string, error)
	// TrustedProxies is how many proxies of your own each request passes. Default: 0, X-Forwarded-For is not believed.
	// Too many lets clients choose their address, too few takes a proxy for the client.
	TrustedProxies int
	// Attributes are what policies may match, and make keys of. Default: none if a policy is named, else those of the function Attributes
	// with TrustedProxies.
	Attributes func(*http.Request) map[string]string
	// Cost returns the tokens that a request takes; 0 means 1. Default: 1.
	Cost func(*http.Request) int64
	// Skip says that a request is not limited at all, and nobody is asked. Default: none is.
	Skip func(*http.Request) bool
	// Headers are the styles in which answers tell of the limit, such that headers.Validate has nothing against them. Default (nil):
	// headers.Default. An empty slice that is not nil is none.
	Headers []headers.Style
	// OnDeny answers a denied request in place of Deny. The fields of Headers are set already.
	OnDeny func(w http.ResponseWriter, r *http.Request, d policy.Decision)
	// FailClosed has the default OnError answer 503, with Retry-After and a problem body, where it would serve the request.
	FailClosed bool
	// OnError handles a request that could not be decided: it answers, or calls next. err is that of Key or of the
	// Checker.
	//
	// Default: what the client is to blame for (ErrNoKey, policy.ErrInvalid) is answered 400, or leaving out a header
	// would be a way around the limit. After any other error the request is served, without rate limit fields, unless FailClosed, and the
	// error is logged to Logger.
	OnError func(w http.ResponseWriter, r *http.Request, next http.Handler, err error)
	// Logger gets the errors of the default OnError, at level Warn: the 1st, 2nd, 4th, 8th and so on, so that an outage
	// does not fill the log. Default: they are dropped.
	Logger *slog.Logger
}

// ErrNoKey is wrapped by the error of a Key that finds nothing to tell the client by.
var ErrNoKey = errors.New("no key")

// withDefaults returns the options with all functions set but Cost and Skip.
func (o Options) withDefaults() Options {
	if o.PolicyFor == nil {
		name := o.Policy
		o.PolicyFor = func(*http.Request) string { return name }
	}
	proxies := o.TrustedProxies
	if o.Key == nil {
		o.Key = func(r *http.Request) (string, error) { return ClientAddress(r, proxies) }
	}
	if o.Headers == nil {
		o.Headers = headers.Default()
	}
	if o.OnDeny == nil {
		o.OnDeny = Deny
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.OnError == nil {
		o.OnError = fail(o.FailClosed, o.Logger)
	}
	return o
}
