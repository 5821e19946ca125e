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
	// Strict has each check decided by Redis, which all nodes ask: exact whatever becomes of nodes, for a round trip to Redis.
	Strict
)

var consistencies = []string{"leased", "direct", "strict"}

// String returns the word used in YAML, and "unknown" for a value that is none of the constants.
func (c Consistency) String() string {
	if int(c) < len(consistencies) {
		return consistencies[c]
	}
	return "unknown"
}

// Leased says whether the buckets of a key may be lent. They are lent whole, so it is false if any limit is not Leased, or can't be lent:
// a pacer, a sliding window or a first-hit one. It does not allocate.
func (p *Policy) Leased() bool {
	return !slices.ContainsFunc(p.Limits, func(l Limit) bool { return l.Consistency != Leased || !l.Algorithm.Lends() })
}

// IsStrict says whether the policy's limits are Strict: all are, in shadow mode or not, or none is. It does not allocate.
func (p *Policy) IsStrict() bool { return len(p.Limits) > 0 && p.Limits[0].Consistency == Strict }

// strictly says whether a policy, or one of its tiers and overrides, has limits that are strict, and such that are not.
func (p *Policy) strictly() (some, others bool) {
	look := func(limits []Limit) {
		for _, l := range limits {
			some, others = some || l.Consistency == Strict, others || l.Consistency != Strict
		}
	}
	look(p.Limits)
	for _, of := range p.plans() {
		for _, plan := range of.plans {
			look(plan.Limits)
		}
	}
	return some, others
}

// wrongStrict says what is wrong with the consistency of the policy, or "".
func (p *Policy) wrongStrict() string {
	if some, others := p.strictly(); some && others {
		return "consistency: some of its limits are strict and others are not: write it once, for the policy, or make two of it and decide the one " +
			"with the other"
	}
	return ""
}
