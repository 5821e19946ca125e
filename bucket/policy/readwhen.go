package policy

import (
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// attributes reads how attributes become parts of keys.
func (r *reader) attributes(n *yaml.Node) {
	const want = "attributes by name, such as {ip: {ipv4: 32, ipv6: 64}, api_key: {hash: true}}"
	if !r.is(n, yaml.MappingNode, "attributes: ", want) {
		return
	}
	r.Attributes = make(map[string]Attribute)
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i]
		if !r.isName(name, "attributes: ") {
			continue
		}
		where := fmt.Sprintf("attribute %s: ", quoted(name.Value))
		if wrong := wrongName(name.Value); wrong != "" {
			r.wrong(name, "%s%s", where, wrong)
		}
		if _, twice := r.Attributes[name.Value]; twice {
			r.wrong(name, "%sis there twice: leave one out", where)
		}
		m := r.mapping(n.Content[i+1], where, attributeGrammar)
		if m == nil {
			continue
		}
		a := Attribute{IPv4: r.bits(m, where, "ipv4"), IPv6: r.bits(m, where, "ipv6")}
		if v := m.values["hash"]; v != nil {
			a.Hash = r.yes(v, where+"hash: ")
		}
		if wrong := a.wrong(); wrong != "" {
			r.wrong(m.node, "%s%s", where, wrong)
		}
		r.Attributes[name.Value] = a
	}
}

// bits reads how many bits of an address count, or 0.
func (r *reader) bits(m *mapping, where, field string) int {
	v := m.values[field]
	if v == nil || !r.is(v, yaml.ScalarNode, where+field+": ", "a number of bits") {
		return 0
	}
	n, err := strconv.Atoi(v.Value)
	if err != nil || n < 1 {
		r.wrong(v, "%s%s %s: want a number of bits above zero", where, field, quoted(v.Value))
		return 0
	}
	return n
}

// exempt reads which requests are never limited.
func (r *reader) exempt(n *yaml.Node) {
	if !r.is(n, yaml.SequenceNode, "exempt: ", "a list of conditions, such as [{route: [/healthz]}]") {
		return
	}
	for i, c := range n.Content {
		where := fmt.Sprintf("exempt %d: ", i+1)
		before := len(r.err.Problems)
		when, _ := r.when(c, where, false)
		if len(when) == 0 && len(r.err.Problems) == before {
			r.wrong(c, "%sit always holds, so nothing would be limited: leave it out", where)
		}
		r.Exempt = append(r.Exempt, when)
	}
}

// when reads a condition. nots says whether it may say what must not hold.
func (r *reader) when(n *yaml.Node, where string, nots bool) (c Condition, not Any) {
	if !r.is(n, yaml.MappingNode, where, `attributes, such as {user: present, route: "/v1/*"}`) {
		return nil, nil
	}
	c = make(Condition)
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		if !r.isName(name, where) {
			continue
		}
		if name.Value == "not" {
			if !nots {
				r.wrong(name, "%snot belongs into the when of a policy: leave it out", where)
			} else {
				not = r.nots(value, where+"not: ")
			}
			continue
		}
		if _, twice := c[name.Value]; twice {
			r.wrong(name, "%s%s is there twice: write its values as one list", where, name.Value)
			continue
		}
		t, ok := r.test(value, where+shortened(name.Value)+": ")
		if !ok {
			continue
		}
		c[name.Value] = t
		for _, wrong := range (Condition{name.Value: t}).wrong(r.Attributes) {
			r.wrong(value, "%s%s", where, wrong)
		}
	}
	return c, not
}

// nots reads what must not hold: one condition or several.
func (r *reader) nots(n *yaml.Node, where string) (not Any) {
	all := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		all = n.Content
	}
	for _, one := range all {
		before := len(r.err.Problems)
		c, _ := r.when(one, where, false)
		if len(c) == 0 && len(r.err.Problems) == before {
			r.wrong(one, "%sit always holds, so the policy is for no request: leave it out", where)
		}
		not = append(not, c)
	}
	return not
}

// test reads what must hold of one attribute.
func (r *reader) test(n *yaml.Node, where string) (t Test, ok bool) {
	const want = "present, absent, a value, or a list of values"
	if n.Kind == yaml.SequenceNode && len(n.Content) > 0 {
		for _, v := range n.Content {
			if !r.is(v, yaml.ScalarNode, where, "a value") {
				return t, false
			}
			t.OneOf = append(t.OneOf, v.Value)
		}
		return t, true
	}
	if n.Kind == yaml.SequenceNode {
		r.wrong(n, "%san empty list: want %s", where, want)
		return t, false
	}
	if !r.is(n, yaml.ScalarNode, where, want) {
		return t, false
	}
	switch n.Value {
	case "present":
	case "absent":
		t.Absent = true
	default:
		t.OneOf = []string{n.Value}
	}
	return t, true
}
