package door

import (
	"context"
	"crypto/tls"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// Options returns what a gRPC server is made with so that all its callers pass the hook; nothing if that is nil.
func Options(hook Authenticate) []grpc.ServerOption {
	if hook == nil {
		return nil
	}
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			ctx, err := hook.ofCall(ctx, info.FullMethod)
			if err != nil {
				return nil, err
			}
			return next(ctx, req)
		}),
		grpc.ChainStreamInterceptor(func(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			ctx, err := hook.ofCall(s.Context(), info.FullMethod)
			if err != nil {
				return err
			}
			return next(srv, &stream{s, ctx})
		}),
	}
}

// stream is one whose context is that of the hook.
type stream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *stream) Context() context.Context { return s.ctx }

// ofCall asks the hook about a call. The error is a status.
func (hook Authenticate) ofCall(ctx context.Context, method string) (context.Context, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	c := Caller{Method: method, Header: md.Get}
	if p, ok := peer.FromContext(ctx); ok {
		c.Address = p.Addr.String()
		c.TLS = connection(p.AuthInfo)
	}
	passed, err := hook(ctx, &c)
	switch {
	case err == nil:
		return passed, nil
	case errors.Is(err, ErrUnauthenticated):
		return nil, status.Error(codes.Unauthenticated, err.Error())
	case errors.Is(err, ErrForbidden):
		return nil, status.Error(codes.PermissionDenied, err.Error())
	}
	return nil, status.Error(codes.Internal, faultText)
}

// faultText is all that callers are told of a hook that fails.
const faultText = "who calls could not be found out: the log of the server says more"

func connection(info credentials.AuthInfo) *tls.ConnectionState {
	if t, ok := info.(credentials.TLSInfo); ok {
		return &t.State
	}
	return nil
}
