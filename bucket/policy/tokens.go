package policy

import (
	"fmt"
	"maps"
	"slices"

	"github.com/drossel-dev/drossel/bucket"
)

// requests is the unit of every limit so far.
const requests = "requests"

// Tokens returns the number of tokens to take: Cost, or Costs["requests"], or 1 if neither is given. It is 1 to
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
		if unit != requests {
			return 0, fmt.Errorf("%w: costs: unit %s is not known to this version, want %q",
				ErrInvalid, quoted(leastUnit(r.Costs)), requests)
		}
	}
	if err := checkCost("cost", r.Cost); err != nil {
		return 0, err
	}
	cost, given := r.Costs[requests]
	if !given {
		return max(r.Cost, 1), nil
	}
	if err := checkCost("costs: requests", cost); err != nil {
		return 0, err
	}
	switch {
	case cost == 0:
		return 0, fmt.Errorf("%w: costs: requests is 0, want 1 or more: to take nothing, check only", ErrInvalid)
	case r.Cost != 0 && r.Cost != cost:
		return 0, fmt.Errorf("%w: cost is %d but costs says %d: give one of them", ErrInvalid, r.Cost, cost)
	}
	return cost, nil
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
	return slices.DeleteFunc(units, func(unit string) bool { return unit == requests })[0]
}
