package interceptor_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/node"
	"github.com/drossel-dev/drossel/transport/interceptor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limiter starts a node with these policies.
func limiter(t *testing.T, text string) *node.Node {
	t.Helper()
	set, err := policy.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	n, err := node.New(node.Config{Policies: set})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	return n
}

// service answers every message with one of its own, and a stream until its caller ends it or the interceptor does.
type service struct {
	grpc_testing.UnimplementedTestServiceServer
	swallow bool // the error that ends a stream
}

func (service) UnaryCall(context.Context, *grpc_testing.SimpleRequest) (*grpc_testing.SimpleResponse, error) {
	return new(grpc_testing.SimpleResponse), nil
}

func (s service) FullDuplexCall(stream grpc_testing.TestService_FullDuplexCallServer) error {
	for {
		_, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && s.swallow:
			<-stream.Context().Done() // a denial ends it
			_, again := stream.Recv()
			if status.Code(again) != status.Code(err) {
				return status.Errorf(codes.DataLoss, "after %v came %v", err, again)
			}
			return nil
		case err != nil:
			return err
		}
		if err := stream.Send(new(grpc_testing.StreamingOutputCallResponse)); err != nil {
			return err
		}
	}
}

// serve starts a limited server and returns a connection to it.
func serve(t *testing.T, s service, lim interceptor.Checker, opt interceptor.Options) *grpc.ClientConn {
	t.Helper()
	srv := grpc.NewServer(grpc.UnaryInterceptor(interceptor.Unary(lim, opt)), grpc.StreamInterceptor(interceptor.Stream(lim, opt)))
	grpc_testing.RegisterTestServiceServer(srv, s)
	grpc_health_v1.RegisterHealthServer(srv, health.NewServer())
	l := bufconn.Listen(1 << 16)
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	c, err := grpc.NewClient("passthrough:///x", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		srv.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return c
}

// call makes a unary call under a key and returns its header metadata.
func call(t *testing.T, c *grpc.ClientConn, key string) (metadata.MD, error) {
	t.Helper()
	ctx := t.Context()
	if key != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "x-api-key", key)
	}
	var md metadata.MD
	_, err := grpc_testing.NewTestServiceClient(c).UnaryCall(ctx, new(grpc_testing.SimpleRequest), grpc.Header(&md))
	return md, err
}

// first returns the first value of a metadata entry, "" if there is none.
func first(md metadata.MD, name string) string {
	if values := md.Get(name); len(values) > 0 {
		return values[0]
	}
	return ""
}

func retryDelay(err error) (time.Duration, bool) {
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.RetryInfo); ok {
			return info.GetRetryDelay().AsDuration(), true
		}
	}
	return 0, false
}

var byKey = interceptor.Options{Policy: "calls", Key: interceptor.MetadataKey("x-api-key")}

// C110: who has no key is refused, and two of them are no one caller.
func TestC110(t *testing.T) {
	c := serve(t, service{}, limiter(t, "{version: 1, policies: {calls: {key: [api_key], limits: [{rate: 1/h}]}}}"), byKey)
	for i, want := range []struct {
		key  string
		code codes.Code
	}{{"", codes.InvalidArgument}, {"a", codes.OK}, {"", codes.InvalidArgument}, {"a", codes.ResourceExhausted}, {"b", codes.OK}} {
		if _, err := call(t, c, want.key); status.Code(err) != want.code {
			t.Errorf("call %d with key %q: %v, want %v", i, want.key, err, want.code)
		}
	}
}

// TestDenied: a denial and what is allowed carry the numbers of the limit, and say nothing of the key.
func TestDenied(t *testing.T) {
	c := serve(t, service{}, limiter(t, "{version: 1, policies: {calls: {key: [api_key], limits: [{rate: 2/h, name: hourly}]}}}"), byKey)
	for i, left := range []string{"1", "0", "0"} {
		md, err := call(t, c, "secret-7")
		if want := map[bool]codes.Code{true: codes.OK, false: codes.ResourceExhausted}[i < 2]; status.Code(err) != want {
			t.Fatalf("call %d: %v, want %v", i, err, want)
		}
		if first(md, "ratelimit-limit") != "2" || first(md, "ratelimit-remaining") != left || first(md, "ratelimit-reset") == "" {
			t.Errorf("call %d: metadata %v", i, md)
		}
		if i < 2 {
			continue
		}
		if wait, ok := retryDelay(err); !ok || wait <= 29*time.Minute || wait > 30*time.Minute {
			t.Errorf("a retry in %v (%t), want just below 30 minutes", wait, ok)
		}
		if said := status.Convert(err).Proto().String() + strings.Join(md.Get("ratelimit-policy"), ""); strings.Contains(said, "secret") ||
			!strings.Contains(said, "hourly") || !strings.Contains(said, "calls") {
			t.Errorf("the caller is told %s", said)
		}
	}
}

