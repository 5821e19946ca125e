// Package policy is the language of limits: it reads policies from YAML, says all that is wrong with them at once, and
// turns a request into the key of the buckets that it draws on.
//
//	version: 1
//	attributes: {ip: {ipv4: 32, ipv6: 64}}
//	exempt: [{route: /healthz}]
//	policies:
//	  anonymous: {when: {user: absent}, key: [ip], limits: [{rate: 30/min}]}
//	  api:
//	    when: {user: present, route: "/v1/*"} # which requests it is for that name no policy
//	    key: [user]
//	    limits: [{rate: 20/s, burst: 40}, {rate: 10_000/h}]
//	    tiers: {gold: {limits: [{rate: 200/s}]}, staff: {unlimited: true}}
//	  payments:
//	    key: [user]
//	    consistency: direct # every check is decided by the owner of its key
//	    on_unreachable: deny # and none if that can't be asked
//	    on_owner_loss: empty # nor twice because it was lost
//	    limits: [{rate: 5/min}]
//	  events:
//	    key: [sensor]
//	    sample: 10% # one check in ten is decided and charged for all ten
//	    on_unreachable: allow # never in the way of an event because a node is down
//	    limits: [{rate: 1k/s}]
//	  mail:
//	    key: [domain]
//	    with: [customer] # and on that one's key, all or none
//	    limits: [{algorithm: pacer, rate: 5/s, max_wait: 2s}] # "go in 400 ms"
//	  customer:
//	    key: [customer]
//	    limits: [{quota: 10k/month, zone: Europe/Berlin, overage: 20%}]
//
// A Definition is the same in Go. Match says which policies are for a request, For which of a policy's variants it gets (its own
// limits, a tier's, an override's), and Explain both, in words.
//
// Everything here is pure: no file is opened, no clock read, nothing logged. A Set never changes, so it may be swapped
// for another while requests are running.
//
// What it does not do: the arithmetic of a limit (bucket), hashing a key or finding its bucket (bucket/table, node),
// leasing, sampling or acting on failures, of which it only says whether and how (node), or watching where policies
// come from.
package policy
