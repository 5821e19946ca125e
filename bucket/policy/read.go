package policy

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/drossel-dev/drossel/bucket"
)

// top reads the whole document.
func (r *reader) top(n *yaml.Node) {
	m := r.mapping(n, "", topGrammar)
	if m == nil {
		return
	}
	if v := r.required(m, "", "version", "version: 1"); v != nil && r.is(v, yaml.ScalarNode, "version: ", "1") {
		if v.Value != "1" || v.ShortTag() != "!!int" {
			r.wrong(v, "version %s is not known to this version: want the number 1", quoted(v.Value))
		}
	}
	if v := m.values["units"]; v != nil {
		r.readUnits(v)
	}
	const wantPolicies = "policies by name, such as {api: {key: [user], limits: [{rate: 10/min}]}}"
	v := r.required(m, "", "policies", wantPolicies)
	if v == nil || !r.is(v, yaml.MappingNode, "policies: ", wantPolicies) {
		return
	}
	lines := map[string]int{}
	for i := 0; i+1 < len(v.Content); i += 2 {
		name := v.Content[i]
		if !r.isName(name, "policies: ") {
			continue
		}
		if line := lines[name.Value]; line > 0 {
			r.wrong(name, "policy %s is defined twice, first at line %d: rename one", quoted(name.Value), line)
		} else {
			lines[name.Value] = name.Line
		}
		r.policy(name, v.Content[i+1])
	}
}

// policy reads one policy, and keeps it if nothing is wrong with it.
func (r *reader) policy(name, n *yaml.Node) {
	where := fmt.Sprintf("policy %s: ", quoted(name.Value))
	before := len(r.err.Problems)
	m := r.mapping(n, where, policyGrammar)
	if m == nil {
		return
	}
	p := &Policy{Name: name.Value}
	places := map[place]*yaml.Node{{"name", -1}: name}
	const wantKey = "the attributes that form the key, such as [user], or [] for one bucket for all"
	if v := r.required(m, where, "key", wantKey); v != nil {
		r.key(v, where, p, places)
	}
	if v := m.values["cost"]; v != nil {
		places[place{"cost", -1}] = v
		p.Weights = r.weights(v, where+"cost: ")
	}
	if v := m.values["with"]; v != nil {
		r.with(v, where+"with: ", p, places)
	}
	said := r.behaviour(m, where, behaviour{})
	const wantLimits = "a list of limits, such as [{rate: 10/min}]"
	if v := r.required(m, where, "limits", wantLimits); v != nil {
		if r.is(v, yaml.SequenceNode, where+"limits: ", wantLimits) {
			r.limits(v, where, p, places, said)
		}
	}
	for _, d := range p.defects() {
		// A place that was not noted holds something that could not be read and has been complained of.
		if n := places[place{d.field, d.index}]; n != nil {
			r.wrong(n, "%s%s", where, d.text)
		}
	}
	if len(r.err.Problems) == before {
		r.policies, r.withs = append(r.policies, p), append(r.withs, places)
	}
}

// with reads the policies that one is decided with.
func (r *reader) with(n *yaml.Node, where string, p *Policy, places map[place]*yaml.Node) {
	if !r.is(n, yaml.SequenceNode, where, "a list of policies, such as [ceiling]") {
		return
	}
	for _, name := range n.Content {
		if r.isName(name, where) {
			places[place{"with", len(p.With)}] = name
			p.With = append(p.With, name.Value)
		}
	}
}

// place is a place in a policy, as a defect has it.
type place struct {
	field string
	index int
}

func (r *reader) key(n *yaml.Node, where string, p *Policy, places map[place]*yaml.Node) {
	if n.Kind == yaml.ScalarNode && !isNull(n) {
		r.wrong(n, "%skey: want a list: write [%s]", where, shortened(n.Value))
		return
	}
	if !r.is(n, yaml.SequenceNode, where+"key: ", "a list of attributes, such as [user], or []") {
		return
	}
	places[place{"key", -1}] = n
	for _, attribute := range n.Content {
		if r.isName(attribute, where+"key: ") {
			places[place{"key", len(p.Key)}] = attribute
			p.Key = append(p.Key, attribute.Value)
		}
	}
}

// limits reads the limits of p. said is what the policy says for those that do not.
func (r *reader) limits(n *yaml.Node, where string, p *Policy, places map[place]*yaml.Node, said behaviour) {
	places[place{"limits", -1}] = n
	var of []behaviour
	for i, node := range n.Content {
		l, b, ok := r.limit(node, fmt.Sprintf("%slimit %d: ", where, i+1), said)
		if ok {
			places[place{"limits", i}] = node
		} else {
			l.Limit = bucket.Limit{Count: int64(-1 - i)} // holds the place, and is the same as no other
		}
		p.Limits, of = append(p.Limits, l), append(of, b)
	}
	r.oneSample(where, p, places, said, of)
}

// limit reads one limit, and how its checks are decided; false says that it could not be read.
func (r *reader) limit(n *yaml.Node, where string, said behaviour) (l Limit, b behaviour, ok bool) {
	before := len(r.err.Problems)
	m := r.mapping(n, where, limitGrammar)
	if m == nil {
		return l, behaviour{sample: unread}, false
	}
	if v := m.values["name"]; v != nil && r.isName(v, where+"name: ") {
		if l.Name = v.Value; l.Name == "" {
			r.wrong(v, "%sname: nothing here: leave it out, or write a name", where)
		}
	}
	if v := m.values["unit"]; v != nil && r.isName(v, where+"unit: ") {
		l.Unit = r.unit(v, where)
	}
	l.Limit = r.numbers(m, where)
	b = r.behaviour(m, where, said)
	l.Consistency, l.OnUnreachable, l.OwnerLoss = b.consistency, b.onUnreachable, b.onOwnerLoss
	return l, b, len(r.err.Problems) == before
}

// number notes the error of a rate or count at the very character.
func (r *reader) number(n *yaml.Node, where string, err error) {
	column := n.Column
	var bad *numberError
	if errors.As(err, &bad) && n.Style == 0 {
		column += bad.at - 1
	}
	r.wrongAt(n.Line, column, "%s%v", where, err)
}

// shortened returns text from outside, short enough for a message.
func shortened(text string) string {
	if q := quoted(text); len(q) != len(text)+2 {
		return q
	}
	return text
}
