// Package cases runs test cases of policies: requests at instants of a virtual time, and what is expected of each.
//
//	policies: limits.yaml            # beside this file
//	start: 2026-03-01T00:00:00Z      # what the clock says first; default 2026-01-01T00:00:00Z
//	cases:
//	  - name: a free user gets five a second
//	    attributes: {user: ann, tier: free, route: /v1/things}
//	    steps:
//	      - {times: 5, expect: {allowed: true}}
//	      - {expect: {allowed: false, policy: api, limit: api, retry_after: 200ms}}
//	      - {at: 1s, times: 8, expect: {allowed: 5, remaining: 0}}
//	      - {at: 1min, every: 200ms, times: 1000, expect: {allowed: true}}
//
// Every case begins with a node of its own and nothing taken. A step is at a time since the start, such as 90s or 1d, or at an instant
// such as 2026-03-31T23:59:59Z; it says nothing of it if it is at the time of the step before. Time does not go back. It asks once, or
// so many times, all at that time, or one every so often. Its request has
// what a check has: policy, key, attributes, cost and costs; a cost of 0 takes nothing and is answered all the same. The attributes of
// a case are those of all its steps, but for those that a step gives itself.
//
// Of several times "allowed" says how many are to be: true is all, false is none, a number so many of them. Everything else is said of
// the last. Or it is to be "refused", with a text that the reason has.
//
// A node that decides is the one that runs in production, alone. What it does not do: lend, for there is nobody to lend to, sample,
// which would go by real time (every check is decided), read files, or wait.
package cases
