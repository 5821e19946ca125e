package cases

import (
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// Expectation is what the answers of a step are to be. The zero Expectation is met by every decision.
type Expectation struct {
	// Counted says that so many are to be Allowed.
	Counted bool
	Allowed int64
	// Refused is what the reason has for which all are to be refused, "" if they are to be decided.
	Refused string
	wants   []want // of the last
}

// want is what a field of a decision is to be.
type want struct {
	field *field
	value any
}

// field is one that a decision may be expected to have.
type field struct {
	name string
	read func(r *reader, n *yaml.Node, where string) any
	of   func(d *policy.Decision) any
}

func readName(r *reader, n *yaml.Node, where string) any { return r.text(n, where, "a name") }

func readCount(r *reader, n *yaml.Node, where string) any { return r.count(n, where, 0) }

func readSpan(r *reader, n *yaml.Node, where string) any { return r.span(n, where) }

func readYes(r *reader, n *yaml.Node, where string) any { return r.yes(n, where) }

func readDecidedBy(r *reader, n *yaml.Node, where string) any { return r.word(n, where, deciders()) }

// deciders are the words for what makes a decision.
func deciders() (words []string) {
	for d := policy.Unknown + 1; d.String() != policy.Unknown.String(); d++ {
		words = append(words, d.String())
	}
	return words
}

var fields = []field{
	{"policy", readName, func(d *policy.Decision) any { return d.Policy }},
	{"limit", readName, func(d *policy.Decision) any { return d.LimitName }},
	{"remaining", readCount, func(d *policy.Decision) any { return d.Remaining }},
	{"retry_after", readSpan, func(d *policy.Decision) any { return retryAfter(d) }},
	{"reset_after", readSpan, func(d *policy.Decision) any { return d.ResetAfter }},
	{"wait", readSpan, func(d *policy.Decision) any { return d.Wait() }},
	{"never", readYes, func(d *policy.Decision) any { return d.Never }},
	{"overage", readYes, func(d *policy.Decision) any { return d.Overage }},
	{"shadow_denied", readYes, func(d *policy.Decision) any { return d.ShadowDenied }},
	{"decided_by", readDecidedBy, func(d *policy.Decision) any { return d.DecidedBy.String() }},
}

// retryAfter is 0 for what is allowed, as in JSON.
func retryAfter(d *policy.Decision) time.Duration {
	if d.Allowed {
		return 0
	}
	return d.RetryAfter
}

var expectFields = append([]string{"allowed", "refused"}, fieldNames()...)

func fieldNames() (names []string) {
	for _, f := range fields {
		names = append(names, f.name)
	}
	return names
}

// expectation reads what so many answers are to be.
func (r *reader) expectation(n *yaml.Node, where string, times int64) (e Expectation) {
	var refused *yaml.Node
	others := 0
	r.mapping(n, where, expectFields, nil, func(name string, _, v *yaml.Node) {
		in := where + name + ": "
		switch name {
		case "refused":
			refused = v
			e.Refused = r.text(v, in, "a part of the reason, such as absent")
			return
		case "allowed":
			e.Counted, e.Allowed = true, r.allowed(v, in, times)
		}
		others++
		for i := range fields {
			if f := &fields[i]; f.name == name {
				e.wants = append(e.wants, want{f, f.read(r, v, in)})
			}
		}
	})
	switch {
	case refused != nil && others > 0:
		r.wrong(refused, "%srefused, and more: what is refused has no decision: leave one of the two out", where)
	case n.Kind == yaml.MappingNode && len(n.Content) == 0:
		r.wrong(n, "%snothing here: want at least one of %s", where, strings.Join(expectFields, ", "))
	}
	return e
}

// allowed reads how many of so many are to be allowed.
func (r *reader) allowed(n *yaml.Node, where string, times int64) int64 {
	if !r.is(n, yaml.ScalarNode, where, "true, false, or how many of them") {
		return 0
	}
	if n.ShortTag() == "!!bool" {
		if r.yes(n, where) {
			return times
		}
		return 0
	}
	count, err := policy.ParseCount(n.Value)
	if err != nil {
		r.wrong(n, "%s%s, want true, false, or how many of them", where, quoted(n.Value))
	} else if count > times {
		r.wrong(n, "%s%d, but it asks %d times", where, count, times)
	}
	return count
}

// unmet says in which ways the answers of a step are not as expected.
func (e *Expectation) unmet(o *Outcome) (wrong []string) {
	switch {
	case o.Refused != "" && e.Refused == "":
		return []string{"refused: " + o.Refused}
	case o.Refused != "" && !strings.Contains(o.Refused, e.Refused):
		return []string{fmt.Sprintf("refused for another reason than %s: %s", quoted(e.Refused), o.Refused)}
	case o.Refused != "":
		return nil
	case e.Refused != "":
		wrong = append(wrong, "it is decided, want it to be refused")
	case e.Counted && o.Allowed != e.Allowed && o.Times == 1:
		wrong = append(wrong, fmt.Sprintf("allowed is %v, want %v", o.Allowed == 1, e.Allowed == 1))
	case e.Counted && o.Allowed != e.Allowed:
		wrong = append(wrong, fmt.Sprintf("%d of %d are allowed, want %d", o.Allowed, o.Times, e.Allowed))
	}
	for _, w := range e.wants {
		if got := w.field.of(&o.Last); got != w.value {
			wrong = append(wrong, fmt.Sprintf("%s is %v, want %v", w.field.name, shown(got), shown(w.value)))
		}
	}
	return wrong
}

func shown(value any) any {
	if value == "" {
		return "nothing"
	}
	return value
}
