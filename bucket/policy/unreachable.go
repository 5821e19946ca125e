package policy

// Unreachable says what a limit does about a check that nobody can decide in time: the owner of the key is down, slow
// or cut off, or it has no memory left for one more key. Such decisions are Degraded. What a node decides with tokens
// that the owner has lent it needs no such rule, and a cost above a limit's burst is denied whatever that says.
//
// Limits of one policy may differ: one that denies denies the check; else those that are UnreachableAllow are left out,
// and the others must all admit.
type Unreachable uint8

const (
	// UnreachableLocal lets each node admit its share: of N nodes, the N-th part of the rate and of the burst. All
	// together then admit no more than the limit, or twice that while an owner that some cannot reach admits others.
	UnreachableLocal Unreachable = iota
	// UnreachableDeny denies: nothing is admitted beyond the limit. DecidedBy is Timeout.
	UnreachableDeny
	// UnreachableAllow admits whatever comes. DecidedBy is Timeout if no limit of the policy had a share to ask.
	UnreachableAllow
)

var unreachables = []string{"local", "deny", "allow"}

// String returns the word used in YAML, and "unknown" for a value that is none of the constants.
func (u Unreachable) String() string {
	if int(u) < len(unreachables) {
		return unreachables[u]
	}
	return "unknown"
}
