package api

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/drossel-dev/drossel/transport/api/drosselv1"
	"github.com/drossel-dev/drossel/transport/door"
)

// status returns the RPC error for err, and logs it if it is a fault of the server.
func (s *server) status(ctx context.Context, err error) error {
	c := door.Code(err)
	if c == codes.Internal {
		s.log.ErrorContext(ctx, "check failed", "err", err)
	}
	return status.Error(c, door.Message(c, err))
}

// failed returns the result of a batch item that has an error.
func failed(err error) *drosselv1.Result {
	c := door.Code(err)
	e := &drosselv1.Error{Code: int32(c), Message: door.Message(c, err)}
	return &drosselv1.Result{Result: &drosselv1.Result_Error{Error: e}}
}
