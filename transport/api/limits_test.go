package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/api/drosselv1"
)

// shelf is a LimitsStore in memory.
type shelf map[string]string

func (s shelf) SetLimits(_ context.Context, keys []policy.KeyLimits) []policy.KeyResult {
	out := make([]policy.KeyResult, len(keys))
	for i, k := range keys {
		if k.Policy == "none" {
			out[i].Err = fmt.Errorf("%w none", policy.ErrUnknownPolicy)
			continue
		}
		s[fmt.Sprintf("%s%q", k.Policy, k.Parts)] = k.Text
		out[i] = policy.KeyResult{Number: uint64(i + 1), Owner: "n1", Copied: true}
	}
	return out
}

func (s shelf) Limits(_ context.Context, k policy.KeyLimits) (policy.KeyLimits, policy.KeyResult, error) {
	if k.Policy == "fire" {
		return k, policy.KeyResult{}, errors.New("disk on fire")
	}
	k.Text = s[fmt.Sprintf("%s%q", k.Policy, k.Parts)]
	return k, policy.KeyResult{Number: 7, Owner: "n1"}, nil
}

func TestLimits(t *testing.T) {
	var log bytes.Buffer
	lis := bufconn.Listen(1 << 20)
	server := grpc.NewServer()
	store := shelf{}
	RegisterLimits(server, store, slog.New(slog.NewTextHandler(&log, nil)))
	done := make(chan error, 1)
	go func() { done <- server.Serve(lis) }()
	conn, err := grpc.NewClient("passthrough:///memory", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		conn.Close()
		server.Stop()
		<-done
	}()
	client := drosselv1.NewLimitsStoreClient(conn)
	key := func(policy string, parts ...string) *drosselv1.LimitsKey {
		k := &drosselv1.LimitsKey{Policy: policy}
		for _, part := range parts {
			k.Parts = append(k.Parts, []byte(part))
		}
		return k
	}
	set, err := client.SetLimits(t.Context(), &drosselv1.SetLimitsRequest{Keys: []*drosselv1.KeyLimits{
		{Key: key("api", "\xff"), Limits: "tier: gold"}, {Key: key("none", "x")}, {Key: key("llm", "a", ""), Limits: "unlimited: true"},
	}})
	if err != nil || len(set.GetResults()) != 3 {
		t.Fatal(set, err)
	}
	if s := set.GetResults()[2].GetStored(); s.GetNumber() != 3 || s.GetOwner() != "n1" || s.GetKept() || !s.GetCopied() {
		t.Errorf("%v", s)
	}
	if e := set.GetResults()[1].GetError(); e.GetCode() != int32(codes.NotFound) || !strings.Contains(e.GetMessage(), "none") {
		t.Errorf("%v", e)
	}
	got, err := client.GetLimits(t.Context(), &drosselv1.GetLimitsRequest{Key: key("api", "\xff")})
	if err != nil || got.GetLimits() != "tier: gold" || got.GetNumber() != 7 || got.GetOwner() != "n1" {
		t.Errorf("%v, %v", got, err)
	}
	if store[`llm["a" ""]`] != "unlimited: true" {
		t.Errorf("%q", store)
	}
	for of, want := range map[*drosselv1.LimitsKey]codes.Code{key("api", "ann"): codes.NotFound, key("fire"): codes.Internal} {
		if _, err := client.GetLimits(t.Context(), &drosselv1.GetLimitsRequest{Key: of}); status.Code(err) != want {
			t.Errorf("%v: %v, want %v", of, err, want)
		}
	}
	if !strings.Contains(log.String(), "disk on fire") {
		t.Error("a fault is not logged")
	}
	many := make([]*drosselv1.KeyLimits, MaxBatch+1)
	if _, err := client.SetLimits(t.Context(), &drosselv1.SetLimitsRequest{Keys: many}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("%d at once: %v", len(many), err)
	}
}
