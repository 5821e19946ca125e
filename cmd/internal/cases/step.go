package cases

import (
	"maps"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/drossel-dev/drossel/bucket/policy"
)

var stepFields = []string{"at", "policy", "key", "attributes", "cost", "costs", "times", "every", "expect"}

// step reads a step of a case. before is the last time of the step before, and attributes are those of the case.
func (r *reader) step(n *yaml.Node, where string, start, before time.Time, attributes map[string]string) Step {
	s := Step{Line: n.Line, At: before, Times: 1, Request: policy.Request{Attributes: attributes}}
	var every, expect *yaml.Node
	r.mapping(n, where, stepFields, []string{"expect"}, func(name string, _, v *yaml.Node) {
		in := where + name + ": "
		switch name {
		case "at":
			s.At = r.at(v, in, start, before)
		case "policy":
			s.Request.Policy = r.text(v, in, "the name of a policy, or leave it out")
		case "key":
			s.Request.Key = r.text(v, in, "a key, or leave it out")
		case "attributes":
			s.Request.Attributes = maps.Clone(attributes)
			own := r.texts(v, in, "attributes, such as {user: ann}")
			if s.Request.Attributes == nil {
				s.Request.Attributes = own
			}
			maps.Copy(s.Request.Attributes, own)
		case "cost":
			s.Request.Cost = r.count(v, in, 0)
			s.Request.CheckOnly = s.Request.Cost == 0
		case "costs":
			s.Request.Costs = r.costs(v, in)
		case "times":
			if s.Times = r.count(v, in, 1); s.Times > MaxTimes {
				r.wrong(v, "%s%d, want at most %d", in, s.Times, MaxTimes)
			}
		case "every":
			every, s.Every = v, r.span(v, in)
		case "expect":
			expect = v
		}
	})
	if every != nil {
		switch last, ok := s.last(); {
		case s.Times == 1:
			r.wrong(every, "%severy: it asks only once: say how often by times", where)
		case !ok || outside(last) != "":
			r.wrong(every, "%severy: the last of %d times would be after the year 2200", where, s.Times)
			s.Every = 0
		}
	}
	if expect != nil {
		s.Expect = r.expectation(expect, where+"expect: ", s.Times)
	}
	return s
}

// at reads the time of a step: since the start, or an instant.
func (r *reader) at(n *yaml.Node, where string, start, before time.Time) time.Time {
	const want = wantSpan + " since the start, or " + wantInstant
	if !r.is(n, yaml.ScalarNode, where, want) {
		return before
	}
	at, err := time.Parse(time.RFC3339Nano, n.Value)
	if err != nil {
		d, ok := parseSpan(n.Value)
		if !ok {
			r.wrong(n, "%s%s, want %s", where, quoted(n.Value), want)
			return before
		}
		at = start.Add(d)
	}
	switch wrong := outside(at); {
	case wrong != "":
		r.wrong(n, "%s%s", where, wrong)
		return before
	case at.Before(before):
		r.wrong(n, "%s%v earlier than the step before, or the start: time does not go back", where, before.Sub(at))
		return before
	}
	return at
}
