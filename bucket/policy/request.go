package policy

import "github.com/drossel-dev/drossel/bucket"

// MaxKeyBytes bounds the key of one request: the bytes of all its parts together.
const MaxKeyBytes = 4 << 10

// Request asks for tokens. The zero Request names no policy and is refused.
//
// A Request is only read during the call; the caller owns its slices and maps.
type Request struct {
	// Policy names the policy that applies.
	Policy string
	// Key is the key, for a policy with exactly one key attribute. Any bytes, 1 to MaxKeyBytes; empty means absent.
	Key string
	// Parts are the values of the policy's key attributes in their order, for policies with any number of them. Unlike
	// in Key, an empty part is a value like any other. At most one of Key, Parts and the key attributes is read:
	// Parts if not nil, else Key if not empty, else Attributes.
	Parts []string
	// Attributes are what is known about the request, by name ("user", "ip", "tenant", ...).
	Attributes map[string]string
	// Cost is the number of tokens to take, 1 to bucket.MaxTokens; 0 means 1. To take none, set CheckOnly.
	Cost int64
	// Costs are costs by unit, 0 to bucket.MaxTokens, for limits that count another unit than requests. A unit that it lacks costs 0;
	// of requests there is 1, or Cost.
	Costs map[string]int64
	// Limit, if set, is applied instead of the policy's limits, in a bucket apart from the policy's. The policy need
	// not exist then, and its name is a name space for keys.
	Limit *bucket.Limit
	// Priority is carried with the request. Higher is served first where something waits; nothing does so far.
	Priority int
	// CheckOnly looks at the owner's bucket and takes nothing: the answer is the one that a take there would have got. Of
	// a leased key a take may be answered otherwise, for what is lent is not in that bucket.
	CheckOnly bool
	// Refund gives the cost back instead of taking it, of a request that was admitted before and came to nothing: to all limits that it
	// goes by, and never more than counts as taken. It is always allowed, and tells how the limits stand then. It is done once at the
	// most, and not at all while whoever decides can't be asked (Decision.Degraded): nothing is admitted more for it.
	Refund bool
}
