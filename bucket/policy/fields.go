package policy

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// grammar says which fields a mapping may have, in the order in which they are asked for.
type grammar struct{ known []string }

var (
	topGrammar    = grammar{known: []string{"version", "attributes", "units", "exempt", "policies"}}
	policyGrammar = grammar{
		known: []string{
			"when", "key", "on_missing", "limits", "unlimited", "tiers", "overrides", "with", "replaces", "cost", "shadow", "consistency", "sample",
			"on_unreachable", "on_owner_loss", "durable", "strict",
		},
	}
	limitGrammar = grammar{
		known: []string{
			"name", "unit", "rate", "burst", "quota", "zone", "overage", "algorithm", "max_wait", "max_queue", "when", "shadow",
			"consistency", "sample", "on_unreachable", "on_owner_loss", "durable",
		},
	}
	planGrammar      = grammar{known: []string{"limits", "unlimited"}}
	attributeGrammar = grammar{known: []string{"ipv4", "ipv6", "hash"}}
)

// mapping is a mapping as it was read: the values of the known fields, by name.
type mapping struct {
	node   *yaml.Node
	values map[string]*yaml.Node
	// meant are the fields, quoted, that refused ones may have been meant as, or stood in for. Nobody needs to be told
	// that these are missing.
	meant []string
}

// mapping reads the fields of a mapping, and notes those that it must not have. It is nil if n is no mapping. where
// begins each message, as in `policy "api": `.
func (r *reader) mapping(n *yaml.Node, where string, g grammar) *mapping {
	if !r.is(n, yaml.MappingNode, where, "fields: "+strings.Join(g.known, ", ")) {
		return nil
	}
	m := &mapping{node: n, values: map[string]*yaml.Node{}}
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		if !r.isName(name, where) {
			continue
		}
		if line := lines[name.Value]; line > 0 {
			r.wrong(name, "%sfield %s is there twice, first at line %d: leave one out", where, quoted(name.Value), line)
			continue
		}
		lines[name.Value] = name.Line
		if slices.Contains(g.known, name.Value) {
			m.values[name.Value] = value
			continue
		}
		near := nearest(name.Value, g.known)
		switch {
		case len(near) > 0:
			r.wrong(name, "%sunknown field %s: did you mean %s?", where, quoted(name.Value), strings.Join(near, " or "))
		default:
			r.wrong(name, "%sunknown field %s: want %s", where, quoted(name.Value), listed(g.known))
		}
		m.meant = append(m.meant, near...)
	}
	return m
}

// required returns the value of a field, or notes that it is missing and returns nil. want says what to write.
func (r *reader) required(m *mapping, where, field, want string) *yaml.Node {
	v := m.values[field]
	if v == nil && !slices.Contains(m.meant, strconv.Quote(field)) {
		r.wrong(m.node, "%sfield %q is missing: want %s", where, field, want)
	}
	return v
}

// is says whether the node is of a kind, and notes it if not. want says what is wanted.
func (r *reader) is(n *yaml.Node, kind yaml.Kind, where, want string) bool {
	switch {
	case n.Kind == kind && !isNull(n):
		return true
	case n.Kind == yaml.AliasNode: // noted already
	case isNull(n):
		r.wrong(n, "%snothing here: want %s", where, want)
	default:
		r.wrong(n, "%s%s here: want %s", where, kinds[n.Kind], want)
	}
	return false
}

var kinds = map[yaml.Kind]string{
	yaml.MappingNode:  "a mapping",
	yaml.SequenceNode: "a list",
	yaml.ScalarNode:   "a single value",
}

// isName says whether the node is text that can name something, and notes it if not.
func (r *reader) isName(n *yaml.Node, where string) bool {
	if n.ShortTag() == "!!merge" {
		r.wrong(n, "%smerge keys (<<) are refused: write the fields out", where)
		return false
	}
	if !r.is(n, yaml.ScalarNode, where, "a name") {
		return false
	}
	if n.ShortTag() != "!!str" {
		r.wrong(n, "%s%s is no name: write it in quotes if it is meant as one", where, quoted(n.Value))
		return false
	}
	return true
}
