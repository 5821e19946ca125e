package cases

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// ErrInvalid is wrapped by every error about a text of cases.
var ErrInvalid = errors.New("invalid cases")

// ParseError is the error of Parse: all that is wrong with the text, in its order. It wraps ErrInvalid.
type ParseError struct{ Problems []policy.Problem }

// Error returns one line for each problem.
func (e *ParseError) Error() string {
	all := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		all[i] = p.String()
	}
	return strings.Join(all, "\n")
}

// Unwrap returns ErrInvalid.
func (e *ParseError) Unwrap() error { return ErrInvalid }

func (e *ParseError) sort() {
	slices.SortStableFunc(e.Problems, func(a, b policy.Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}
