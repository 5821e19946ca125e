package main

import (
	"fmt"
	"os"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// readPolicies reads a file of policies; without a name there are none.
func readPolicies(name string) (*policy.Set, error) {
	if name == "" {
		return nil, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, unknown(fmt.Errorf("read the policies: %w", err))
	}
	return policy.Parse(name, text)
}
