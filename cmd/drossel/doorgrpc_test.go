package main

import (
	"context"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/api"
	"github.com/drossel-dev/drossel/transport/api/drosselv1"
)

type nobody struct{}

func (nobody) Check(context.Context, policy.Request) (policy.Decision, error) {
	return policy.Decision{}, nil
}
func (nobody) CheckBatch(context.Context, []policy.Request) []policy.Result { return nil }

// TestSilentCall: a call that never sends its message ends with its connection, though that answers every ping.
func TestSilentCall(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(bounds(100*time.Millisecond, 100*time.Millisecond)...)
	api.Register(server, nobody{}, nil)
	go server.Serve(l)
	defer server.Stop()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	begun := time.Now()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, drosselv1.RateLimiter_Check_FullMethodName)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.RecvMsg(new(drosselv1.Decision)); err == nil || ctx.Err() != nil {
		t.Errorf("%v after %v", err, time.Since(begun))
	}
	t.Logf("ended after %v", time.Since(begun).Round(time.Millisecond))
}
