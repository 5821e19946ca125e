package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The variants of a policy are what requests get of it: its own limits, those of a tier, those of an override. They have the same name
// and key, so a request draws on the same buckets whichever variant it gets, as far as limits have the same names.

// plansOf are the tiers of a policy, or its overrides.
type plansOf struct {
	name  string
	plans map[string]Plan
}

func (p *Policy) plans() [2]plansOf { return [2]plansOf{{"tier", p.Tiers}, {"override", p.Overrides}} }

// replaced returns the policy with other limits, as a variant.
func (p *Policy) replaced(by Plan) *Policy {
	v := *p
	v.Limits, v.Unlimited = by.Limits, by.Unlimited
	v.Tiers, v.Overrides = nil, nil
	return &v
}

// planDefects returns all that is wrong with the limits of a variant.
func (p *Policy) planDefects() []defect {
	ds := p.limitDefects()
	if p.Unlimited {
		return ds
	}
	for _, text := range p.wrongSample() {
		ds = append(ds, defect{"limits", -1, text})
	}
	for _, text := range p.wrongWeights() {
		if !strings.Contains(text, noSuchUnit) { // a tier need not count all that others do
			ds = append(ds, defect{"limits", -1, text})
		}
	}
	return ds
}

// wrongOverrides says what is wrong with the keys of overrides, if attributes are of these kinds, or "".
func (p *Policy) wrongOverrides(kinds map[string]Attribute) string {
	if len(p.Overrides) == 0 {
		return ""
	}
	if len(p.Key) == 0 {
		return "overrides: the policy has no key: leave them out"
	}
	for _, part := range p.Key {
		for _, name := range strings.Split(part, "|") {
			if kinds[name].Hash {
				return fmt.Sprintf("overrides: values of %s are secrets, and must not be written here: use tiers", quoted(name))
			}
		}
	}
	return ""
}

// prepare makes a policy of a set ready, and all its variants. known are the units that may be counted.
func (p *Policy) prepare(kinds map[string]Attribute, known []string) {
	p.kinds, p.known = kinds, known
	p.when, p.not = p.When.ready(kinds), p.Not.ready(kinds)
	p.parts = partsOf(p.Key, kinds)
	p.label, p.all = "its own limits", []*Policy{p}
	p.tiers, p.keyed = p.variants("tier", p.Tiers), p.variants("override", p.Overrides)
	for _, v := range p.all {
		v.readyLimits()
		v.split()
	}
}

// variants makes those of tiers, or of overrides.
func (p *Policy) variants(of string, plans map[string]Plan) map[string]*Policy {
	if len(plans) == 0 {
		return nil
	}
	all := make(map[string]*Policy, len(plans))
	for _, value := range slices.Sorted(maps.Keys(plans)) {
		v := p.replaced(plans[value])
		v.variant, v.label = len(p.all), of+" "+value
		if of == "tier" && p.kinds[TierAttribute].Hash {
			v.label = "a tier that is a secret"
		}
		p.all = append(p.all, v)
		all[value] = v
	}
	return all
}

// readyLimits makes ready what follows from the limits.
func (p *Policy) readyLimits() {
	p.units, p.applies = nil, nil
	conditional := false
	for _, l := range p.Limits {
		if unit := unitOf(l.Unit); !slices.Contains(p.units, unit) {
			p.units = append(p.units, unit)
		}
		conditional = conditional || len(l.When) > 0
	}
	if conditional {
		for _, l := range p.Limits {
			p.applies = append(p.applies, l.When.ready(p.kinds))
		}
	}
	p.weigher = newWeigher(&p.Weights)
	p.plain = p.weigher == nil && !conditional && len(p.units) == 1 && p.units[0] == Requests
}

// split tells the limits in shadow mode from those that are enforced.
func (p *Policy) split() {
	shadow := func(l Limit) bool { return l.Shadow }
	p.reals, p.shadows = p, nil
	if !slices.ContainsFunc(p.Limits, shadow) {
		return
	}
	part := func(limits []Limit) *Policy {
		if len(limits) == 0 {
			return nil
		}
		v := *p
		v.Limits = limits
		v.readyLimits()
		return &v
	}
	p.reals = part(slices.DeleteFunc(slices.Clone(p.Limits), shadow))
	p.shadows = part(slices.DeleteFunc(slices.Clone(p.Limits), func(l Limit) bool { return !l.Shadow }))
	p.shadows.shadow = true
}

// Variants returns all that requests may get of a policy of a Set: first the policy itself, then one for each tier and each override,
// with their limits. The slice is shared.
func (p *Policy) Variants() []*Policy { return p.all }

// Variant returns the number of a variant among the Variants of its policy, and says in words which it is: "its own limits", "tier free".
func (p *Policy) Variant() (number int, label string) { return p.variant, p.label }

// Enforced returns the variant without the limits that are in shadow mode: the variant itself if none is, nil if all are.
func (p *Policy) Enforced() *Policy { return p.reals }

// Shadowed returns the variant with only the limits that are in shadow mode, nil if none is. Its keys are apart from those of the
// enforced ones.
func (p *Policy) Shadowed() *Policy { return p.shadows }

// For returns the variant that a request gets of a policy of a Set. It does not allocate but for an override of a key of several parts.
func (p *Policy) For(req *Request) *Policy {
	if p.keyed != nil {
		if v := p.keyed[p.overrideKey(req)]; v != nil {
			return v
		}
	}
	if p.tiers != nil {
		if v := p.tiers[p.value(req, TierAttribute)]; v != nil {
			return v
		}
	}
	return p
}

// overrideKey is KeyText, and what the request says if that is the same.
func (p *Policy) overrideKey(req *Request) string {
	if len(p.parts) == 1 && !p.parts[0].address {
		if v, _ := p.part(req, 0); plain(v) {
			return v
		}
	}
	return p.KeyText(req)
}
