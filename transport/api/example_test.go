package api_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/api"
	"github.com/drossel-dev/drossel/transport/api/drosselv1"
)

// generous allows everything.
type generous struct{}

func (generous) Check(_ context.Context, req policy.Request) (policy.Decision, error) {
	return policy.Decision{Allowed: true, Policy: req.Policy, DecidedBy: policy.Exempt}, nil
}

func (g generous) CheckBatch(ctx context.Context, reqs []policy.Request) []policy.Result {
	out := make([]policy.Result, len(reqs))
	for i, r := range reqs {
		out[i].Decision, out[i].Err = g.Check(ctx, r)
	}
	return out
}

func ExampleRegister() {
	s := grpc.NewServer()
	api.Register(s, generous{}, slog.Default()) // in a service: a node
	health := api.RegisterHealth(s)
	api.RegisterReflection(s)
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(lis) }()
	health.Resume() // once the node takes checks

	conn, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	in := &drosselv1.CheckRequest{Policy: "api", Key: []byte("user-1")}
	d, err := drosselv1.NewRateLimiterClient(conn).Check(context.Background(), in)
	fmt.Println(d.GetAllowed(), d.GetDecidedBy(), err)

	_ = conn.Close()
	s.Stop()
	if err := <-done; err != nil {
		log.Fatal(err)
	}
	// Output: true DECIDED_BY_EXEMPT <nil>
}

// A program that is no node asks two of them. What none has decided in time is let pass.
func ExampleDial() {
	client, err := api.Dial(api.ClientConfig{
		Endpoints: []string{"127.0.0.1:7070", "127.0.0.2:7070"},
		Deadline:  20 * time.Millisecond,
		Fallback:  api.FallbackAllow,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	d, err := client.Check(context.Background(), policy.Request{Policy: "api", Key: "ann"})
	fmt.Println(d.Allowed, d.DecidedBy, err) // nobody listens there
	// Output: true timeout <nil>
}
