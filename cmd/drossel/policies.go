package main

import (
	"fmt"
	"io"
	"os"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/cmd/internal/cases"
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

// readText reads a file, or stdin if its name is "-". See readSome.
func readText(name string, stdin io.Reader) ([]byte, error) {
	if name == "-" {
		return readSome("stdin", stdin)
	}
	return readFile(name)
}

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, unknown(err)
	}
	defer f.Close()
	return readSome(name, f)
}

// readSome reads no more than is refused as too large, of policies and of cases alike.
func readSome(name string, from io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(from, max(policy.MaxTextBytes, cases.MaxTextBytes)+1))
	if err != nil {
		return nil, unknown(fmt.Errorf("read %s: %w", name, err))
	}
	return text, nil
}
