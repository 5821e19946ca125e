package policy

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// behaviour is what was said of how checks are decided: for a limit by itself, or else by its policy.
type behaviour struct {
	consistency Consistency
	sample      int        // one check in so many, 0 if nothing was said, or unread
	sampleAt    *yaml.Node // where that was said, if anywhere
}

// unread is the sample of which something was said that could not be read, and has been complained of.
const unread = -1

// behaviour reads the fields of m, a policy or a limit. otherwise is what holds where it says nothing.
func (r *reader) behaviour(m *mapping, where string, otherwise behaviour) behaviour {
	b := otherwise
	if v := m.values["consistency"]; v != nil {
		b.consistency = r.consistency(v, where)
	}
	if v := m.values["sample"]; v != nil {
		b.sample, b.sampleAt = r.sample(v, where), v
	}
	return b
}

// consistency reads a consistency, and is Leased, which contradicts nothing, if it cannot.
func (r *reader) consistency(n *yaml.Node, where string) Consistency {
	if !r.is(n, yaml.ScalarNode, where+"consistency: ", listed(consistencies)) {
		return Leased
	}
	for i, word := range consistencies {
		if n.Value == word {
			return Consistency(i)
		}
	}
	near := nearest(n.Value, consistencies)
	switch {
	case n.Value == "strict":
		r.wrong(n, "%sconsistency %q is not known to this version: want %s", where, n.Value, listed(consistencies))
	case len(near) > 0:
		r.wrong(n, "%sunknown consistency %s: did you mean %s?", where, quoted(n.Value), strings.Join(near, " or "))
	default:
		r.wrong(n, "%sunknown consistency %s: want %s", where, quoted(n.Value), listed(consistencies))
	}
	return Leased
}

// sample reads a share of the checks as one in so many, or returns unread.
func (r *reader) sample(n *yaml.Node, where string) int {
	if !r.is(n, yaml.ScalarNode, where+"sample: ", "a percentage of the checks, such as 10%") {
		return unread
	}
	oneIn, want := parseSample(n.Value)
	if want != "" {
		r.wrong(n, "%ssample %s: %s", where, quoted(n.Value), want)
		return unread
	}
	return oneIn
}

// oneSample sets the sample of the policy to what holds for all of its limits, and notes it if they differ. said is
// what the policy says itself.
func (r *reader) oneSample(where string, p *Policy, places map[place]*yaml.Node, said behaviour, of []behaviour) {
	first := -1
	for i, b := range of {
		switch {
		case b.sample == unread:
		case first < 0:
			first = i
		case max(b.sample, 1) != max(of[first].sample, 1):
			at := b.sampleAt
			if at == said.sampleAt { // so it is the other that says something of its own
				at = of[first].sampleAt
			}
			r.wrong(at, "%ssample is %s for limit %d but %s for limit %d: one check decides all limits of a policy, "+
				"so write it once, for the policy", where, formatSample(max(of[first].sample, 1)), first+1,
				formatSample(max(b.sample, 1)), i+1)
			return
		}
	}
	if first >= 0 {
		p.Sample = of[first].sample
		places[place{"sample", -1}] = of[first].sampleAt
	}
}
