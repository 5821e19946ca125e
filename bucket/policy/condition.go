package policy

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// Condition is what must hold of the attributes of a request, by name, all of it. The zero Condition always holds. An attribute that
// is empty is absent.
type Condition map[string]Test

// Test is what must hold of one attribute. The zero Test holds if it is present.
type Test struct {
	// Absent says that the attribute must be absent; then OneOf is empty.
	Absent bool
	// OneOf are patterns, of which the value must match one: text in which each "*" stands for any text. Of an attribute that is an
	// address they are addresses, or networks such as 10.0.0.0/8.
	OneOf []string
}

// MaxPatterns bounds the patterns of one test.
const MaxPatterns = 10_000

// wrong says what is wrong with the condition, if attributes are of these kinds, or nothing.
func (c Condition) wrong(kinds map[string]Attribute) (wrong []string) {
	for _, name := range slices.Sorted(maps.Keys(c)) {
		t := c[name]
		if text := wrongName(name); text != "" {
			wrong = append(wrong, "attribute "+text)
			continue
		}
		switch {
		case t.Absent && len(t.OneOf) > 0:
			wrong = append(wrong, fmt.Sprintf("%s: absent, and one of %s: leave one of the two out", name, listed(t.OneOf)))
		case len(t.OneOf) > MaxPatterns:
			wrong = append(wrong, fmt.Sprintf("%s: %d values, want at most %d", name, len(t.OneOf), MaxPatterns))
		}
		for _, text := range t.OneOf {
			if text == "" {
				wrong = append(wrong, fmt.Sprintf(`%s: "" never matches, for what is empty is absent: write absent`, name))
			} else if _, err := network(text); kinds[name].isAddress() && err != nil {
				wrong = append(wrong, fmt.Sprintf("%s: %s is neither an address nor a network: want 192.0.2.1, 10.0.0.0/8 or 2001:db8::/32",
					name, quoted(text)))
			}
		}
	}
	return wrong
}

// network reads an address, or a network of them.
func network(text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		a = a.Unmap().WithZone("")
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return p, err
	}
	if a := p.Addr(); a.Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(a.Unmap(), p.Bits()-96)
	}
	return p.Masked(), nil
}

// condition is a Condition made ready.
type condition []test

type test struct {
	attribute string
	absent    bool
	address   bool
	secret    bool            // its values are
	values    map[string]bool // if one of them is enough: there are many, or none is a pattern
	patterns  []string
	networks  []netip.Prefix
}

func (c Condition) ready(kinds map[string]Attribute) condition {
	var all condition
	for _, name := range slices.Sorted(maps.Keys(c)) {
		t := test{attribute: name, absent: c[name].Absent, address: kinds[name].isAddress(), secret: kinds[name].Hash}
		for _, text := range c[name].OneOf {
			switch {
			case t.address:
				if n, err := network(text); err == nil {
					t.networks = append(t.networks, n)
				}
			case strings.Contains(text, "*"):
				t.patterns = append(t.patterns, text)
			default:
				if t.values == nil {
					t.values = make(map[string]bool)
				}
				t.values[text] = true
			}
		}
		all = append(all, t)
	}
	return all
}

// holds says whether all of it holds of a request, which may be one for a policy.
func (c condition) holds(p *Policy, req *Request) bool {
	for i := range c {
		if !c[i].holds(p.value(req, c[i].attribute)) {
			return false
		}
	}
	return true
}

func (t *test) holds(value string) bool {
	switch {
	case value == "":
		return t.absent
	case t.absent:
		return false
	case t.address && len(t.networks) > 0:
		a, err := netip.ParseAddr(value)
		if err != nil {
			return false
		}
		a = a.Unmap().WithZone("")
		return slices.ContainsFunc(t.networks, func(n netip.Prefix) bool { return n.Contains(a) })
	case t.values == nil && t.patterns == nil:
		return true
	}
	return t.values[value] || slices.ContainsFunc(t.patterns, func(p string) bool { return matches(p, value) })
}

// failing says what does not hold of a request, for people, or "".
func (c condition) failing(p *Policy, req *Request) string {
	for i := range c {
		t := &c[i]
		value := p.value(req, t.attribute)
		if t.holds(value) {
			continue
		}
		switch {
		case t.absent:
			return t.attribute + " is present"
		case value == "":
			return t.attribute + " is absent"
		case t.secret:
			return t.attribute + " is another secret"
		}
		return fmt.Sprintf("%s is %s", t.attribute, quoted(value))
	}
	return ""
}

// Any is a list of conditions of which one must hold. The zero Any never holds.
type Any []Condition

func (a Any) ready(kinds map[string]Attribute) (all []condition) {
	for _, c := range a {
		all = append(all, c.ready(kinds))
	}
	return all
}

// one returns the first of these that holds, or -1.
func one(all []condition, p *Policy, req *Request) int {
	for i, c := range all {
		if c.holds(p, req) {
			return i
		}
	}
	return -1
}

func (c Condition) equal(d Condition) bool {
	return maps.EqualFunc(c, d, func(a, b Test) bool { return a.Absent == b.Absent && slices.Equal(a.OneOf, b.OneOf) })
}
