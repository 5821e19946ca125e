package policy

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/drossel-dev/drossel/bucket"
)

// behaviour is what was said of how checks are decided: for a limit by itself, or else by its policy.
type behaviour struct {
	consistency   Consistency
	onUnreachable Unreachable
	onOwnerLoss   bucket.OwnerLoss
	shadow        bool
	durable       bool
	sample        int        // one check in so many, 0 if nothing was said, or unread
	sampleAt      *yaml.Node // where that was said, if anywhere
}

var ownerLosses = []string{bucket.LossReplica.String(), bucket.LossEmpty.String(), bucket.LossFull.String()}

// unread is the sample of which something was said that could not be read, and has been complained of.
const unread = -1

// behaviour reads the fields of m, a policy or a limit. otherwise is what holds where it says nothing.
func (r *reader) behaviour(m *mapping, where string, otherwise behaviour) behaviour {
	b := otherwise
	if v := m.values["consistency"]; v != nil {
		b.consistency = Consistency(r.word(v, where, "consistency", consistencies))
	}
	if v := m.values["on_unreachable"]; v != nil {
		b.onUnreachable = Unreachable(r.word(v, where, "on_unreachable", unreachables))
	}
	if v := m.values["on_owner_loss"]; v != nil {
		b.onOwnerLoss = bucket.OwnerLoss(r.word(v, where, "on_owner_loss", ownerLosses))
	}
	if v := m.values["shadow"]; v != nil {
		b.shadow = r.yes(v, where+"shadow: ")
	}
	if v := m.values["durable"]; v != nil {
		b.durable = r.yes(v, where+"durable: ")
	}
	if v := m.values["sample"]; v != nil {
		b.sample, b.sampleAt = r.sample(v, where), v
	}
	return b
}

// word reads the value of a field that is one of these words, and returns its place, or 0, the default, which
// contradicts nothing, if it cannot.
func (r *reader) word(n *yaml.Node, where, field string, words []string) int {
	if !r.is(n, yaml.ScalarNode, where+field+": ", listed(words)) {
		return 0
	}
	if i := slices.Index(words, n.Value); i >= 0 {
		return i
	}
	near := nearest(n.Value, words)
	switch {
	case len(near) > 0:
		r.wrong(n, "%sunknown %s %s: did you mean %s?", where, field, quoted(n.Value), strings.Join(near, " or "))
	default:
		r.wrong(n, "%sunknown %s %s: want %s", where, field, quoted(n.Value), listed(words))
	}
	return 0
}

// yes reads true or false.
func (r *reader) yes(n *yaml.Node, where string) bool {
	if !r.is(n, yaml.ScalarNode, where, "true or false") {
		return false
	}
	if n.ShortTag() != "!!bool" {
		r.wrong(n, "%s%s, want true or false", where, quoted(n.Value))
	}
	return strings.EqualFold(n.Value, "true") // YAML has True and TRUE as well
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
