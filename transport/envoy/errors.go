package envoy

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/drossel-dev/drossel/transport/door"
)

// fail counts an error, logs it if it is a fault of the server, and returns what the caller is told.
func (s *Service) fail(ctx context.Context, err error) error {
	s.counts.errors.Add(1)
	c := door.Code(err)
	if c == codes.Internal {
		s.opt.Logger.ErrorContext(ctx, "rate limit request of Envoy failed", "err", err)
	}
	return status.Error(c, door.Message(c, err))
}
