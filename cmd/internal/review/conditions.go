package review

import (
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// contradiction doubts a policy whose when and not leave no request.
func (r *reviewer) contradiction(p *policy.Policy) {
	if r.named[p.Name] { // it may be meant for others alone
		return
	}
	for _, not := range p.Not {
		if implies(p.When, not) {
			r.doubt(in(p, "when", "not"), "policy %q: every request that its when is for is one that its not is for as well, so it is for none: "+
				"leave one of the two out", p.Name)
			return
		}
	}
}

// implies says whether whatever one condition holds of, the other surely does too.
func implies(a, b policy.Condition) bool {
	for name, want := range b {
		have, said := a[name]
		switch {
		case !said, have.Absent != want.Absent:
			return false
		case want.Absent, len(want.OneOf) == 0:
		case len(have.OneOf) == 0:
			return false
		case !slices.Equal(have.OneOf, want.OneOf) && !allWithin(have.OneOf, want.OneOf):
			return false
		}
	}
	return true
}

// allWithin says whether each of these patterns is surely matched by one of those: it is one of them, or text that one begins.
func allWithin(these, those []string) bool {
	for _, text := range these {
		if !slices.ContainsFunc(those, func(p string) bool {
			prefix, all := strings.CutSuffix(p, "*")
			return p == text || all && !strings.Contains(prefix, "*") && strings.HasPrefix(text, prefix)
		}) {
			return false
		}
	}
	return true
}

// networks doubts every condition that asks of an attribute for a network, where the attribute is not one of addresses.
func (r *reviewer) networks() {
	for i, c := range r.of.Exempt {
		r.networksOf(c, "exempt", strconv.Itoa(i))
	}
	for i := range r.of.Policies {
		p := &r.of.Policies[i]
		r.networksOf(p.When, in(p, "when")...)
		for i, c := range p.Not {
			r.networksOf(c, in(p, "when", "not", strconv.Itoa(i))...)
		}
		limits := func(limits []policy.Limit, path ...string) {
			for i, l := range limits {
				r.networksOf(l.When, append(path, "limits", strconv.Itoa(i), "when")...)
			}
		}
		limits(p.Limits, in(p)...)
		for of, plans := range map[string]map[string]policy.Plan{"tiers": p.Tiers, "overrides": p.Overrides} {
			for value, plan := range plans {
				limits(plan.Limits, in(p, of, value)...)
			}
		}
	}
}

func (r *reviewer) networksOf(c policy.Condition, path ...string) {
	for _, name := range slices.Sorted(maps.Keys(c)) {
		for _, text := range c[name].OneOf {
			if _, err := netip.ParsePrefix(text); err == nil && !r.isAddress(name) {
				r.doubt(append(slices.Clone(path), name), "%s: %q is a network, but %q is compared as text, so that no address matches: "+
					"write attributes: {%s: {ipv4: 32, ipv6: 64}} above the policies", name, text, name, name)
				break
			}
		}
	}
}

func (r *reviewer) isAddress(name string) bool {
	a := r.of.Attributes[name]
	return a.IPv4 != 0 || a.IPv6 != 0
}
