package api

import (
	"bytes"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
)

func TestHealth(t *testing.T) {
	const serving, not = grpc_health_v1.HealthCheckResponse_SERVING, grpc_health_v1.HealthCheckResponse_NOT_SERVING
	h := RegisterHealth(grpc.NewServer())
	steps := []struct {
		name string
		do   func()
		want grpc_health_v1.HealthCheckResponse_ServingStatus
	}{
		{"new", func() {}, not},
		{"resumed", h.Resume, serving},
		{"shut down", h.Shutdown, not},
	}
	for _, step := range steps {
		step.do()
		for _, service := range []string{"", "drossel.v1.RateLimiter"} {
			got, err := h.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: service})
			if err != nil || got.GetStatus() != step.want {
				t.Errorf("%s: health of %q = %v, %v, want %v", step.name, service, got.GetStatus(), err, step.want)
			}
		}
	}
}

func TestHealthOverTheWire(t *testing.T) {
	conn := serve(t, &limiter{answer: allow}, new(bytes.Buffer))
	got, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	if err != nil || got.GetStatus() != grpc_health_v1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("health = %v, %v, want NOT_SERVING", got, err)
	}
}

func TestReflection(t *testing.T) {
	conn := serve(t, &limiter{answer: allow}, new(bytes.Buffer))
	stream, err := grpc_reflection_v1.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ask := func(in *grpc_reflection_v1.ServerReflectionRequest) *grpc_reflection_v1.ServerReflectionResponse {
		t.Helper()
		if err := stream.Send(in); err != nil {
			t.Fatal(err)
		}
		out, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	var names []string
	out := ask(&grpc_reflection_v1.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}})
	for _, s := range out.GetListServicesResponse().GetService() {
		names = append(names, s.GetName())
	}
	for _, want := range []string{"drossel.v1.RateLimiter", "grpc.health.v1.Health"} {
		if !slices.Contains(names, want) {
			t.Errorf("reflection lists %q, want %s among them", names, want)
		}
	}
	out = ask(&grpc_reflection_v1.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{
			FileContainingSymbol: "drossel.v1.Decision"}})
	if len(out.GetFileDescriptorResponse().GetFileDescriptorProto()) == 0 {
		t.Errorf("reflection does not know drossel.v1.Decision: %v", out)
	}
	if err := stream.CloseSend(); err != nil {
		t.Error(err)
	}
}
