// Package door is what all doors of a node have in common: who may come in is asked by one hook, and what was asked and answered is
// counted by door.
//
// A door is a way in for checks: the gRPC and JSON APIs, the HTTP authorization of gateways, Envoy's rate limit service. Each has a name,
// which is a label of metrics. What a door says and how it reads it is its own package's business.
//
// It does not decide anything, know any caller, or listen.
package door
