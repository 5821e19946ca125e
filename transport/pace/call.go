package pace

import (
	"context"
	"errors"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// CallOptions are the Options of a gRPC client. The zero value obeys servers, waits up to 10 s, and makes each call once.
type CallOptions struct {
	// Key returns the place that a call goes to: what is closed when its server says so, and the key under which Limiter is asked. target
	// is that of the connection, method a full one. Default: both, with a space between, so that a method that is limited stops no other.
	Key func(ctx context.Context, target, method string) string
	Options
}

// UnaryClient returns an interceptor that makes a unary call when it may go. It blocks up to MaxWait for that. A call that would have to wait
// longer is not made: its error is a *LimitedError, which wraps ErrLimited and has status RESOURCE_EXHAUSTED. If its context ends first, the
// status is that of the context.
//
// A method that answers RESOURCE_EXHAUSTED or UNAVAILABLE with google.rpc.RetryInfo gets nothing more before that has passed; without it, as
// when a message is too big or a server down, nothing is held back. With MaxAttempts a denied call is made again then, if that is within MaxWait:
// RetryInfo says that it may. What is remembered is as with Transport, by each interceptor for itself.
func UnaryClient(opt CallOptions) grpc.UnaryClientInterceptor {
	g := new(gate)
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		place := opt.place(ctx, cc, method)
		last := opt.last(ctx, time.Now())
		for attempt := 1; ; attempt++ {
			if err := opt.turn(ctx, g, place, last); err != nil {
				return withStatus(err)
			}
			err := invoke(ctx, method, req, reply, cc, opts...)
			opens := opt.hear(g, place, err)
			if opens.IsZero() || attempt >= opt.MaxAttempts || opens.After(last) {
				return err
			}
		}
	}
}

// StreamClient returns an interceptor that opens a stream when it may, and obeys the server, as UnaryClient does for calls. It never opens one
// again: what has been sent through it is not here any more. Once it is open its messages are not held back.
func StreamClient(opt CallOptions) grpc.StreamClientInterceptor {
	g := new(gate)
	return func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer,
		opts ...grpc.CallOption) (grpc.ClientStream, error) {
		place := opt.place(ctx, cc, method)
		if err := opt.turn(ctx, g, place, opt.last(ctx, time.Now())); err != nil {
			return nil, withStatus(err)
		}
		s, err := open(ctx, desc, cc, method, opts...)
		opt.hear(g, place, err)
		if err != nil {
			return nil, err
		}
		return &stream{s, func(err error) { opt.hear(g, place, err) }}, nil
	}
}

// stream is one whose end is heard.
type stream struct {
	grpc.ClientStream
	hear func(error)
}

// RecvMsg is where the status of a stream comes from, whatever ended it.
func (s *stream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	s.hear(err)
	return err
}

func (o *CallOptions) place(ctx context.Context, cc *grpc.ClientConn, method string) string {
	target := ""
	if cc != nil {
		target = cc.Target()
	}
	if o.Key != nil {
		return o.Key(ctx, target, method)
	}
	return target + " " + method
}

// hear closes a place if the error of a call asks for it, and returns when it opens; else the zero time.
func (o *CallOptions) hear(g *gate, place string, err error) time.Time {
	wait, asked := retryDelay(err)
	if !asked {
		return time.Time{}
	}
	now := time.Now()
	opens := now.Add(o.believed(wait))
	g.close(place, opens, now)
	return opens
}

// retryDelay returns how long the error of a call asks to wait. A negative span is as good as none.
func retryDelay(err error) (time.Duration, bool) {
	st, ok := status.FromError(err)
	if !ok || st.Code() != codes.ResourceExhausted && st.Code() != codes.Unavailable {
		return 0, false
	}
	for _, d := range st.Details() {
		if retry, ok := d.(*errdetails.RetryInfo); ok && retry.GetRetryDelay() != nil {
			wait := retry.GetRetryDelay().AsDuration()
			return wait, wait >= 0
		}
	}
	return 0, false
}

// withStatus returns an error of turn as callers of gRPC know it.
func withStatus(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return status.FromContextError(err).Err()
	}
	return err
}
