package door

import (
	"context"
	"crypto/tls"
	"errors"
)

// The names of doors.
const (
	GRPC  = "grpc"  // the native API
	HTTP  = "http"  // the same as JSON
	Auth  = "auth"  // HTTP authorization for gateways
	Envoy = "envoy" // Envoy's rate limit service
)

// Caller is who asks, as far as a door knows.
type Caller struct {
	// Method is what is asked for: a method of gRPC, such as "/drossel.v1.RateLimiter/Check", or method and path of HTTP, such as
	// "POST /v1/check". Health checks and metrics are among them.
	Method string
	// Address is the other end of the connection, as IP:port; "" if the transport has none.
	Address string
	// TLS is that of the connection, with the client's certificates if they were asked for; nil without.
	TLS *tls.ConnectionState
	// Header returns what a header of HTTP or an entry of gRPC's metadata has, by its name in any case; nothing if it is absent.
	Header func(name string) []string
}

// Authenticate says whether a caller may come in, and returns the context that goes on with what he asks, ctx itself or one made of it. The
// error wraps ErrUnauthenticated or ErrForbidden, whose text the caller is told; any other error is a fault of ours, which the
// hook logs, and keeps him out as well. It is called from many goroutines at once, once for each request and stream, at every door, before anything of the request is
// decided.
type Authenticate func(ctx context.Context, c *Caller) (context.Context, error)

var (
	// ErrUnauthenticated says that nobody knows who the caller is: UNAUTHENTICATED in gRPC, 401 in HTTP.
	ErrUnauthenticated = errors.New("unauthenticated")
	// ErrForbidden says that the caller is known, and must not do this: PERMISSION_DENIED in gRPC, 403 in HTTP.
	ErrForbidden = errors.New("forbidden")
)
