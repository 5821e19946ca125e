package interceptor

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// fail returns the default OnError.
func fail(closed bool, log *slog.Logger) func(context.Context, string, error) error {
	var failures atomic.Uint64
	return func(ctx context.Context, method string, err error) error {
		refused := errors.Is(err, ErrNoKey) || errors.Is(err, policy.ErrInvalid)
		if n := failures.Add(1); n&(n-1) == 0 {
			log.WarnContext(ctx, "call not decided", "method", method, "err", err, "served", !refused && !closed, "failures", n)
		}
		switch {
		case errors.Is(err, ErrNoKey):
			return status.Error(codes.InvalidArgument, text(err.Error()))
		case refused:
			// The text of the error may quote the key, which the caller need not know to be his.
			return status.Error(codes.InvalidArgument, "the call lacks what its rate limit goes by, or has it in a wrong form")
		case closed:
			return Deny(policy.Decision{DecidedBy: policy.Timeout})
		}
		return nil
	}
}
