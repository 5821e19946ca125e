package headers

import (
	"strings"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// spoken are the decisions of limits that bind the client.
func spoken(ds []policy.Decision) (told []*policy.Decision) {
	for i := range ds {
		switch d := &ds[i]; d.DecidedBy {
		case policy.Timeout, policy.Exempt, policy.NoPolicy, policy.Shadow, policy.MissingKey:
		default:
			told = append(told, d)
		}
	}
	return told
}

func anyShadow(ds []policy.Decision) bool {
	for i := range ds {
		if ds[i].ShadowDenied {
			return true
		}
	}
	return false
}

// mostPressing is the decision that denied, of several the one to wait for longest, else the one with the least left; nil of none.
func mostPressing(told []*policy.Decision) (one *policy.Decision) {
	for _, d := range told {
		if one == nil || presses(d, one) {
			one = d
		}
	}
	return one
}

func presses(d, one *policy.Decision) bool {
	switch {
	case d.Allowed != one.Allowed:
		return one.Allowed
	case !d.Allowed && d.Never != one.Never:
		return d.Never
	case !d.Allowed:
		return d.RetryAfter > one.RetryAfter
	}
	return float64(d.Remaining)*float64(one.Limit) < float64(one.Remaining)*float64(d.Limit)
}

// windowed are the decisions of limits that have a window, for styles in which nothing can be said of others.
func windowed(told []*policy.Decision) (some []*policy.Decision) {
	for _, d := range told {
		if d.Window > 0 {
			some = append(some, d)
		}
	}
	return some
}

// sameName says that two items would go by one name; sameLimit that their numbers are one, by which items go that have no name.
func sameName(a, b *policy.Decision) bool  { return limitName(a) == limitName(b) }
func sameLimit(a, b *policy.Decision) bool { return a.Limit == b.Limit }

// listed joins what is said of each decision. Of several that are the same the one that presses is told.
func listed(told []*policy.Decision, same func(a, b *policy.Decision) bool, say func(*policy.Decision) string) string {
	var parts []string
	for i, d := range told {
		hidden := false
		for j, other := range told {
			if i != j && same(other, d) && (presses(other, d) || !presses(d, other) && j < i) {
				hidden = true
			}
		}
		if !hidden {
			parts = append(parts, say(d))
		}
	}
	return strings.Join(parts, ", ")
}
