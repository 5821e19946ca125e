package interceptor

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"google.golang.org/grpc/metadata"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// Checker decides. It is called from many goroutines at once, with the context of the call that it decides.
type Checker interface {
	Check(ctx context.Context, req policy.Request) (policy.Decision, error)
}

// Options say what is limited. All have a default. Methods are full ones, such as "/shop.v1.Orders/Place". The functions are called from many
// goroutines at once.
type Options struct {
	// Policy names the policy that applies. It should have one key attribute, or none if Key returns "". Default: all policies that match
	// what is known about the call, which is Attributes.
	Policy string
	// PolicyFor names the policy of a method; "" is all that match. Default: Policy.
	PolicyFor func(method string) string
	// Key returns the key of a call, for a policy that is named, from its context and its metadata, which it must not change. "" is no key
	// at all, not one that all who have none share: a policy with a key attribute refuses it. An error wraps ErrNoKey if the caller is to
	// blame, who is told its text. Default: the caller's address, by PeerAddress; behind a proxy that is the proxy's. See also MetadataKey.
	Key func(ctx context.Context, method string, md metadata.MD) (string, error)
	// Attributes are what policies may match, and make keys of. Default: none if a policy is named, else those of the function Attributes.
	Attributes func(ctx context.Context, method string, md metadata.MD) map[string]string
	// Cost returns the tokens that a call takes; 0 means 1. message is the request of a unary call, nil of a stream that opens, and with
	// PerMessage a message that it received. Default: 1.
	Cost func(ctx context.Context, method string, message any) int64
	// PerMessage has every message that a stream receives cost as well, beside its opening. The handler gets a message when it is paid
	// for. One that is denied ends the stream with the denial: the handler gets it from RecvMsg, its context is done, and whatever it
	// returns the caller is told of the denial. A method with one request, such as a server stream, then costs two.
	PerMessage bool
	// Skip says that the calls of a method are not limited at all, and nobody is asked. Default: Health, since an orchestrator that is
	// denied takes the server for ill. Reflection is limited like all else: it is open to anybody and not cheap.
	Skip func(method string) bool
	// FailClosed has the default OnError refuse with UNAVAILABLE and RetryInfo where it would serve the call.
	FailClosed bool
	// OnError says what becomes of a call, or a message, that could not be decided: it is served if OnError returns nil, else refused
	// with that error, which should be one of package status. err is that of Key or of the Checker.
	//
	// Default: what the caller is to blame for (ErrNoKey, policy.ErrInvalid) is INVALID_ARGUMENT, or leaving out metadata would be a way
	// around the limit, and not UNAUTHENTICATED, for which clients fetch a new token. After any other error the call is served, without
	// metadata about limits, unless FailClosed, and the error is logged to Logger.
	OnError func(ctx context.Context, method string, err error) error
	// Logger gets the errors of the default OnError, at level Warn: the 1st, 2nd, 4th, 8th and so on, so that an outage does not fill the
	// log. Default: they are dropped.
	Logger *slog.Logger
}

// ErrNoKey is wrapped by the error of a Key that finds nothing to tell the caller by.
var ErrNoKey = errors.New("no key")

// Health says whether a method is of gRPC's health service, grpc.health.v1.Health.
func Health(method string) bool { return strings.HasPrefix(method, "/grpc.health.v1.Health/") }

// withDefaults returns the options with all functions set but Attributes and Cost.
func (o Options) withDefaults() Options {
	if o.PolicyFor == nil {
		name := o.Policy
		o.PolicyFor = func(string) string { return name }
	}
	if o.Key == nil {
		o.Key = func(ctx context.Context, _ string, _ metadata.MD) (string, error) { return PeerAddress(ctx) }
	}
	if o.Skip == nil {
		o.Skip = Health
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.OnError == nil {
		o.OnError = fail(o.FailClosed, o.Logger)
	}
	return o
}
