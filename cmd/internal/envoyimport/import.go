package envoyimport

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// File is one file of a configuration.
type File struct {
	// Name is used in messages and comments only.
	Name string
	Text []byte
}

// Result is what becomes of files.
type Result struct {
	// Policies is a file of policies, such that policy.Parse has nothing against it.
	Policies []byte
	// Notes say what could not be carried over, in the order of the files and their lines.
	Notes []Note
}

// Lossy says whether some decisions are others than those of Envoy's service.
func (r *Result) Lossy() bool {
	return slices.ContainsFunc(r.Notes, func(n Note) bool { return n.Decides })
}

// ErrTooLong says that the policies would be more than a file of them may have.
var ErrTooLong = errors.New("the policies are too long")

// Import returns the policies that decide as Envoy's service does with these files, one or several of which may be of a domain. Reading is
// strict: an unknown field is an error, and so is what the service refuses. The error is a *policy.ParseError that has all that is wrong with
// any file, with line and column, or wraps ErrTooLong.
func Import(files []File) (*Result, error) {
	r := reader{seen: map[place]*descriptor{}}
	names := make([]string, len(files))
	for i, f := range files {
		r.file, names[i] = f.Name, plain(f.Name, true)
		problems, notes := len(r.problems), len(r.notes)
		if n := r.document(f.Text); n != nil {
			r.top(n)
		}
		slices.SortStableFunc(r.problems[problems:], func(a, b policy.Problem) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
		})
		slices.SortStableFunc(r.notes[notes:], func(a, b Note) int { return cmp.Compare(a.Line, b.Line) })
	}
	if len(r.problems) > 0 {
		return nil, &policy.ParseError{Problems: r.problems}
	}
	var all []rule
	for _, d := range r.domains {
		all = append(all, rules(d.name, nil, d.level)...)
	}
	head := "Policies for what Envoy sends, imported from " + strings.Join(names, ", ") + ".\n" +
		"Each is one rule of Envoy's rate limit service, and is for descriptors of just its entries.\n" +
		"If the values of a key are secrets, say so: attributes: {api_key: {hash: true}}"
	tooMany := name(all)
	text, err := write(head, all)
	if err != nil {
		return nil, err
	}
	if len(text) > policy.MaxTextBytes {
		return nil, fmt.Errorf("%w: %d bytes, want at most %d: import fewer files, or write patterns for many values",
			ErrTooLong, len(text), policy.MaxTextBytes)
	}
	if _, err := policy.Parse("the policies", text); err != nil { // one who imports has no use for them then
		return nil, fmt.Errorf("what was imported is no file of policies, which is a fault of the import: %w", err)
	}
	return &Result{Policies: text, Notes: append(r.notes, tooMany...)}, nil
}
