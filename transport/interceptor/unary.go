package interceptor

import (
	"context"

	"google.golang.org/grpc"
)

// Unary returns an interceptor that asks lim before each unary call. A call that is denied, or ends while it waits for its turn, does not reach
// its handler; see Deny for what its caller is told.
//
// The header metadata of a call that was decided, served or denied, has ratelimit-limit, ratelimit-remaining and ratelimit-reset, in whole
// seconds from now, rounded up, and ratelimit-policy, of the limit that spoke; and x-ratelimit-shadow: denied if a limit in shadow mode would
// have denied.
func Unary(lim Checker, opt Options) grpc.UnaryServerInterceptor {
	l := &limiter{lim, opt.withDefaults()}
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if !l.opt.Skip(info.FullMethod) {
			if err := l.admit(ctx, info.FullMethod, req, false); err != nil {
				return nil, err
			}
		}
		return next(ctx, req)
	}
}
