package policy

import "slices"

// Consistency says who may decide the checks of a limit.
type Consistency uint8

const (
	// Leased lets the owner of a key lend tokens to the nodes that are asked for it most, which then decide by
	// themselves. What is lent has left the owner's bucket, so there is no more of it than with Direct, but what is
	// lent and not spent is not there for others meanwhile.
	Leased Consistency = iota
	// Direct lends nothing: the owner of the key decides every check, which costs a round trip wherever else it is
	// asked.
	Direct
)

var consistencies = []string{"leased", "direct"}

// String returns the word used in YAML, and "unknown" for a value that is none of the constants.
func (c Consistency) String() string {
	if int(c) < len(consistencies) {
		return consistencies[c]
	}
	return "unknown"
}

// Leased says whether the buckets of a key may be lent. They are lent whole, so it is false if any limit is Direct, or can't be lent:
// a pacer, a sliding window or a first-hit one. It does not allocate.
func (p *Policy) Leased() bool {
	return !slices.ContainsFunc(p.Limits, func(l Limit) bool { return l.Consistency != Leased || !l.Algorithm.Lends() })
}
