package api

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	"github.com/drossel-dev/drossel/transport/api/drosselv1"
)

// RegisterHealth serves gRPC health v1 on s, for the whole server ("") and for the native API by its name. Both are
// NOT_SERVING until Resume is called on the result, and after Shutdown is. Its methods are safe for concurrent use.
//
// Only the node's own state belongs there: a peer or a client in trouble must not take a node out of service.
func RegisterHealth(s grpc.ServiceRegistrar) *health.Server {
	h := health.NewServer()
	h.SetServingStatus(drosselv1.RateLimiter_ServiceDesc.ServiceName, grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	h.Shutdown() // until Resume: "" would be SERVING
	grpc_health_v1.RegisterHealthServer(s, h)
	return h
}

// RegisterReflection serves reflection on s, so that tools such as grpcurl need no .proto file. What is registered
// later is listed too.
func RegisterReflection(s reflection.GRPCServer) { reflection.Register(s) }
