package policy

import (
	"fmt"
	"maps"
	"slices"

	"github.com/drossel-dev/drossel/bucket"
)

// Tokens returns the number of tokens that a request with a limit of its own takes: Cost, or Costs["requests"], or 1 if neither is given. It is 1 to
// bucket.MaxTokens. The error wraps ErrInvalid and says what to do: if a cost is out of range, if Costs has another
// unit or says 0, or if Cost and Costs differ.
func (r *Request) Tokens() (int64, error) {
	if r.Costs == nil && 0 <= r.Cost && r.Cost <= bucket.MaxTokens { // nearly every request, and short enough to inline
		return max(r.Cost, 1), nil
	}
	return r.tokens()
}

func (r *Request) tokens() (int64, error) {
	for unit := range r.Costs {
		if unit != Requests {
			return 0, unknownUnit(leastUnit(r.Costs), nil)
		}
	}
	if err := checkCost("cost", r.Cost); err != nil {
		return 0, err
	}
	cost, given := r.Costs[Requests]
	if !given {
		return max(r.Cost, 1), nil
	}
	if err := checkCost("costs: requests", cost); err != nil {
		return 0, err
	}
	return cost, checkRequests(r)
}

func checkCost(field string, cost int64) error {
	if cost < 0 || cost > bucket.MaxTokens {
		return fmt.Errorf("%w: %s is %d, want 1 to %d (2^53)", ErrInvalid, field, cost, int64(bucket.MaxTokens))
	}
	return nil
}

// leastUnit returns the first of the unknown units in the order of the alphabet: a message must not vary.
func leastUnit(costs map[string]int64) string {
	units := slices.Sorted(maps.Keys(costs))
	return slices.DeleteFunc(units, func(unit string) bool { return unit == Requests })[0]
}
