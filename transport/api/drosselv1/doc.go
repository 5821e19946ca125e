// Package drosselv1 is the native gRPC API as generated code: messages, client and server of drossel.v1.RateLimiter.
//
// Everything but this file and generate.go is made from drossel.proto. It does not decide, validate or convert
// anything; package api serves it.
package drosselv1
