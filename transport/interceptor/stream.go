package interceptor

import (
	"context"
	"errors"

	"google.golang.org/grpc"
)

// Stream returns an interceptor that asks lim before each stream is opened, and with Options.PerMessage for each message that it receives. A
// stream that is open is not asked about otherwise, however long it lasts. What callers are told is as with Unary; metadata is sent once, and
// tells how the limit stood when the stream was opened.
func Stream(lim Checker, opt Options) grpc.StreamServerInterceptor {
	l := &limiter{lim, opt.withDefaults()}
	return func(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		if l.opt.Skip(info.FullMethod) {
			return next(srv, s)
		}
		if err := l.admit(s.Context(), info.FullMethod, nil, false); err != nil {
			return err
		}
		if !l.opt.PerMessage {
			return next(srv, s)
		}
		ctx, end := context.WithCancelCause(s.Context())
		defer end(nil)
		err := next(srv, &paying{ServerStream: s, ctx: ctx, end: end, limiter: l, method: info.FullMethod})
		var d denied
		if errors.As(context.Cause(ctx), &d) {
			return d.error
		}
		return err
	}
}

// paying is a stream whose messages cost.
type paying struct {
	grpc.ServerStream
	ctx     context.Context
	end     context.CancelCauseFunc
	limiter *limiter
	method  string
}

// denied is why the context of a stream ended, if it was a denial.
type denied struct{ error }

func (s *paying) Context() context.Context { return s.ctx }

// RecvMsg hands on a message that is paid for.
func (s *paying) RecvMsg(m any) error {
	var d denied
	if errors.As(context.Cause(s.ctx), &d) {
		return d.error // and takes nothing more
	}
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	err := s.limiter.admit(s.ctx, s.method, m, true)
	if err != nil {
		s.end(denied{err})
	}
	return err
}
