package policy

import (
	"fmt"
	"slices"
	"strings"
)

func (p *Policy) whenText() string {
	if len(p.when) == 0 {
		return "for every request"
	}
	return "when " + p.when.String()
}

// whyNot says why a policy is not for a request.
func (p *Policy) whyNot(req *Request) string {
	if why := p.when.failing(nil, req); why != "" {
		return fmt.Sprintf("it is for requests with %s, and %s", p.when, why)
	}
	return "it is not for requests with " + p.not[max(one(p.not, nil, req), 0)].String()
}

// String returns the condition in the words of YAML, without values that are secrets.
func (c condition) String() string {
	var all []string
	for i := range c {
		t := &c[i]
		switch values := t.texts(); {
		case t.absent:
			all = append(all, t.attribute+": absent")
		case len(values) == 0:
			all = append(all, t.attribute+": present")
		case t.secret:
			all = append(all, t.attribute+": a secret")
		case len(values) == 1:
			all = append(all, t.attribute+": "+values[0])
		default:
			const most = 10
			text := strings.Join(values[:min(len(values), most)], ", ")
			if len(values) > most {
				text += fmt.Sprintf(" and %d more", len(values)-most)
			}
			all = append(all, t.attribute+": ["+text+"]")
		}
	}
	return "{" + strings.Join(all, ", ") + "}"
}

// texts returns the patterns of a test, sorted, each as it can be shown.
func (t *test) texts() (all []string) {
	for value := range t.values {
		all = append(all, value)
	}
	all = append(all, t.patterns...)
	for _, n := range t.networks {
		all = append(all, n.String())
	}
	for i, text := range all {
		if !plain(text) || len(text) > MaxNameBytes {
			all[i] = quoted(text)
		}
	}
	slices.Sort(all)
	return all
}

// String returns a text of several lines for people to read: first what applies, then why the others do not.
func (x Explained) String() string {
	var b strings.Builder
	if x.Exempt != "" {
		fmt.Fprintf(&b, "%s: nothing limits this request\n", x.Exempt)
	}
	applies := func(p ExplainedPolicy) bool { return p.Applies }
	switch {
	case len(x.Policies) == 0:
		b.WriteString("there are no policies: every request is admitted\n")
		return b.String()
	case x.Exempt != "":
		b.WriteString("without that:\n")
	case !slices.ContainsFunc(x.Policies, applies):
		b.WriteString("no policy applies: this request is admitted\n")
	}
	for _, p := range x.Policies {
		if p.Applies {
			p.write(&b)
		}
	}
	for _, p := range x.Policies {
		if !p.Applies {
			fmt.Fprintf(&b, "%s does not apply: %s\n", p.Policy, p.Why)
			writeLimits(&b, p.Limits)
		}
	}
	return b.String()
}

// write writes what a policy that applies does with the request.
func (p *ExplainedPolicy) write(b *strings.Builder) {
	fmt.Fprintf(b, "%s applies: %s\n", p.Policy, p.Why)
	if len(p.Limits) > 0 { // so the key could be read
		key := p.Key
		if key == "" {
			key = "none, one bucket for all"
		}
		fmt.Fprintf(b, "  key     %s\n  limits  %s\n", key, p.Variant)
		writeLimits(b, p.Limits)
	}
	if len(p.With) > 0 {
		fmt.Fprintf(b, "  with    %s\n", strings.Join(p.With, ", "))
	}
}

func writeLimits(b *strings.Builder, limits []ExplainedLimit) {
	for _, l := range limits {
		fmt.Fprintf(b, "    %s: %s, takes %s", l.Name, l.Limit, l.takes())
		if l.Shadow {
			b.WriteString(", in shadow mode")
		}
		if l.Why != "" {
			fmt.Fprintf(b, ": %s", l.Why)
		}
		b.WriteByte('\n')
	}
}

// takes says how much the request takes of a limit.
func (l *ExplainedLimit) takes() string {
	switch {
	case l.Cost == 0:
		return "nothing"
	case l.Cost == 1 && l.Unit == Requests:
		return "1 request"
	}
	return fmt.Sprintf("%d %s", l.Cost, l.Unit)
}
