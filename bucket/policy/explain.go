package policy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Explained says what the policies of a set have to do with a request, and why.
type Explained struct {
	// Exempt says which condition exempts the request from all limits, "" if none does.
	Exempt string `json:"exempt,omitempty"`
	// Policies are all of the set by name, or the one that the request names and those that it is decided with. If the request is
	// exempt they say what would be without that.
	Policies []ExplainedPolicy `json:"policies"`
}

// ExplainedPolicy says it of one policy.
type ExplainedPolicy struct {
	Policy string `json:"policy"`
	// Applies says that the request draws on buckets of the policy, is denied or refused by it, or is admitted by its being unlimited.
	// Why says what it takes, or what is in the way.
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

// Explain says which policies of the set a request is decided by, and why the others leave it alone. It shows no value of an attribute
// that is a secret. The error wraps ErrUnknownPolicy if the request names a policy that there is not, and ErrInvalid if it names none
// and has a key outright.
func (s *Set) Explain(req *Request) (x Explained, err error) { return s.ExplainWith(req, nil) }

// Store returns what the limits store has for a key, of which it gets the text that Policy.AppendKey makes: a text as Policy.Stored reads
// it, or "".
type Store func(key []byte) (text string, err error)

// ExplainWith is Explain where single keys have limits of their own. A nil Store has none.
func (s *Set) ExplainWith(req *Request, has Store) (x Explained, err error) {
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
		x.Policies = append(x.Policies, p.explain(req, "named by the request", has))
		other := p.besides(req)
		for _, name := range p.with {
			x.Policies = append(x.Policies, s.byName[name].explain(&other, "decided with "+p.Name, has))
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
	replaced := map[string]string{}
	for _, p := range matched {
		for _, name := range p.Replaces {
			if applies[name] != "" && replaced[name] == "" {
				replaced[name] = fmt.Sprintf("%s, but %s takes its place", applies[name], p.Name)
			}
		}
	}
	for name := range replaced {
		delete(applies, name)
	}
	for _, p := range matched {
		if replaced[p.Name] != "" {
			continue
		}
		for _, name := range p.with {
			if applies[name] == "" {
				applies[name] = "decided with " + p.Name
			}
		}
	}
	for _, p := range s.sorted {
		if why := applies[p.Name]; why != "" {
			x.Policies = append(x.Policies, p.explain(req, why, has))
		} else {
			why := replaced[p.Name]
			if why == "" {
				why = p.whyNot(req)
			}
			x.Policies = append(x.Policies, ExplainedPolicy{Policy: p.Name, Why: why})
		}
	}
	return x, nil
}

// besides returns a request that names this policy as the policies see it that are decided with it: without the key, which is this
// one's, but with the attributes that it is made of.
func (p *Policy) besides(req *Request) Request {
	other := *req
	other.Policy, other.Key, other.Parts = "", "", nil
	if req.Key != "" || req.Parts != nil {
		other.Attributes = make(map[string]string)
		maps.Copy(other.Attributes, req.Attributes)
		p.EachPart(req, func(name, value string) { other.Attributes[name] = value })
	}
	return other
}

// explain says what a policy does with a request that it is for.
func (p *Policy) explain(req *Request, why string, has Store) ExplainedPolicy {
	v := p.For(req)
	x := ExplainedPolicy{Policy: p.Name, Applies: true, Why: why, Variant: v.label, With: p.with}
	key, err := p.AppendKey(nil, req)
	if err == nil {
		x.Key = p.KeyText(req)
		if !v.Unlimited && has != nil {
			v, x.Variant, why = p.stored(v, key, has, why)
			x.Why = why
		}
	}
	switch {
	case v.Unlimited: // whatever the key, and if there is none
		x.Why = why + ", and unlimited"
		if v != p {
			x.Why += " by " + v.label
		}
		return x
	case !v.Applies(req):
		x.Applies, x.Why = false, why+", but none of its limits is for this request"
	case errors.Is(err, ErrMissingKey):
		x.Applies, x.Why = v.missing(req, why)
		return x
	case err != nil:
		x.Why = fmt.Sprintf("%s, but %v", why, err)
		return x
	}
	cost, each, err := v.Costs(req)
	if err != nil {
		x.Why = fmt.Sprintf("%s, but %v", why, err)
	}
	for i, l := range v.Limits {
		if v.Lacks(i) {
			continue
		}
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

// stored returns the variant by what the limits store has for a key, with the limits in shadow mode that v has.
func (p *Policy) stored(v *Policy, key []byte, has Store, why string) (by *Policy, variant, whyNow string) {
	text, err := has(key)
	switch {
	case err != nil:
		return v, v.label, fmt.Sprintf("%s, if the key has no limits of its own: %v", why, err)
	case text == "":
		return v, v.label, why
	}
	by, err = p.Stored(text)
	if err != nil {
		return v, v.label, fmt.Sprintf("%s; the key has limits of its own, without effect: %v", why, err)
	}
	label := "of the key alone: " + text
	w := p.replaced(Plan{})
	if by != nil {
		w.Limits = slices.Clone(by.Limits)
		w.lacks = slices.Clone(by.lacks)
	}
	for _, l := range v.Limits {
		if l.Shadow {
			w.Limits = append(w.Limits, l)
		}
	}
	if w.lacks != nil {
		w.lacks = append(w.lacks, make([]bool, len(w.Limits)-len(w.lacks))...)
	}
	w.Unlimited, w.label = len(w.Limits) == 0, label
	w.readyLimits()
	return w, label, why
}

// missing says what becomes of a request that lacks a part of the key, and whether the policy has anything to do with that.
func (p *Policy) missing(req *Request, why string) (applies bool, text string) {
	lacks := fmt.Sprintf("%s, but the request lacks a part of the key (%s): ", why, strings.Join(p.Key, ", "))
	switch real := p.Enforced(); {
	case p.OnMissing == MissingRefuse:
		return true, lacks + "it is refused"
	case p.OnMissing == MissingSkip:
		return false, lacks + "the policy is left out, as on_missing says"
	case real == nil || !real.Applies(req):
		return false, lacks + "the policy is left out, for it is in shadow mode"
	}
	return true, lacks + "it is denied, as on_missing says"
}
