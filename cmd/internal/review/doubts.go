package review

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// Doubts returns what is legal in a set that was read from a text, and still surely a mistake, in the order of the text. name is the
// name of its file, for messages.
func Doubts(name string, text []byte, set *policy.Set) []policy.Problem {
	r := &reviewer{file: name, root: root(text), of: set.Definition(), named: map[string]bool{}}
	for i := range r.of.Policies {
		p := &r.of.Policies[i]
		r.conditional = r.conditional || len(p.When) > 0 || len(p.Not) > 0
		for _, with := range p.With {
			r.named[with] = true
		}
	}
	r.networks()
	for i := range r.of.Policies {
		p := &r.of.Policies[i]
		r.everything(p)
		r.contradiction(p)
		r.missing(p)
		r.addresses(p)
		r.overrides(p)
	}
	slices.SortStableFunc(r.doubts, func(a, b policy.Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return r.doubts
}

// reviewer goes once through a set.
type reviewer struct {
	file        string
	root        node
	of          policy.Definition
	conditional bool            // some policy has a when
	named       map[string]bool // policies that others are decided with
	doubts      []policy.Problem
}

// doubt notes what is doubtful at the place to which a path leads in the text.
func (r *reviewer) doubt(path []string, format string, args ...any) {
	at := r.root.find(path...)
	r.doubts = append(r.doubts, policy.Problem{File: r.file, Line: at.Line, Column: at.Column, Text: fmt.Sprintf(format, args...)})
}

// in is the path to something of a policy.
func in(p *policy.Policy, path ...string) []string {
	return append([]string{"policies", p.Name}, path...)
}

// everything doubts a policy that is for every request, where others say what they are for.
func (r *reviewer) everything(p *policy.Policy) {
	if r.conditional && len(p.When) == 0 && len(p.Not) == 0 && !r.named[p.Name] {
		r.doubt(in(p), "policy %q: it has no when, so it is for every request that names no policy, beside those that have one: "+
			"say what it is for, or name it in the with of another", p.Name)
	}
}

// missing doubts a policy that refuses what another is for, because it lacks a part of the key.
func (r *reviewer) missing(p *policy.Policy) {
	if p.OnMissing != policy.MissingRefuse || p.Unlimited || p.IsConditional() {
		return
	}
	for _, part := range p.Key {
		for i := range r.of.Policies {
			q := &r.of.Policies[i]
			always := len(p.When) == 0 && len(p.Not) == 0 || slices.Contains(q.Together(), p.Name)
			if always && lacks(q, part) {
				r.doubt(in(p), "policy %q: a request that policy %q is for has no %q, which is a part of the key here, and is refused: "+
					"say in a when what it is for, or on_missing: skip", p.Name, q.Name, part)
				return
			}
		}
	}
}

// lacks says whether every request that a policy is for lacks a part of a key.
func lacks(p *policy.Policy, part string) bool {
	for _, name := range alternatives(part) {
		if !p.When[name].Absent {
			return false
		}
	}
	return true
}
