package policy

import (
	"fmt"
	"slices"
	"strings"
)

// Exempt says whether a request is one that is never limited.
func (s *Set) Exempt(req *Request) bool {
	return s != nil && s.exempt != nil && one(s.exempt, nil, req) >= 0
}

// Exempts says whether any requests are never limited.
func (s *Set) Exempts() bool { return s != nil && len(s.exempt) > 0 }

// noKey refuses a key that is given outright though no policy is named: its parts are nothing by themselves.
func noKey(req *Request) error {
	if req.Key == "" && req.Parts == nil {
		return nil
	}
	return fmt.Errorf("%w: it has a key and names no policy: name one, or give attributes instead of the key", ErrInvalid)
}

// Match appends the policies that are for a request which names none, by name. It does not allocate if there is room for them, and
// takes no longer for many policies than for few, if their conditions ask for different values of an attribute, or for values that
// begin differently.
//
// The error wraps ErrInvalid if the request has a key outright.
func (s *Set) Match(req *Request, into []*Policy) ([]*Policy, error) {
	if err := noKey(req); err != nil || s == nil {
		return into, err
	}
	begun := len(into)
	try := func(which []int32) {
		for _, i := range which {
			if p := s.sorted[i]; p.matches(req) {
				into = append(into, p)
			}
		}
	}
	try(s.match.always)
	for i := range s.match.by {
		m := &s.match.by[i]
		value := req.Attributes[m.attribute]
		if value == "" {
			continue
		}
		try(m.values[value])
		for at := m.longest(value); at >= 0; at = m.prefixes[at].shorter {
			if p := &m.prefixes[at]; strings.HasPrefix(value, p.text) {
				try(p.policies)
			}
		}
	}
	found := into[begun:]
	slices.SortFunc(found, func(a, b *Policy) int { return a.index - b.index })
	return into[:begun+len(slices.Compact(found))], nil
}

// Replaces says whether any policy replaces another.
func (s *Set) Replaces() bool { return s != nil && s.replaces }

// matches says whether the policy is for a request.
func (p *Policy) matches(req *Request) bool {
	return p.when.holds(nil, req) && (p.not == nil || one(p.not, nil, req) < 0)
}

// matcher finds the policies whose conditions may hold.
type matcher struct {
	always []int32 // whatever the attributes
	by     []attributeMatcher
}

// attributeMatcher finds those that ask for values of one attribute.
type attributeMatcher struct {
	attribute string
	values    map[string][]int32
	prefixes  []prefix // sorted
}

// prefix is the beginning of values.
type prefix struct {
	text     string
	shorter  int // the place of the longest other one that this begins with, or -1
	policies []int32
}

func newMatcher(policies []*Policy) (m matcher) {
	for i, p := range policies {
		t := p.when.distinct()
		if t == nil {
			m.always = append(m.always, int32(i))
			continue
		}
		a := m.of(t.attribute)
		for value := range t.values {
			a.values[value] = append(a.values[value], int32(i))
		}
		for _, text := range t.patterns {
			a.prefixes = append(a.prefixes, prefix{text: strings.TrimSuffix(text, "*"), policies: []int32{int32(i)}})
		}
	}
	for i := range m.by {
		m.by[i].order()
	}
	return m
}

// distinct returns the test by which the condition is best told from others, or nil: one of whole values, else one of beginnings.
func (c condition) distinct() (best *test) {
	for i := range c {
		t := &c[i]
		switch {
		case t.absent || t.address || t.values == nil && t.patterns == nil:
		case t.patterns == nil:
			return t
		case best == nil && !slices.ContainsFunc(t.patterns, func(p string) bool { return strings.Index(p, "*") < max(1, len(p)-1) }):
			best = t
		}
	}
	return best
}

func (m *matcher) of(attribute string) *attributeMatcher {
	for i := range m.by {
		if m.by[i].attribute == attribute {
			return &m.by[i]
		}
	}
	m.by = append(m.by, attributeMatcher{attribute: attribute, values: map[string][]int32{}})
	return &m.by[len(m.by)-1]
}

// order sorts the prefixes, each once, and finds for each the one that it begins with.
func (m *attributeMatcher) order() {
	slices.SortStableFunc(m.prefixes, func(a, b prefix) int { return strings.Compare(a.text, b.text) })
	once := m.prefixes[:0]
	for _, p := range m.prefixes {
		if last := len(once) - 1; last >= 0 && once[last].text == p.text {
			once[last].policies = append(once[last].policies, p.policies...)
		} else {
			once = append(once, p)
		}
	}
	m.prefixes = once
	for i := range m.prefixes {
		at := i - 1
		for at >= 0 && !strings.HasPrefix(m.prefixes[i].text, m.prefixes[at].text) {
			at = m.prefixes[at].shorter
		}
		m.prefixes[i].shorter = at
	}
}

// longest returns the place of the last prefix that does not sort behind a value, or -1. All that the value begins with are that one,
// or one that it begins with: whatever sorts between a beginning of the value and the value begins like it.
func (m *attributeMatcher) longest(value string) int {
	at, _ := slices.BinarySearchFunc(m.prefixes, value, func(p prefix, v string) int {
		if p.text <= v {
			return -1
		}
		return 1
	})
	return at - 1
}
