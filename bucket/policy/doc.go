// Package policy is the language of limits: it reads policies from YAML, says all that is wrong with them at once, and
// turns a request into the key of the buckets that it draws on.
//
//	version: 1
//	policies:
//	  api:
//	    key: [user]
//	    limits: [{rate: 20/s, burst: 40}, {rate: 10_000/h}]
//	  payments:
//	    key: [user]
//	    consistency: direct # every check is decided by the owner of its key
//	    limits: [{rate: 5/min}]
//	  events:
//	    key: [sensor]
//	    sample: 10% # one check in ten is decided and charged for all ten
//	    limits: [{rate: 1k/s}]
//
// Everything here is pure: no file is opened, no clock read, nothing logged. A Set never changes, so it may be swapped
// for another while requests are running.
//
// What it does not do: the arithmetic of a limit (bucket), hashing a key or finding its bucket (bucket/table, node),
// leasing or sampling, of which it only says whether (node), or watching where policies come from.
package policy
