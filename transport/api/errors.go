package api

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/api/drosselv1"
)

// code returns the status code of an error: that of its sentinel, or Internal.
func code(err error) codes.Code {
	switch {
	case errors.Is(err, policy.ErrInvalid):
		return codes.InvalidArgument
	case errors.Is(err, policy.ErrUnknownPolicy):
		return codes.NotFound
	case errors.Is(err, policy.ErrUnavailable):
		return codes.Unavailable
	case errors.Is(err, context.Canceled):
		return codes.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return codes.DeadlineExceeded
	}
	return codes.Internal
}

// message returns what the caller is told: the error's own text, except of a fault of the server, which may hold
// addresses and names that are nobody else's business.
func message(c codes.Code, err error) string {
	if c == codes.Internal {
		return "internal error: the log of the server says more"
	}
	// Keys are any bytes, and a text that quotes one must still be a protobuf string.
	return strings.ToValidUTF8(err.Error(), string(utf8.RuneError))
}

// status returns the RPC error for err, and logs it if it is a fault of the server.
func (s *server) status(ctx context.Context, err error) error {
	c := code(err)
	if c == codes.Internal {
		s.log.ErrorContext(ctx, "check failed", "err", err)
	}
	return status.Error(c, message(c, err))
}

// failed returns the result of a batch item that has an error.
func failed(err error) *drosselv1.Result {
	c := code(err)
	e := &drosselv1.Error{Code: int32(c), Message: message(c, err)}
	return &drosselv1.Result{Result: &drosselv1.Result_Error{Error: e}}
}
