// Package envoyimport turns the configuration of Envoy's reference rate limit service (envoyproxy/ratelimit) into policies that decide the
// same for the descriptors that Envoy sends, which package transport/envoy turns into attributes.
//
//	domain: edge                          policies:
//	descriptors:                            edge.path=/v1/*.user:
//	- key: path                               when: {domain: [edge], descriptor: ['path,user'], path: [/v1/*]}
//	  value: /v1/*                 ->         key: [path, user]
//	  descriptors:                            limits: [{algorithm: fixed_window, rate: 10/min}]
//	  - key: user
//	    rate_limit: {unit: minute, requests_per_unit: 10}
//
// The service walks a tree: of the descriptors of a level an exact value goes before patterns, those in the order of the file, and these
// before a bare key; it never turns back; and a rule applies only at the last entry of a request. So a rule becomes one policy, whose
// condition asks for just these keys, the values on its way, and that nothing that would have gone before holds.
//
// In two ways the policies are better on purpose. There is no confusion of key a_b and value c with key a and value b_c, which the service
// takes for the same; and a value that has a star in it is any value, while the service lets it find the pattern that is written like it.
//
// What it does not do: guess. What can't be carried over is left out and noted, with its line, and whether decisions differ for it. It does not
// read what the service has from its environment, such as its global shadow mode.
package envoyimport
