// Package api serves the native API, drossel.v1.RateLimiter, over gRPC, and asks for it: Register is for nodes, and Dial for programs that are
// none.
//
// The server turns messages into requests and decisions into messages, and errors into status codes; the messages themselves
// are in drosselv1. A denial is an answer, never an RPC error. Messages are received up to gRPC's default of 4 MiB,
// unless the server is made with another limit: room for 1,000 checks whose keys are all of the largest size. The client does the reverse,
// over as many nodes as it is told of, with what it has to ask in as few calls as there may be.
//
// It does not decide anything but what no node has decided in time, listen, or terminate TLS: whoever makes the grpc.Server does.
package api
