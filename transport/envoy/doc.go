// Package envoy answers Envoy's rate limit service, version 3 of its API, so that a gateway asks a node directly: Envoy itself, and what is
// built on it, such as Envoy Gateway, Contour, Gloo and Istio.
//
// Each descriptor of a request becomes a policy.Request that names no policy, and the policies whose conditions hold decide it. All
// descriptors are admitted together, or none of them is charged. What a policy can ask of a descriptor are attributes:
//
//	domain: edge
//	[remote_address: 192.0.2.7] [path: /v1/things]
//
//	domain          edge
//	descriptor      remote_address,path
//	remote_address  192.0.2.7
//	path            /v1/things
//
// The attribute descriptor has the keys of all entries in their order, so a policy that asks for it applies to descriptors of just these
// entries, and to none with more:
//
//	policies:
//	  edge.path:
//	    when: {domain: edge, descriptor: "remote_address,path", path: "/v1/*"}
//	    key: [remote_address]
//	    limits: [{rate: 100/min}]
//
// AttributeNames says what becomes of keys that are there twice, or that are no names of attributes. A policy without a condition is for
// every descriptor, and refuses the call if one lacks a part of its key: give all policies a condition where Envoy asks. The limit that a
// descriptor may bring is kept apart from those of policies, and from those of the same descriptor with another limit.
//
// A call that is denied takes nothing of any limit, which is where this differs from Envoy's reference service. So who charges afterwards, for
// what is known only then (apply_on_stream_done), must know that a charge which does not fit is not made.
//
// It does not decide anything, read Envoy's configuration or that of its reference service (drossel policy import does), or listen. It does
// not grant the quotas that the API has fields for, which no Envoy implements.
package envoy
