package schema

import (
	_ "embed"
	"slices"
)

//go:embed schema.json
var text []byte

// Text returns the schema. The slice is the caller's.
func Text() []byte { return slices.Clone(text) }
