package envoy_test

import (
	"context"
	"fmt"
	"log"
	"net"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/node"
	"github.com/drossel-dev/drossel/transport/envoy"
)

// A node answers Envoy: two requests of one address are admitted in an hour, the third is over the limit.
func ExampleRegister() {
	ctx := context.Background()
	policies, err := policy.Parse("limits.yaml", []byte(`
version: 1
policies:
  edge.address:
    when: {domain: edge, descriptor: remote_address}
    key: [remote_address]
    limits: [{rate: 2/h}]
`))
	if err != nil {
		log.Fatal(err)
	}
	n, err := node.New(node.Config{Policies: policies})
	if err != nil {
		log.Fatal(err)
	}
	if err := n.Start(ctx); err != nil {
		log.Fatal(err)
	}
	defer n.Close()

	s := grpc.NewServer()
	service := envoy.Register(s, n, envoy.Options{})
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(lis) }()

	conn, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	in := &rls.RateLimitRequest{Domain: "edge", Descriptors: []*common.RateLimitDescriptor{
		{Entries: []*common.RateLimitDescriptor_Entry{{Key: "remote_address", Value: "192.0.2.7"}}},
	}}
	for range 3 {
		out, err := rls.NewRateLimitServiceClient(conn).ShouldRateLimit(ctx, in)
		fmt.Println(out.GetOverallCode(), out.GetStatuses()[0].GetLimitRemaining(), err)
	}
	fmt.Printf("%+v\n", service.Stats())

	_ = conn.Close()
	s.Stop()
	if err := <-done; err != nil {
		log.Fatal(err)
	}
	// Output:
	// OK 1 <nil>
	// OK 0 <nil>
	// OVER_LIMIT 0 <nil>
	// {Requests:3 OverLimit:1 UnknownDomain:0 Errors:0}
}

// What a policy has in its condition and key, to be for descriptors of these entries.
func ExampleAttributeNames() {
	keys := []string{"user", "user", "a b", "domain"}
	fmt.Println(envoy.AttributeNames(keys))
	fmt.Println(envoy.DescriptorText(keys))
	fmt.Printf("%q %q\n", envoy.AttributeValue("ann"), envoy.AttributeValue(""))
	// Output:
	// [user user#2 a%20b domain#2]
	// user,user,a%20b,domain
	// "ann" "\x00"
}
