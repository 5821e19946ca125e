package policy

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Set is a set of policies by name. It is immutable, and so safe for use by any number of goroutines. The nil and the
// zero Set are empty.
type Set struct {
	byName map[string]*Policy
	names  []string // sorted
	sorted []*Policy
	exempt []condition
	match  matcher
	// replaces says that some policy replaces another.
	replaces bool
	text     string
	made     Definition // of this, without the policies
}

// Definition is what a Set is made of.
type Definition struct {
	// Attributes say how values of attributes become parts of keys, by name; those that are missing are taken byte for byte.
	Attributes map[string]Attribute
	// Units may be counted, beside those that limits count.
	Units []string
	// Exempt requests are never limited: those of which one of these holds.
	Exempt Any
	// Policies have different names.
	Policies []Policy
}

// NewSet returns a set of these policies: Definition.Set without more.
func NewSet(policies ...Policy) (*Set, error) { return Definition{Policies: policies}.Set() }

// Set returns a set of copies of the policies, with names for the limits that have none. The error says all that is
// wrong with any of them at once, a name that is used twice included, and wraps ErrInvalidPolicy.
func (d Definition) Set() (*Set, error) {
	s := &Set{byName: make(map[string]*Policy, len(d.Policies))}
	var errs []error
	say := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: %s", ErrInvalidPolicy, fmt.Sprintf(format, args...)))
	}
	for _, name := range slices.Sorted(maps.Keys(d.Attributes)) {
		if wrong := cmp.Or(wrongName(name), d.Attributes[name].wrong()); wrong != "" {
			say("attribute %s: %s", quoted(name), wrong)
		}
	}
	for i, c := range d.Exempt {
		for _, wrong := range c.wrong(d.Attributes) {
			say("exempt %d: %s", i+1, wrong)
		}
		if len(c) == 0 {
			say("exempt %d: it always holds, so nothing would be limited: leave it out", i+1)
		}
	}
	for i := range d.Policies {
		p := &d.Policies[i]
		errs = append(errs, p.validate(d.Attributes))
		if s.byName[p.Name] != nil {
			say("policy %s is defined twice: rename one", quoted(p.Name))
		}
		s.byName[p.Name] = p.named()
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	s.finish(d)
	for _, name := range s.names {
		if _, text := s.wrongNames(s.byName[name]); text != "" {
			say("policy %s: %s", quoted(name), text)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return s, nil
}

// Definition returns what the set is made of, its policies by name, so that another can be made that differs in something. What it
// points to is shared with the set, and must not be changed.
func (s *Set) Definition() Definition {
	if s == nil {
		return Definition{}
	}
	d := s.made
	for _, p := range s.sorted {
		d.Policies = append(d.Policies, *p)
	}
	return d
}

// wrongNames says what is wrong with the other policies that one names, and where, or "".
func (s *Set) wrongNames(p *Policy) (at place, text string) {
	for _, of := range p.lists() {
		for i, name := range of.names {
			if s.byName[name] == nil {
				return place{of.field, i}, of.field + ": " + s.unknown(name).Error()
			}
		}
	}
	if n := len(p.with); n > MaxWith {
		return place{"with", 0}, fmt.Sprintf("with: %d policies in all (%s), want at most %d", n, listed(p.with), MaxWith)
	}
	return place{}, ""
}

// Together returns the names of all policies that a request is decided by beside this one. The policy is one of a Set, and the slice
// is shared.
func (p *Policy) Together() []string { return p.with }

// finish makes the set ready once all policies are in it.
func (s *Set) finish(d Definition) {
	s.names = slices.Sorted(maps.Keys(s.byName))
	known := s.units(d.Units)
	for i, name := range s.names {
		p := s.byName[name]
		p.index, p.with = i, s.together(p)
		p.prepare(d.Attributes, known)
		s.replaces = s.replaces || len(p.Replaces) > 0
		s.sorted = append(s.sorted, p)
	}
	s.exempt = d.Exempt.ready(d.Attributes)
	s.made = Definition{Attributes: d.Attributes, Units: d.Units, Exempt: d.Exempt}
	s.match = newMatcher(s.sorted)
}

// units returns all units that may be counted but for Requests, sorted.
func (s *Set) units(more []string) []string {
	known := map[string]bool{}
	for _, unit := range more {
		known[unit] = true
	}
	count := func(limits []Limit) {
		for _, l := range limits {
			known[unitOf(l.Unit)] = true
		}
	}
	for _, p := range s.byName {
		count(p.Limits)
		for _, of := range p.plans() {
			for _, plan := range of.plans {
				count(plan.Limits)
			}
		}
	}
	delete(known, Requests)
	return slices.Sorted(maps.Keys(known))
}

// together returns the names of all policies that one is decided with, and theirs, up to one more than there may be.
func (s *Set) together(p *Policy) (with []string) {
	for next := p.With; len(next) > 0 && len(with) <= MaxWith; next = next[1:] {
		if name := next[0]; name != p.Name && !slices.Contains(with, name) {
			with = append(with, name)
			if other := s.byName[name]; other != nil {
				next = append(slices.Clone(next), other.With...)
			}
		}
	}
	return with
}

// Policy returns the policy of that name; it is shared and must not be changed. The error wraps ErrUnknownPolicy and
// names policies that the caller may have meant.
func (s *Set) Policy(name string) (*Policy, error) {
	if s != nil {
		if p := s.byName[name]; p != nil {
			return p, nil
		}
	}
	return nil, s.unknown(name)
}

func (s *Set) unknown(name string) error {
	switch near := nearest(name, s.all()); {
	case s.Len() == 0:
		return fmt.Errorf("%w %s: no policies are defined", ErrUnknownPolicy, quoted(name))
	case len(near) > 0:
		return fmt.Errorf("%w %s: did you mean %s?", ErrUnknownPolicy, quoted(name), strings.Join(near, " or "))
	default:
		return fmt.Errorf("%w %s: known are %s", ErrUnknownPolicy, quoted(name), listed(s.names))
	}
}

// Text returns the text that Parse has made the set of; "" if it was made otherwise.
func (s *Set) Text() string {
	if s == nil {
		return ""
	}
	return s.text
}

// Names returns the names of all policies, sorted. The slice is the caller's.
func (s *Set) Names() []string { return slices.Clone(s.all()) }

// Len returns the number of policies.
func (s *Set) Len() int { return len(s.all()) }

func (s *Set) all() []string {
	if s == nil {
		return nil
	}
	return s.names
}
