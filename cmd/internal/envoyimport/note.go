package envoyimport

import "fmt"

// Note says what could not be carried over, and what to do instead.
type Note struct {
	// File and Line, from 1, are where it is written, and Field is what.
	File  string
	Line  int
	Field string
	// Text says why, and what to do instead.
	Text string
	// Decides says that some decisions are others without it.
	Decides bool
}

// String returns "file:line: field: text".
func (n Note) String() string { return fmt.Sprintf("%s:%d: %s: %s", n.File, n.Line, n.Field, n.Text) }
