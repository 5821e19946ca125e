package policy_test

import (
	"errors"
	"testing"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
)

func TestTokens(t *testing.T) {
	for _, c := range []struct {
		cost  int64
		costs map[string]int64
		want  int64
		err   string
	}{
		{0, nil, 1, ""},
		{1, nil, 1, ""},
		{bucket.MaxTokens, nil, bucket.MaxTokens, ""},
		{0, map[string]int64{}, 1, ""},
		{3, map[string]int64{}, 3, ""},
		{0, map[string]int64{"requests": 7}, 7, ""},
		{7, map[string]int64{"requests": 7}, 7, ""},
		{-1, nil, 0, "cost is -1, want 1 to 9007199254740992 (2^53)"},
		{bucket.MaxTokens + 1, nil, 0, "cost is 9007199254740993, want 1 to 9007199254740992 (2^53)"},
		{0, map[string]int64{"requests": -1}, 0, "costs: requests is -1, want 1 to 9007199254740992 (2^53)"},
		{0, map[string]int64{"requests": bucket.MaxTokens + 1}, 0,
			"costs: requests is 9007199254740993, want 1 to 9007199254740992 (2^53)"},
		{0, map[string]int64{"requests": 0}, 0, "costs: requests is 0, want 1 or more: to take nothing, check only"},
		{3, map[string]int64{"requests": 7}, 0, "cost is 3 but costs says 7: give one of them"},
		{0, map[string]int64{"requests": 1, "output_tokens": 2, "input_tokens": 3}, 0,
			`costs: no limit counts unit "input_tokens", want "requests"`},
		{0, map[string]int64{"": 2, "x": 3}, 0, `costs: no limit counts unit "", want "requests"`},
	} {
		r := policy.Request{Cost: c.cost, Costs: c.costs}
		got, err := r.Tokens()
		switch {
		case c.err == "" && (err != nil || got != c.want):
			t.Errorf("cost %d, costs %v: %d, %v, want %d", c.cost, c.costs, got, err, c.want)
		case c.err != "" && (!errors.Is(err, policy.ErrInvalid) || err.Error() != "invalid request: "+c.err):
			t.Errorf("cost %d, costs %v: %v, want %s", c.cost, c.costs, err, c.err)
		}
	}
}

func TestTokensDoesNotAllocate(t *testing.T) {
	r := policy.Request{Costs: map[string]int64{"requests": 7}}
	if allocs := testing.AllocsPerRun(100, func() {
		if n, err := r.Tokens(); n != 7 || err != nil {
			t.Error(n, err)
		}
	}); allocs != 0 {
		t.Errorf("%v allocations, want none", allocs)
	}
}
