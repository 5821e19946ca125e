package door

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc/codes"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// Code returns the gRPC status code of the error of a check: that of its sentinel, or Internal.
func Code(err error) codes.Code {
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

// Message returns what the caller is told of an error of that Code: the error's own text, except of a fault of the server, which may hold
// addresses and names that are nobody else's business.
func Message(c codes.Code, err error) string {
	if c == codes.Internal {
		return "internal error: the log of the server says more"
	}
	// Keys are any bytes, and a text that quotes one must still be a protobuf string.
	return strings.ToValidUTF8(err.Error(), string(utf8.RuneError))
}
