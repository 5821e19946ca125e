// Package policy is the language of limits: it reads policies from YAML, says all that is wrong with them at once, and
// turns a request into the key of the buckets that it draws on.
//
//	version: 1
//	policies:
//	  api:
//	    key: [user]
//	    limits: [{rate: 20/s, burst: 40}, {rate: 10_000/h}]
//
// Everything here is pure: no file is opened, no clock read, nothing logged. A Set never changes, so it may be swapped
// for another while requests are running.
//
// What it does not do: the arithmetic of a limit (bucket), hashing a key or finding its bucket (bucket/table, node), or
// watching where policies come from.
package policy
