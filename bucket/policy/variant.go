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
	parts := partsOf(p.Key, kinds)
	for _, part := range parts {
		for i, name := range part.names {
			if part.kinds[i].Hash {
				return fmt.Sprintf("overrides: values of %s are secrets, and must not be written here: use tiers", quoted(name))
			}
		}
	}
	seen := map[string]string{}
	for _, text := range slices.Sorted(maps.Keys(p.Overrides)) {
		key, wrong := overrideOf(parts, text)
		if wrong != "" {
			return "overrides: " + wrong
		}
		if other, twice := seen[key]; twice {
			return fmt.Sprintf("overrides: %s and %s are the same key: leave one out", quoted(other), quoted(text))
		}
		seen[key] = text
	}
	return ""
}

// overrideOf returns the key of an override as KeyText has it: of an address what counts of it. If that can be no key, wrong says why.
func overrideOf(parts []part, text string) (key, wrong string) {
	if strings.Contains(text, `"`) { // written as KeyText quotes it
		return text, ""
	}
	values := strings.Split(text, "|")
	if len(values) != len(parts) {
		return "", fmt.Sprintf("%s has %d parts, and the key has %d: write them with | between them", quoted(text), len(values), len(parts))
	}
	for i, value := range values {
		if kind := parts[i].kinds[0]; kind.isAddress() {
			addr, _, _ := strings.Cut(value, "/")
			b, err := kind.appendAddress(nil, addr)
			if err != nil {
				return "", fmt.Sprintf("%s: %s is no address", quoted(text), quoted(value))
			}
			values[i] = string(b)
		}
	}
	return strings.Join(values, "|"), ""
}

// prepare makes a policy of a set ready, and all its variants. known are the units that may be counted.
func (p *Policy) prepare(kinds map[string]Attribute, known []string) {
	p.kinds, p.known = kinds, known
	p.when, p.not = p.When.ready(kinds), p.Not.ready(kinds)
	p.parts = partsOf(p.Key, kinds)
	p.label, p.all = "its own limits", []*Policy{p}
	p.tiers, p.keyed = p.variants("tier", p.Tiers), p.variants("override", p.Overrides)
	enforced, shadowed := p.union(false), p.union(true)
	for _, v := range p.all {
		v.readyLimits()
		v.split(enforced, shadowed)
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
		if of == "override" {
			value, _ = overrideOf(p.parts, value)
		}
		all[value] = v
	}
	return all
}

// readyLimits makes ready what follows from the limits.
func (p *Policy) readyLimits() {
	p.units, p.applies = nil, nil
	conditional := false
	for i, l := range p.Limits {
		if p.Lacks(i) {
			continue
		}
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
	p.plain = p.weigher == nil && !conditional && p.lacks == nil && len(p.units) == 1 && p.units[0] == Requests
}

// split tells the limits in shadow mode from those that are enforced. Each part has all limits that the part of any variant has, in the
// same order: a key of which requests come in two tiers, or whose tier changes, has one group of buckets, and keeps what was taken of a
// limit that a tier lacks. Of such a limit a request takes nothing.
func (p *Policy) split(enforced, shadowed []Limit) {
	p.reals, p.shadows = p.half(enforced, false), p.half(shadowed, true)
}

func (p *Policy) half(union []Limit, shadow bool) *Policy {
	v := *p
	v.Limits, v.shadow = slices.Clone(union), shadow
	v.lacks = make([]bool, len(union))
	own := 0
	for i := range v.Limits {
		at := slices.IndexFunc(p.Limits, func(l Limit) bool { return l.Name == union[i].Name && l.Shadow == shadow })
		if v.lacks[i] = at < 0; at >= 0 {
			v.Limits[i] = p.Limits[at]
			own++
		}
	}
	switch {
	case own == 0:
		return nil
	case own == len(union):
		v.lacks = nil
	}
	v.readyLimits()
	return &v
}

// union returns the limits of all variants, each name once.
func (p *Policy) union(shadow bool) (all []Limit) {
	for _, v := range p.all {
		for _, l := range v.Limits {
			if l.Shadow == shadow && !slices.ContainsFunc(all, func(m Limit) bool { return m.Name == l.Name }) {
				all = append(all, l)
			}
		}
	}
	return all
}

// wrongUnion says what is wrong with the limits of all variants together, or "". The limits have names.
func (p *Policy) wrongUnion() string {
	names, differ := map[string]bool{}, false
	for _, l := range p.Limits {
		names[l.Name] = true
	}
	own := len(names)
	for _, of := range p.plans() {
		for _, plan := range of.plans {
			for _, l := range plan.Limits {
				names[l.Name] = true
			}
			differ = differ || !plan.Unlimited && len(plan.Limits) != own
		}
	}
	switch {
	case len(names) > MaxLimits && len(p.Limits) <= MaxLimits:
		return fmt.Sprintf("the policy, its tiers and its overrides have limits of %d names, want at most %d: give those that take each "+
			"other's place the same name", len(names), MaxLimits)
	case p.Sample > 1 && (differ || len(names) > own):
		return fmt.Sprintf("sample: one check in %d, but tiers or overrides have other limits than the policy, by name: leave the sample out", p.Sample)
	}
	return ""
}

// Lacks says whether limit i of an enforced or shadowed variant is there for other variants only. A request takes nothing of it.
func (p *Policy) Lacks(i int) bool { return p.lacks != nil && p.lacks[i] }

// Variants returns all that requests may get of a policy of a Set: first the policy itself, then one for each tier and each override,
// with their limits. The slice is shared.
func (p *Policy) Variants() []*Policy { return p.all }

// Variant returns the number of a variant among the Variants of its policy, and says in words which it is: "its own limits", "tier free".
func (p *Policy) Variant() (number int, label string) { return p.variant, p.label }

// Enforced returns the variant without the limits that are in shadow mode, nil if all are. It has the limits of the other variants as
// well, which it Lacks.
func (p *Policy) Enforced() *Policy { return p.reals }

// Shadowed returns the variant with only the limits that are in shadow mode, nil if none is, and those of others that it Lacks. Its keys are apart from those of the
// enforced ones.
func (p *Policy) Shadowed() *Policy { return p.shadows }

// For returns the variant that a request gets of a policy of a Set. It does not allocate but for an override of a key of several parts.
func (p *Policy) For(req *Request) *Policy {
	if p.keyed != nil && p.isFirst(req) {
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

// isFirst says whether each part of the key is the first of its alternatives: of user|device a device must not pass for a user.
func (p *Policy) isFirst(req *Request) bool {
	for i := range p.parts {
		if _, of := p.part(req, i); of > 0 {
			return false
		}
	}
	return true
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
