package pace

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/node"
	"github.com/drossel-dev/drossel/transport/interceptor"
)

// refused is the error of a call, with RetryInfo if wait is not 0.
func refused(t *testing.T, code codes.Code, wait time.Duration) error {
	t.Helper()
	st := status.New(code, "no")
	if wait == 0 {
		return st.Err()
	}
	full, err := st.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(wait)})
	if err != nil {
		t.Fatal(err)
	}
	return full.Err()
}

// callee answers calls with its errors, one after the other, and then with nil. It remembers when.
type callee struct {
	begun  time.Time
	errs   []error
	called []time.Duration // since begun
}

func (c *callee) answer() (err error) {
	c.called = append(c.called, time.Since(c.begun))
	if len(c.errs) > 0 {
		err, c.errs = c.errs[0], c.errs[1:]
	}
	return err
}

// call makes a call of a method.
func (c *callee) call(ctx context.Context, through grpc.UnaryClientInterceptor, method string) error {
	return through(ctx, method, nil, nil, nil, func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
		return c.answer()
	})
}

func TestRetryDelay(t *testing.T) {
	wrapped := errors.Join(errors.New("call"), refused(t, codes.Unavailable, time.Second))
	bare, err := status.New(codes.ResourceExhausted, "no").WithDetails(new(errdetails.RetryInfo))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		err  error
		want time.Duration // -1: none
	}{
		{"none", nil, -1},
		{"exhausted", refused(t, codes.ResourceExhausted, 1500*time.Millisecond), 1500 * time.Millisecond},
		{"unavailable", refused(t, codes.Unavailable, time.Minute), time.Minute},
		{"without RetryInfo, as a message that is too big", refused(t, codes.ResourceExhausted, 0), -1},
		{"another code", refused(t, codes.Internal, time.Minute), -1},
		{"negative", refused(t, codes.ResourceExhausted, -time.Second), -1},
		{"empty", bare.Err(), -1},
		{"longer than a Duration", refused(t, codes.ResourceExhausted, 1<<63-1), 1<<63 - 1},
		{"no status", errors.New("no"), -1},
		{"among others", wrapped, time.Second},
		{"own", &LimitedError{Decision: policy.Decision{RetryAfter: time.Second}}, time.Second},
		{"own, for ever", &LimitedError{Decision: policy.Decision{Never: true}}, -1},
	}
	for _, tt := range tests {
		got, ok := retryDelay(tt.err)
		if !ok {
			got = -1
		}
		if got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestUnaryClient(t *testing.T) {
	wait := 3 * time.Second
	tests := []struct {
		name  string
		errs  []error
		most  int
		calls int
		want  codes.Code
	}{
		{"denied once", []error{refused(t, codes.ResourceExhausted, wait)}, 2, 2, codes.OK},
		{"unavailable, and says when", []error{refused(t, codes.Unavailable, wait)}, 2, 2, codes.OK},
		{"made once", []error{refused(t, codes.ResourceExhausted, wait)}, 0, 1, codes.ResourceExhausted},
		{"denied each time", []error{refused(t, codes.ResourceExhausted, wait), refused(t, codes.ResourceExhausted, wait)}, 2, 2,
			codes.ResourceExhausted},
		{"does not say when", []error{refused(t, codes.Unavailable, 0)}, 9, 1, codes.Unavailable},
		{"too late", []error{refused(t, codes.ResourceExhausted, time.Minute)}, 9, 1, codes.ResourceExhausted},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &callee{begun: time.Now(), errs: tt.errs}
				err := c.call(t.Context(), UnaryClient(CallOptions{Options: Options{MaxAttempts: tt.most}}), "/a.B/C")
				if status.Code(err) != tt.want || len(c.called) != tt.calls {
					t.Errorf("%v after %d calls, want %v after %d", err, len(c.called), tt.want, tt.calls)
				}
				if len(c.called) > 1 && !between(c.called[1], wait) {
					t.Errorf("called after %v, want %v between", c.called, wait)
				}
			})
		})
	}
}

// TestMethodIsClosed: until a method has said, it gets no call, and others do.
func TestMethodIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &callee{begun: time.Now(), errs: []error{refused(t, codes.ResourceExhausted, time.Minute)}}
		through := UnaryClient(CallOptions{})
		for _, step := range []struct {
			method string
			want   codes.Code
			calls  int
		}{{"/a.B/C", codes.ResourceExhausted, 1}, {"/a.B/C", codes.ResourceExhausted, 1}, {"/a.B/D", codes.OK, 2}} {
			err := c.call(t.Context(), through, step.method)
			if status.Code(err) != step.want || len(c.called) != step.calls {
				t.Errorf("%s: %v, called %d times, want %v, %d", step.method, err, len(c.called), step.want, step.calls)
			}
			if errors.Is(err, ErrLimited) {
				if wait, ok := retryDelay(err); !ok || wait != time.Minute {
					t.Errorf("unsent, with RetryInfo %v, %t, want a minute", wait, ok)
				}
			}
		}
		time.Sleep(55 * time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if err := c.call(ctx, through, "/a.B/C"); status.Code(err) != codes.Canceled || len(c.called) != 2 {
			t.Errorf("gone while it waited: %v, called %d times", err, len(c.called))
		}
		if err := c.call(t.Context(), through, "/a.B/C"); err != nil || len(c.called) != 3 || c.called[2] < time.Minute {
			t.Errorf("%v, called after %v", err, c.called)
		}
	})
}

func TestCallKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &callee{begun: time.Now(), errs: []error{refused(t, codes.ResourceExhausted, time.Minute)}}
		through := UnaryClient(CallOptions{Key: func(_ context.Context, target, _ string) string { return target }})
		_ = c.call(t.Context(), through, "/a.B/C")
		if err := c.call(t.Context(), through, "/a.B/D"); !errors.Is(err, ErrLimited) {
			t.Errorf("another method of the same place: %v, want ErrLimited", err)
		}
	})
}

// endedStream is a stream that its server has ended.
type endedStream struct {
	grpc.ClientStream
	err error
}

func (s *endedStream) RecvMsg(any) error { return s.err }

// TestStreamClient: how a stream ends says when the next may be opened, and none is opened twice.
func TestStreamClient(t *testing.T) {
	for _, early := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := &callee{begun: time.Now(), errs: []error{refused(t, codes.ResourceExhausted, 5*time.Second)}}
			through := StreamClient(CallOptions{Options: Options{MaxAttempts: 9}})
			open := func() error {
				s, err := through(t.Context(), nil, nil, "/a.B/C", func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string,
					...grpc.CallOption) (grpc.ClientStream, error) {
					err := c.answer()
					if err != nil && early {
						return nil, err
					}
					return &endedStream{err: err}, nil
				})
				if err != nil {
					return err
				}
				return s.RecvMsg(nil)
			}
			if err := open(); status.Code(err) != codes.ResourceExhausted || len(c.called) != 1 {
				t.Errorf("early %t: %v, opened %d times", early, err, len(c.called))
			}
			if err := open(); err != nil || len(c.called) != 2 || !between(c.called[1], 5*time.Second) {
				t.Errorf("early %t: %v, opened after %v, want 5 s between", early, err, c.called)
			}
		})
	}
}

// ponging answers every call.
type ponging struct {
	grpc_testing.UnimplementedTestServiceServer
}

func (ponging) UnaryCall(context.Context, *grpc_testing.SimpleRequest) (*grpc_testing.SimpleResponse, error) {
	return new(grpc_testing.SimpleResponse), nil
}

func (ponging) StreamingOutputCall(*grpc_testing.StreamingOutputCallRequest, grpc_testing.TestService_StreamingOutputCallServer) error {
	return nil
}

// TestBothSides: a client that paces itself gets all its calls through a server that limits them, each after two tries at the most.
func TestBothSides(t *testing.T) {
	synctest.Test(t, bothSides)
}

func bothSides(t *testing.T) {
	set, err := policy.Parse("test.yaml", []byte("{version: 1, policies: {calls: {key: [], limits: [{rate: 1/min}]}}}"))
	if err != nil {
		t.Fatal(err)
	}
	n, err := node.New(node.Config{Policies: set})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	limited := interceptor.Options{Policy: "calls", Key: func(context.Context, string, metadata.MD) (string, error) { return "", nil }}
	srv := grpc.NewServer(grpc.UnaryInterceptor(interceptor.Unary(n, limited)), grpc.StreamInterceptor(interceptor.Stream(n, limited)))
	grpc_testing.RegisterTestServiceServer(srv, ponging{})
	l := bufconn.Listen(1 << 16)
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	opt := CallOptions{Options: Options{MaxAttempts: 2, MaxWait: 2 * time.Minute}}
	c, err := grpc.NewClient("passthrough:///x", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(UnaryClient(opt)), grpc.WithStreamInterceptor(StreamClient(opt)),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		c.Close()
		srv.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	begun := time.Now()
	client := grpc_testing.NewTestServiceClient(c)
	for i := range 4 {
		if _, err := client.UnaryCall(t.Context(), new(grpc_testing.SimpleRequest)); err != nil {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if took := time.Since(begun); !between(took, 3*time.Minute) {
		t.Errorf("four calls took %v, want 3 minutes, or up to a quarter more", took)
	}
	for i, want := range []error{errDenied, io.EOF} {
		s, err := client.StreamingOutputCall(t.Context(), new(grpc_testing.StreamingOutputCallRequest))
		if err == nil {
			_, err = s.Recv()
		}
		if want == io.EOF && err != io.EOF || want == errDenied && (status.Code(err) != codes.ResourceExhausted || errors.Is(err, ErrLimited)) {
			t.Errorf("stream %d: %v, want %v", i, err, want)
		}
	}
}

var errDenied = errors.New("the denial of the server")
