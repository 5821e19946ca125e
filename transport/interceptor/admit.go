package interceptor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/headers"
)

// limiter asks about calls. Its options have their defaults.
type limiter struct {
	lim Checker
	opt Options
}

// admit returns nil when a call, or a message of it, may go on: at once, or when it is its turn. The error is for the caller. announced says
// that the metadata of the call has told of its limit already.
func (l *limiter) admit(ctx context.Context, method string, message any, announced bool) error {
	d, err := l.decide(ctx, method, message)
	switch {
	case err != nil && ctx.Err() != nil:
		return status.FromContextError(ctx.Err()).Err()
	case err != nil:
		return l.opt.OnError(ctx, method, err)
	}
	if !announced {
		announce(ctx, d)
	}
	switch {
	case !d.Allowed:
		return Deny(d)
	case d.Wait() > 0:
		return await(ctx, d.Wait())
	}
	return nil
}

// decide asks about one call.
func (l *limiter) decide(ctx context.Context, method string, message any) (policy.Decision, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	req := policy.Request{Policy: l.opt.PolicyFor(method)}
	switch {
	case l.opt.Attributes != nil:
		req.Attributes = l.opt.Attributes(ctx, method, md)
	case req.Policy == "":
		req.Attributes = Attributes(ctx, method, md)
	}
	if req.Policy != "" {
		key, err := l.opt.Key(ctx, method, md)
		if err != nil {
			return policy.Decision{}, fmt.Errorf("key of the call: %w", err)
		}
		req.Key = key
	}
	if l.opt.Cost != nil {
		req.Cost = l.opt.Cost(ctx, method, message)
	}
	return l.lim.Check(ctx, req)
}

// announce puts how the limit stands into the header metadata: the fields of draft-ietf-httpapi-ratelimit-headers-06 in lower case, and
// x-ratelimit-shadow.
func announce(ctx context.Context, d policy.Decision) {
	md := metadata.MD{}
	for _, f := range headers.Fields([]headers.Style{headers.Draft06}, time.Time{}, d) { // that style has no dates
		md.Set(strings.ToLower(f.Name), f.Value)
	}
	if len(md) > 0 {
		// It fails if an interceptor before this one has sent the headers. The call is not worse for it.
		_ = grpc.SetHeader(ctx, md)
	}
}

// await waits for a turn. The error is for the caller, whose context ended before it.
func await(ctx context.Context, turn time.Duration) error {
	until, cancel := context.WithTimeout(ctx, turn)
	defer cancel()
	<-until.Done()
	return status.FromContextError(ctx.Err()).Err() // nil if it was the turn that came
}
