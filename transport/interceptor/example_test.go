package interceptor_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/interceptor"
)

// once admits one call of each key, and the next a minute later.
type once map[string]bool

func (o once) Check(_ context.Context, req policy.Request) (policy.Decision, error) {
	d := policy.Decision{Allowed: !o[req.Key], Policy: req.Policy, LimitName: "minute", Limit: 1, ResetAfter: time.Minute, DecidedBy: policy.Owner}
	if !d.Allowed {
		d.RetryAfter = time.Minute
	}
	o[req.Key] = true
	return d, nil
}

// run starts a server with these options and hands a client to use.
func run(use func(grpc_testing.TestServiceClient), opts ...grpc.ServerOption) {
	s := grpc.NewServer(opts...)
	grpc_testing.RegisterTestServiceServer(s, service{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
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

func ExampleUnary() {
	var limiter interceptor.Checker = once{} // in a service: a node
	run(func(client grpc_testing.TestServiceClient) {
		for range 2 {
			var md metadata.MD
			_, err := client.UnaryCall(context.Background(), new(grpc_testing.SimpleRequest), grpc.Header(&md))
			fmt.Println(md["ratelimit-remaining"], status.Code(err), err)
		}
	}, grpc.UnaryInterceptor(interceptor.Unary(limiter, interceptor.Options{Policy: "calls"})))
	// Output:
	// [0] OK <nil>
	// [0] ResourceExhausted rpc error: code = ResourceExhausted desc = rate limit "minute" of policy "calls" is used up: retry in 1m0s
}

// The opening of a stream is admitted, and its first message is one too many.
func ExampleStream() {
	perMessage := interceptor.Options{Policy: "messages", PerMessage: true}
	run(func(client grpc_testing.TestServiceClient) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		stream, err := client.FullDuplexCall(ctx)
		if err != nil {
			log.Fatal(err)
		}
		if err := stream.Send(new(grpc_testing.StreamingOutputCallRequest)); err != nil && !errors.Is(err, io.EOF) {
			log.Fatal(err)
		}
		_, err = stream.Recv()
		fmt.Println(status.Convert(err).Message())
	}, grpc.StreamInterceptor(interceptor.Stream(once{}, perMessage)))
	// Output: rate limit "minute" of policy "messages" is used up: retry in 1m0s
}

// Callers are told apart by a key that somebody in front has checked; each service has its own policy.
func ExampleMetadataKey() {
	byKey := interceptor.Unary(once{}, interceptor.Options{
		PolicyFor: func(method string) string {
			return map[bool]string{true: "logins", false: "calls"}[method == "/shop.v1.Users/LogIn"]
		},
		Key: interceptor.MetadataKey("x-api-key"),
	})
	run(func(client grpc_testing.TestServiceClient) {
		for _, key := range []string{"ann", "ann", "ben", ""} {
			ctx := metadata.AppendToOutgoingContext(context.Background(), "x-api-key", key)
			_, err := client.UnaryCall(ctx, new(grpc_testing.SimpleRequest))
			fmt.Println(status.Code(err))
		}
	}, grpc.UnaryInterceptor(byKey))
	// Output:
	// OK
	// ResourceExhausted
	// OK
	// InvalidArgument
}
