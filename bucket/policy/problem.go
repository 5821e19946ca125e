package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with a text of policies, and where.
type Problem struct {
	// File is the name that Parse was given.
	File string
	// Line and Column count from 1.
	Line, Column int
	// Text says what is wrong and what to write instead.
	Text string
}

// String returns "file:line:column: text".
func (p Problem) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Text)
}

// ParseError is the error of Parse: all that is wrong with the text, in the order of the text. It wraps
// ErrInvalidPolicy.
type ParseError struct{ Problems []Problem }

// Error returns one line for each problem; beyond a hundred it only says how many there are.
func (e *ParseError) Error() string {
	const most = 100
	var text strings.Builder
	for i, p := range e.Problems {
		if i == most {
			fmt.Fprintf(&text, "\nand %d more", len(e.Problems)-most)
			break
		}
		if i > 0 {
			text.WriteByte('\n')
		}
		text.WriteString(p.String())
	}
	return text.String()
}

// Unwrap returns ErrInvalidPolicy.
func (e *ParseError) Unwrap() error { return ErrInvalidPolicy }

// sort puts the problems into the order of the text.
func (e *ParseError) sort() {
	slices.SortStableFunc(e.Problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}
