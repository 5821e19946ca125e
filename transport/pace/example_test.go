package pace_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/interop/grpc_testing"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/interceptor"
	"github.com/drossel-dev/drossel/transport/pace"
)

// The server denies the first request and says when to come back. The client does, once more at the most.
func ExampleTransport() {
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) == 1 {
			w.Header().Set("Retry-After-Ms", "150")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		fmt.Fprint(w, "hello")
	}))
	defer server.Close()

	client := &http.Client{Transport: &pace.Transport{Options: pace.Options{MaxAttempts: 2, MaxWait: 5 * time.Second}}}
	begun := time.Now()
	resp, err := client.Get(server.URL)
	if err != nil {
		log.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	fmt.Printf("%s after %d requests, not before its time: %t\n", body, requests.Load(), time.Since(begun) >= 150*time.Millisecond)
	client.CloseIdleConnections()
	// Output: hello after 2 requests, not before its time: true
}

// once admits one request of each key, and the next a minute later.
type once map[string]bool

func (o once) Check(_ context.Context, req policy.Request) (policy.Decision, error) {
	d := policy.Decision{Allowed: !o[req.Key], Policy: req.Policy, LimitName: "minute", Limit: 1, DecidedBy: policy.Owner}
	if !d.Allowed {
		d.RetryAfter = time.Minute
	}
	o[req.Key] = true
	return d, nil
}

// The whole fleet asks one limit before it calls out. Nothing is sent that would be too much.
func ExampleTransport_limiter() {
	var limiter pace.Checker = once{} // in a service: a node
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	client := &http.Client{Transport: &pace.Transport{
		Key:     func(*http.Request) string { return "partner" },
		Options: pace.Options{Limiter: limiter, Policy: "outgoing", MaxWait: time.Second},
	}}
	for range 2 {
		resp, err := client.Get(server.URL)
		var limited *pace.LimitedError
		if errors.As(err, &limited) {
			fmt.Println(limited)
			continue
		} else if err != nil {
			log.Fatal(err)
		}
		_ = resp.Body.Close()
		fmt.Println("sent")
	}
	client.CloseIdleConnections()
	// Output:
	// sent
	// rate limited, and not sent: limit "minute" of policy "outgoing": retry in 1m0s
}

// run starts a server that admits one call a minute, and hands a client to use.
func run(use func(grpc_testing.TestServiceClient), opts ...grpc.DialOption) {
	perMinute := interceptor.Options{Policy: "calls"}
	s := grpc.NewServer(grpc.UnaryInterceptor(interceptor.Unary(once{}, perMinute)), grpc.StreamInterceptor(interceptor.Stream(once{}, perMinute)))
	grpc_testing.RegisterTestServiceServer(s, pong{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	conn, err := grpc.NewClient(l.Addr().String(), append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		log.Fatal(err)
	}
	use(grpc_testing.NewTestServiceClient(conn))
	_ = conn.Close()
	s.Stop()
	if err := <-done; err != nil {
		log.Fatal(err)
	}
}

// pong answers calls.
type pong struct {
	grpc_testing.UnimplementedTestServiceServer
}

func (pong) EmptyCall(context.Context, *grpc_testing.Empty) (*grpc_testing.Empty, error) {
	return new(grpc_testing.Empty), nil
}

func (pong) StreamingOutputCall(*grpc_testing.StreamingOutputCallRequest, grpc_testing.TestService_StreamingOutputCallServer) error {
	return nil
}

// The second call is denied by the server, and the third not made: the server has said that a minute must pass.
func ExampleUnaryClient() {
	run(func(client grpc_testing.TestServiceClient) {
		for range 3 {
			_, err := client.EmptyCall(context.Background(), new(grpc_testing.Empty))
			fmt.Println(err != nil, errors.Is(err, pace.ErrLimited))
		}
	}, grpc.WithUnaryInterceptor(pace.UnaryClient(pace.CallOptions{})))
	// Output:
	// false false
	// true false
	// true true
}

func ExampleStreamClient() {
	run(func(client grpc_testing.TestServiceClient) {
		for range 3 {
			stream, err := client.StreamingOutputCall(context.Background(), new(grpc_testing.StreamingOutputCallRequest))
			if err == nil {
				_, err = stream.Recv()
			}
			fmt.Println(errors.Is(err, io.EOF), errors.Is(err, pace.ErrLimited))
		}
	}, grpc.WithStreamInterceptor(pace.StreamClient(pace.CallOptions{})))
	// Output:
	// true false
	// false false
	// false true
}