// C136: a limit in shadow mode shows, and denies nobody.
func TestC136(t *testing.T) {
	c := serve(t, service{}, limiter(t, "{version: 1, policies: {calls: {key: [api_key], shadow: true, limits: [{rate: 2/h}]}}}"), byKey)
	shadowed := 0
	for range 5 {
		md, err := call(t, c, "a")
		if err != nil {
			t.Fatal(err)
		}
		if first(md, "x-ratelimit-shadow") == "denied" {
			shadowed++
		}
	}
	if shadowed != 3 {
		t.Errorf("%d of 5 would have been denied, want 3", shadowed)
	}
}

// TestHealth: an orchestrator's question is answered though the limit admits nobody, unless Skip says otherwise.
func TestHealth(t *testing.T) {
	n := limiter(t, "{version: 1, policies: {calls: {key: [api_key], limits: [{rate: 0/s}]}}}")
	for name, tt := range map[string]struct {
		skip func(string) bool
		want codes.Code
	}{"default": {nil, codes.OK}, "none is skipped": {func(string) bool { return false }, codes.InvalidArgument}} {
		opt := byKey
		opt.Skip = tt.skip
		c := serve(t, service{}, n, opt)
		_, err := grpc_health_v1.NewHealthClient(c).Check(t.Context(), new(grpc_health_v1.HealthCheckRequest))
		if status.Code(err) != tt.want {
			t.Errorf("%s: unary %v, want %v", name, err, tt.want)
		}
		ctx, cancel := context.WithCancel(t.Context())
		stream, err := grpc_health_v1.NewHealthClient(c).Watch(ctx, new(grpc_health_v1.HealthCheckRequest))
		if err == nil {
			_, err = stream.Recv()
		}
		cancel()
		if status.Code(err) != tt.want {
			t.Errorf("%s: stream %v, want %v", name, err, tt.want)
		}
		if _, err := call(t, c, "a"); status.Code(err) != codes.ResourceExhausted {
			t.Errorf("%s: another call: %v", name, err)
		}
	}
}

// exchange opens a stream under a key and plays ping-pong until it is denied, at most max times. It returns how many pings were answered.
func exchange(t *testing.T, c *grpc.ClientConn, key string, max int) (answered int, md metadata.MD, err error) {
	t.Helper()
	ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(t.Context(), "x-api-key", key))
	defer cancel()
	stream, err := grpc_testing.NewTestServiceClient(c).FullDuplexCall(ctx)
	if err != nil {
		return 0, nil, err
	}
	for answered < max {
		if err = stream.Send(new(grpc_testing.StreamingOutputCallRequest)); err != nil && !errors.Is(err, io.EOF) {
			return answered, nil, err
		}
		if _, err = stream.Recv(); err != nil {
			md, _ = stream.Header()
			return answered, md, err
		}
		answered++
	}
	if err := stream.CloseSend(); err != nil {
		return answered, nil, err
	}
	if _, err = stream.Recv(); errors.Is(err, io.EOF) {
		err = nil
	}
	md, _ = stream.Header()
	return answered, md, err
}

func TestStream(t *testing.T) {
	const policies = "{version: 1, policies: {calls: {key: [api_key], limits: [{rate: 4/h}]}}}"
	t.Run("opening", func(t *testing.T) {
		c := serve(t, service{}, limiter(t, policies), byKey)
		for i := range 5 {
			n, md, err := exchange(t, c, "a", 3)
			if i < 4 && (err != nil || n != 3 || len(md.Get("ratelimit-limit")) != 1) {
				t.Errorf("stream %d: %d answers, %v, %v", i, n, md, err)
			}
			if i == 4 && (status.Code(err) != codes.ResourceExhausted || n != 0 || first(md, "ratelimit-remaining") != "0") {
				t.Errorf("the fifth stream: %d answers, %v, %v", n, md, err)
			}
		}
	})
	for _, swallow := range []bool{false, true} {
		t.Run("each message", func(t *testing.T) {
			opt := byKey
			opt.PerMessage = true
			c := serve(t, service{swallow: swallow}, limiter(t, policies), opt)
			n, md, err := exchange(t, c, "a", 10)
			if _, ok := retryDelay(err); status.Code(err) != codes.ResourceExhausted || n != 3 || !ok {
				t.Errorf("%d answers and %v, want 3 after the opening, and then RESOURCE_EXHAUSTED with RetryInfo", n, err)
			}
			if len(md.Get("ratelimit-limit")) != 1 || first(md, "ratelimit-remaining") != "3" {
				t.Errorf("metadata %v, want that of the opening, once", md)
			}
			if n, _, err := exchange(t, c, "b", 3); err != nil || n != 3 {
				t.Errorf("another caller: %d answers, %v", n, err)
			}
		})
	}
}

// checker is a Checker made of a function.
type checker func(context.Context, policy.Request) (policy.Decision, error)

func (c checker) Check(ctx context.Context, req policy.Request) (policy.Decision, error) {
	return c(ctx, req)
}

