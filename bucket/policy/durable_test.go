package policy_test

import (
	"testing"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// TestDurable: a limit says it for itself, or its policy for it.
func TestDurable(t *testing.T) {
	set, err := policy.Parse("limits.yaml", []byte(`version: 1
policies:
  all: {key: [user], durable: true, limits: [{rate: 1/s}, {rate: 9/min, durable: false}]}
  one: {key: [user], limits: [{rate: 1/s}, {rate: 9/min, durable: true}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]bool{"all": {true, false}, "one": {false, true}} {
		p, err := set.Policy(name)
		if err != nil || p.Limits[0].Durable != want[0] || p.Limits[1].Durable != want[1] {
			t.Errorf("%s: %+v %v", name, p.Limits, err)
		}
	}
}
