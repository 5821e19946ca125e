package review

import (
	"fmt"
	"strings"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// Counts is how much there is in a set. The zero Counts is that of an empty one.
type Counts struct {
	Policies int
	// Limits are all that there are: those of tiers and overrides too.
	Limits           int
	Tiers, Overrides int
}

// Count counts what is in a set.
func Count(set *policy.Set) (c Counts) {
	for _, p := range set.Definition().Policies {
		c.Policies++
		c.Tiers += len(p.Tiers)
		c.Overrides += len(p.Overrides)
		c.Limits += len(p.Limits)
		for _, plans := range []map[string]policy.Plan{p.Tiers, p.Overrides} {
			for _, plan := range plans {
				c.Limits += len(plan.Limits)
			}
		}
	}
	return c
}

// String returns it in words: "2 policies, 5 limits, 3 tiers, 1 override".
func (c Counts) String() string {
	return strings.Join([]string{
		number(c.Policies, "policy", "policies"), number(c.Limits, "limit", "limits"),
		number(c.Tiers, "tier", "tiers"), number(c.Overrides, "override", "overrides"),
	}, ", ")
}

func number(n int, one, many string) string {
	if n == 1 {
		many = one
	}
	return fmt.Sprintf("%d %s", n, many)
}
