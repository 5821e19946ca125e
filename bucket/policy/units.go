package policy

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// readUnits reads what may be counted.
func (r *reader) readUnits(n *yaml.Node) {
	if !r.is(n, yaml.SequenceNode, "units: ", "a list of units, such as [requests, input_tokens]") {
		return
	}
	for _, unit := range n.Content {
		if !r.isName(unit, "units: ") {
			continue
		}
		if wrong := wrongName(unit.Value); wrong != "" {
			r.wrong(unit, "units: %s", wrong)
		} else if slices.Contains(r.Units, unit.Value) {
			r.wrong(unit, "units: %s is there twice: leave one out", quoted(unit.Value))
		} else {
			r.Units = append(r.Units, unit.Value)
		}
	}
}

// unit reads the name of a unit, which has to be one that may be counted.
func (r *reader) unit(n *yaml.Node, where string) string {
	if n.Value == Requests || slices.Contains(r.Units, n.Value) {
		return n.Value
	}
	known := append([]string{Requests}, r.Units...)
	if near := nearest(n.Value, known); len(near) > 0 {
		r.wrong(n, "%sunknown unit %s: did you mean %s?", where, quoted(n.Value), strings.Join(near, " or "))
	} else {
		r.wrong(n, "%sunknown unit %s: want %s, or add it to the units of the file, as in units: [requests, input_tokens]",
			where, quoted(n.Value), listed(known))
	}
	return ""
}

var weightsGrammar = grammar{known: []string{"unit", "by", "weights", "default"}}

// weights reads how what a request costs is weighed.
func (r *reader) weights(n *yaml.Node, where string) (w Weights) {
	m := r.mapping(n, where, weightsGrammar)
	if m == nil {
		return w
	}
	if v := m.values["unit"]; v != nil && r.isName(v, where+"unit: ") {
		w.Unit = r.unit(v, where)
	}
	if v := r.required(m, where, "by", "an attribute, such as model"); v != nil && r.isName(v, where+"by: ") {
		w.By = v.Value
	}
	const want = `weights by value, such as {"large-*": 20}`
	if v := r.required(m, where, "weights", want); v != nil && r.is(v, yaml.MappingNode, where+"weights: ", want) {
		w.Weights = map[string]int64{}
		for i := 0; i+1 < len(v.Content); i += 2 {
			name, value := v.Content[i], v.Content[i+1]
			if !r.is(name, yaml.ScalarNode, where+"weights: ", "a value of the attribute") {
				continue
			}
			if _, twice := w.Weights[name.Value]; twice {
				r.wrong(name, "%sweights: %s is there twice: leave one out", where, quoted(name.Value))
			}
			w.Weights[name.Value] = r.weight(value, where+"weights: "+strconv.Quote(name.Value)+": ")
		}
	}
	if v := m.values["default"]; v != nil {
		w.Default = r.weight(v, where+"default: ")
	}
	return w
}

// weight reads a whole number above zero, or returns 1.
func (r *reader) weight(n *yaml.Node, where string) int64 {
	if !r.is(n, yaml.ScalarNode, where, "a whole number above zero") {
		return 1
	}
	weight, err := ParseCount(n.Value)
	switch {
	case err != nil:
		r.number(n, where, err)
		return 1
	case weight == 0:
		r.wrong(n, "%s0, want a whole number above zero", where)
		return 1
	}
	return weight
}
