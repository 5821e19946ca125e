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
	if v := m.values["attributes"]; v != nil {
		r.attributes(v)
	}
	if v := m.values["units"]; v != nil {
		r.readUnits(v)
	}
	if v := m.values["exempt"]; v != nil {
		r.exempt(v)
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
		p.With = r.others(v, where, "with", "ceiling", places)
	}
	if v := m.values["replaces"]; v != nil {
		p.Replaces = r.others(v, where, "replaces", "everybody", places)
	}
	if v := m.values["when"]; v != nil {
		p.When, p.Not = r.when(v, where+"when: ", true)
	}
	if v := m.values["on_missing"]; v != nil {
		p.OnMissing = OnMissing(r.word(v, where, "on_missing", onMissings))
	}
	if v := m.values["strict"]; v != nil {
		p.Strict = r.strictness(v, where+"strict: ")
	}
	said := r.behaviour(m, where, behaviour{})
	r.plan(m, where, p, places, said)
	tiers := r.plans(m.values["tiers"], where, "tier", p, said)
	overrides := r.plans(m.values["overrides"], where, "override", p, said)
	p.Tiers, p.Overrides = tiers, overrides
	r.complain(p.defects(), where, places)
	if wrong := p.wrongOverrides(r.Attributes); wrong != "" {
		r.wrong(m.values["overrides"], "%s%s", where, wrong)
	}
	if wrong := p.named().wrongUnion(); wrong != "" {
		r.wrong(name, "%s%s", where, wrong)
	}
	if len(r.err.Problems) == before {
		for _, wrong := range p.wrongStrictness() {
			r.wrong(m.values["strict"], "%s%s", where, wrong)
		}
	}
	if wrong := p.wrongStrict(); wrong != "" && len(r.err.Problems) == before { // what could not be read is taken for leased
		r.wrong(name, "%s%s", where, wrong)
	}
	if len(r.err.Problems) == before {
		r.policies, r.places = append(r.policies, p), append(r.places, places)
	}
}

// complain notes what is wrong with a policy at its places. One that was not noted holds something that could not be read and has been
// complained of.
func (r *reader) complain(ds []defect, where string, places map[place]*yaml.Node) {
	for _, d := range ds {
		if n := places[place{d.field, d.index}]; n != nil {
			r.wrong(n, "%s%s", where, d.text)
		}
	}
}

// others reads a list of other policies.
func (r *reader) others(n *yaml.Node, where, field, example string, places map[place]*yaml.Node) (names []string) {
	if where += field + ": "; !r.is(n, yaml.SequenceNode, where, "a list of policies, such as ["+example+"]") {
		return nil
	}
	for _, name := range n.Content {
		if r.isName(name, where) {
			places[place{field, len(names)}] = name
			names = append(names, name.Value)
		}
	}
	return names
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

// plan reads limits, or that there are none, into a policy or a variant of one.
func (r *reader) plan(m *mapping, where string, p *Policy, places map[place]*yaml.Node, said behaviour) {
	if v := m.values["unlimited"]; v != nil {
		p.Unlimited = r.yes(v, where+"unlimited: ")
	}
	const want = "a list of limits, such as [{rate: 10/min}]"
	v := m.values["limits"]
	if v == nil && !p.Unlimited {
		v = r.required(m, where, "limits", want)
	}
	if v != nil && r.is(v, yaml.SequenceNode, where+"limits: ", want) {
		r.limits(v, where, p, places, said)
	}
}

// plans reads the tiers of a policy, or its overrides.
func (r *reader) plans(n *yaml.Node, where, of string, p *Policy, said behaviour) map[string]Plan {
	if n == nil || !r.is(n, yaml.MappingNode, where+of+"s: ", "limits by "+of+", such as {free: {limits: [{rate: 5/s}]}}") {
		return nil
	}
	all := make(map[string]Plan)
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		value := n.Content[i]
		if !r.is(value, yaml.ScalarNode, where+of+"s: ", "a value") {
			continue
		}
		if value.Value == "" {
			r.wrong(value, `%s%ss: "" is what is absent: want a value`, where, of)
		}
		in := fmt.Sprintf("%s%s %s: ", where, of, quoted(value.Value))
		if line := lines[value.Value]; line > 0 {
			r.wrong(value, "%sis there twice, first at line %d: leave one out", in, line)
			continue
		}
		lines[value.Value] = value.Line
		m := r.mapping(n.Content[i+1], in, planGrammar)
		if m == nil {
			continue
		}
		v := p.replaced(Plan{})
		places := map[place]*yaml.Node{}
		r.plan(m, in, v, places, said)
		r.complain(v.planDefects(), in, places)
		all[value.Value] = Plan{v.Limits, v.Unlimited}
	}
	return all
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
	if v := m.values["when"]; v != nil {
		l.When, _ = r.when(v, where+"when: ", false)
	}
	l.Limit = r.numbers(m, where)
	b = r.behaviour(m, where, said)
	l.Consistency, l.OnUnreachable, l.OwnerLoss, l.Shadow = b.consistency, b.onUnreachable, b.onOwnerLoss, b.shadow
	l.Durable = b.durable
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
