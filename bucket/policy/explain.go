package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Explained says what the policies of a set have to do with a request, and why.
type Explained struct {
	// Exempt says which condition exempts the request from all limits, "" if none does.
	Exempt string `json:"exempt,omitempty"`
	// Policies are all of the set by name, or the one that the request names and those that it is decided with.
	Policies []ExplainedPolicy `json:"policies"`
}

// ExplainedPolicy says it of one policy.
type ExplainedPolicy struct {
	Policy string `json:"policy"`
	// Applies says that the request draws on buckets of the policy, is denied by it, or is admitted by its being unlimited. Why says
	// what it takes, or what is in the way.
	Applies bool   `json:"applies"`
	Why     string `json:"why"`
	// Key is the key as people may see it. Variant says whose limits they are: the policy's own, a tier's, an override's.
	Key     string           `json:"key,omitempty"`
	Variant string           `json:"variant,omitempty"`
	Limits  []ExplainedLimit `json:"limits,omitempty"`
	// With are the policies that are decided with it.
	With []string `json:"with,omitempty"`
}

// ExplainedLimit says it of one limit.
type ExplainedLimit struct {
	Name  string `json:"name"`
	Limit string `json:"limit"` // in the words of YAML
	Unit  string `json:"unit"`
	// Cost is what the request takes of it. It is 0 also if the limit's condition does not hold: Why says so then.
	Cost   int64  `json:"cost"`
	Why    string `json:"why,omitempty"`
	Shadow bool   `json:"shadow,omitempty"`
}

// Explain says which policies of the set a request is decided by, and why the others leave it alone. The error wraps ErrUnknownPolicy
// if the request names a policy that there is not, and ErrInvalid if it names none and has a key outright.
func (s *Set) Explain(req *Request) (x Explained, err error) {
	if s == nil {
		s = new(Set)
	}
	if i := one(s.exempt, nil, req); i >= 0 {
		x.Exempt = fmt.Sprintf("exempt %d (%s)", i+1, s.exempt[i])
	}
	if req.Policy != "" {
		p, err := s.Policy(req.Policy)
		if err != nil {
			return x, err
		}
		x.Policies = append(x.Policies, p.explain(req, "named by the request"))
		for _, name := range p.with {
			x.Policies = append(x.Policies, s.byName[name].explain(req, "decided with "+p.Name))
		}
		return x, nil
	}
	matched, err := s.Match(req, nil)
	if err != nil {
		return x, err
	}
	applies := map[string]string{}
	for _, p := range matched {
		applies[p.Name] = p.whenText()
	}
	for _, p := range matched {
		for _, name := range p.with {
			if applies[name] == "" {
				applies[name] = "decided with " + p.Name
			}
		}
	}
	for _, p := range s.sorted {
		if why := applies[p.Name]; why != "" {
			x.Policies = append(x.Policies, p.explain(req, why))
		} else {
			x.Policies = append(x.Policies, ExplainedPolicy{Policy: p.Name, Why: p.whyNot(req)})
		}
	}
	return x, nil
}

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

// explain says what a policy does with a request that it is for.
func (p *Policy) explain(req *Request, why string) ExplainedPolicy {
	v := p.For(req)
	x := ExplainedPolicy{Policy: p.Name, Applies: true, Why: why, Variant: v.label, With: p.with}
	_, err := p.AppendKey(nil, req)
	switch {
	case err == nil:
		x.Key = p.KeyText(req)
	case errors.Is(err, ErrMissingKey):
		x.Applies = p.OnMissing != MissingSkip
		x.Why = fmt.Sprintf("%s, but the request lacks a part of the key (%s): on_missing is %v", why, strings.Join(p.Key, ", "), p.OnMissing)
		return x
	default:
		x.Why = fmt.Sprintf("%s, but %v", why, err)
		return x
	}
	if v.Unlimited {
		x.Why = why + ", and unlimited"
	}
	_, each, err := v.Costs(req)
	if err != nil {
		x.Why = fmt.Sprintf("%s, but %v", why, err)
	}
	cost, _, _ := v.Costs(req)
	for i, l := range v.Limits {
		e := ExplainedLimit{Name: l.Name, Limit: FormatLimit(l.Limit), Unit: unitOf(l.Unit), Cost: cost, Shadow: l.Shadow}
		if each != nil {
			e.Cost = each[i]
		}
		if v.applies != nil {
			if not := v.applies[i].failing(p, req); not != "" {
				e.Why = fmt.Sprintf("it is for requests with %s, and %s", v.applies[i], not)
			}
		}
		x.Limits = append(x.Limits, e)
	}
	return x
}

// String returns the condition in the words of YAML.
func (c condition) String() string {
	var all []string
	for i := range c {
		t := &c[i]
		switch values := t.texts(); {
		case t.absent:
			all = append(all, t.attribute+": absent")
		case len(values) == 0:
			all = append(all, t.attribute+": present")
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

// texts returns the patterns of a test, sorted.
func (t *test) texts() (all []string) {
	for value := range t.values {
		all = append(all, value)
	}
	all = append(all, t.patterns...)
	for _, n := range t.networks {
		all = append(all, n.String())
	}
	slices.Sort(all)
	return all
}

// String returns a text of several lines for people to read.
func (x Explained) String() string {
	var b strings.Builder
	if x.Exempt != "" {
		fmt.Fprintf(&b, "%s: nothing limits this request\n", x.Exempt)
	}
	for _, p := range x.Policies {
		verdict := "applies"
		if !p.Applies {
			verdict = "does not apply"
		}
		fmt.Fprintf(&b, "%s %s: %s\n", p.Policy, verdict, p.Why)
		if p.Variant == "" {
			continue
		}
		if p.Key != "" {
			fmt.Fprintf(&b, "  key     %s\n", p.Key)
		}
		fmt.Fprintf(&b, "  limits  %s\n", p.Variant)
		for _, l := range p.Limits {
			fmt.Fprintf(&b, "    %s: %s, takes %d %s", l.Name, l.Limit, l.Cost, l.Unit)
			if l.Shadow {
				b.WriteString(", in shadow mode")
			}
			if l.Why != "" {
				fmt.Fprintf(&b, ": %s", l.Why)
			}
			b.WriteByte('\n')
		}
		if len(p.With) > 0 {
			fmt.Fprintf(&b, "  with    %s\n", strings.Join(p.With, ", "))
		}
	}
	if len(x.Policies) == 0 {
		b.WriteString("there are no policies: every request is admitted\n")
	}
	return b.String()
}