// direct calls the interceptor as a server would, from 192.0.2.1, and says whether the handler was reached.
func direct(ctx context.Context, lim interceptor.Checker, opt interceptor.Options) (reached bool, err error) {
	ctx = peer.NewContext(ctx, &peer.Peer{Addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1}})
	_, err = interceptor.Unary(lim, opt)(ctx, "hello", &grpc.UnaryServerInfo{FullMethod: "/a.B/C"},
		func(context.Context, any) (any, error) { reached = true; return nil, nil })
	return reached, err
}

// TestRequest: what the Checker is asked.
func TestRequest(t *testing.T) {
	size := func(_ context.Context, _ string, message any) int64 { return int64(len(message.(string))) }
	tests := []struct {
		name string
		opt  interceptor.Options
		want policy.Request
	}{
		{"by a policy", interceptor.Options{Policy: "api"}, policy.Request{Policy: "api", Key: "192.0.2.1"}},
		{"by method", interceptor.Options{PolicyFor: strings.ToUpper, Cost: size}, policy.Request{Policy: "/A.B/C", Key: "192.0.2.1", Cost: 5}},
		{"all that match", interceptor.Options{}, policy.Request{Attributes: map[string]string{"route": "/a.B/C", "ip": "192.0.2.1"}}},
		{"own attributes", interceptor.Options{
			Attributes: func(context.Context, string, metadata.MD) map[string]string { return map[string]string{"user": "ann"} },
		}, policy.Request{Attributes: map[string]string{"user": "ann"}}},
	}
	for _, tt := range tests {
		var asked policy.Request
		reached, err := direct(t.Context(), checker(func(_ context.Context, req policy.Request) (policy.Decision, error) {
			asked = req
			return policy.Decision{Allowed: true}, nil
		}), tt.opt)
		if diff := cmp.Diff(tt.want, asked); diff != "" || !reached || err != nil {
			t.Errorf("%s: reached %t, %v, -want +got:\n%s", tt.name, reached, err, diff)
		}
	}
}

// TestNotDecided: what becomes of a call when the Checker fails.
func TestNotDecided(t *testing.T) {
	broken := errors.New("broken at 10.0.0.9")
	invalid := policy.ErrInvalid
	own := func(context.Context, string, error) error { return status.Error(codes.Aborted, "own") }
	tests := []struct {
		name    string
		err     error
		opt     interceptor.Options
		reached bool
		code    codes.Code
	}{
		{"open", broken, interceptor.Options{}, true, codes.OK},
		{"closed", broken, interceptor.Options{FailClosed: true}, false, codes.Unavailable},
		{"the caller's fault", invalid, interceptor.Options{}, false, codes.InvalidArgument},
		{"own way", broken, interceptor.Options{OnError: own}, false, codes.Aborted},
	}
	for _, tt := range tests {
		var log strings.Builder
		tt.opt.Logger = slog.New(slog.NewTextHandler(&log, nil))
		reached, err := direct(t.Context(), checker(func(context.Context, policy.Request) (policy.Decision, error) {
			return policy.Decision{Allowed: true}, tt.err
		}), tt.opt)
		if reached != tt.reached || status.Code(err) != tt.code || strings.Contains(status.Convert(err).Message(), "10.0.0.9") {
			t.Errorf("%s: reached %t, %v, want %t, %v", tt.name, reached, err, tt.reached, tt.code)
		}
		if _, ok := retryDelay(err); ok != (tt.code == codes.Unavailable) {
			t.Errorf("%s: RetryInfo %t", tt.name, ok)
		}
		if logged := strings.Contains(log.String(), tt.err.Error()); logged == (tt.opt.OnError != nil) {
			t.Errorf("%s: the log says %q", tt.name, log.String())
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	reached, err := direct(ctx, checker(func(ctx context.Context, _ policy.Request) (policy.Decision, error) {
		return policy.Decision{}, ctx.Err()
	}), interceptor.Options{})
	if reached || status.Code(err) != codes.Canceled {
		t.Errorf("a caller that has gone: reached %t, %v", reached, err)
	}
}

// TestWaitsForItsTurn: a call that a pacer admits later is served then, or not at all if its deadline comes before.
func TestWaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pacer := checker(func(context.Context, policy.Request) (policy.Decision, error) {
			return policy.Decision{Allowed: true, Limit: 10, RetryAfter: 3 * time.Second}, nil
		})
		begun := time.Now()
		if reached, err := direct(t.Context(), pacer, interceptor.Options{}); !reached || err != nil || time.Since(begun) != 3*time.Second {
			t.Errorf("reached %t, %v after %v, want its turn after 3 s", reached, err, time.Since(begun))
		}
		begun = time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		reached, err := direct(ctx, pacer, interceptor.Options{})
		if reached || status.Code(err) != codes.DeadlineExceeded || time.Since(begun) != time.Second {
			t.Errorf("with a deadline of 1 s: reached %t, %v after %v", reached, err, time.Since(begun))
		}
	})
}
