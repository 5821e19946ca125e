package drosselv1

// Needs protoc 3.21 or later, and on the PATH protoc-gen-go v1.36.12 and protoc-gen-go-grpc v1.6.2.
//go:generate protoc -I .. --go_out=paths=source_relative:.. --go-grpc_out=paths=source_relative:.. drosselv1/drossel.proto
