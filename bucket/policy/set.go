package policy

import (
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
}

// NewSet returns a set of copies of the policies, with names for the limits that have none. The error says all that is
// wrong with any of them at once, a name that is used twice included, and wraps ErrInvalidPolicy.
func NewSet(policies ...Policy) (*Set, error) {
	s := &Set{byName: make(map[string]*Policy, len(policies))}
	var errs []error
	for i := range policies {
		errs = append(errs, policies[i].Validate())
		p := policies[i].named()
		if s.byName[p.Name] != nil {
			errs = append(errs, fmt.Errorf("%w: policy %s is defined twice: rename one", ErrInvalidPolicy, quoted(p.Name)))
		}
		s.byName[p.Name] = p
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	s.finish(nil)
	for _, name := range s.names {
		if _, text := s.wrongWith(s.byName[name]); text != "" {
			errs = append(errs, fmt.Errorf("%w: policy %s: %s", ErrInvalidPolicy, quoted(name), text))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return s, nil
}

// wrongWith says what is wrong with the policies that one is decided with, and which of them, or "".
func (s *Set) wrongWith(p *Policy) (index int, text string) {
	for i, name := range p.With {
		if s.byName[name] == nil {
			return i, "with: " + s.unknown(name).Error()
		}
	}
	if n := len(p.with); n > MaxWith {
		return 0, fmt.Sprintf("with: %d policies in all (%s), want at most %d", n, listed(p.with), MaxWith)
	}
	return -1, ""
}

// Together returns the names of all policies that a request is decided by beside this one. The policy is one of a Set, and the slice
// is shared.
func (p *Policy) Together() []string { return p.with }

// finish makes the set ready once all policies are in it. units may be counted beside those that limits count.
func (s *Set) finish(units []string) {
	s.names = slices.Sorted(maps.Keys(s.byName))
	known := map[string]bool{}
	for _, unit := range units {
		known[unit] = true
	}
	for _, p := range s.byName {
		for _, unit := range p.units {
			known[unit] = true
		}
	}
	for _, p := range s.byName {
		p.with = nil
		for next := p.With; len(next) > 0 && len(p.with) <= MaxWith; next = next[1:] {
			if name := next[0]; name != p.Name && !slices.Contains(p.with, name) {
				p.with = append(p.with, name)
				if with := s.byName[name]; with != nil {
					next = append(slices.Clone(next), with.With...)
				}
			}
		}
	}
	delete(known, Requests)
	all := slices.Sorted(maps.Keys(known))
	for _, p := range s.byName {
		p.known = all
	}
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
