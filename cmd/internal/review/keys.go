package review

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// alternatives returns the attributes of which one is a part of a key.
func alternatives(part string) []string { return strings.Split(part, "|") }

// addresses doubts an attribute in a key that has addresses by its name, and was not declared as one.
func (r *reviewer) addresses(p *policy.Policy) {
	for _, part := range p.Key {
		for _, name := range alternatives(part) {
			if isAddressName(name) && r.of.Attributes[name] == (policy.Attribute{}) {
				r.doubt(in(p, "key", part), "policy %q: key: %q is taken byte for byte: whoever has one IPv6 address has 2^64 of them, and a "+
					"bucket for each: write attributes: {%s: {ipv4: 32, ipv6: 64}} above the policies", p.Name, name, name)
			}
		}
	}
}

func isAddressName(name string) bool {
	name = strings.ToLower(name)
	return name == "ip" || strings.HasSuffix(name, "_ip") || strings.HasSuffix(name, "-ip") || strings.HasSuffix(name, ".ip")
}

// overrides doubts an override that no key has.
func (r *reviewer) overrides(p *policy.Policy) {
	for _, of := range slices.Sorted(maps.Keys(p.Overrides)) {
		parts := keyParts(of)
		if len(parts) != len(p.Key) {
			r.doubt(in(p, "overrides", of), "policy %q: override %q never applies: a key has %s, joined by |, and this has %d",
				p.Name, of, number(len(p.Key), "part", "parts"), len(parts))
			continue
		}
		req := &policy.Request{Parts: parts}
		if _, label := p.For(req).Variant(); label != "override "+of {
			text := p.KeyText(req)
			r.doubt(in(p, "overrides", of), "policy %q: override %q never applies: the key is written %q", p.Name, of, text)
		}
	}
}

// keyParts splits a key as people read it into its parts.
func keyParts(text string) (parts []string) {
	for {
		part, rest := "", ""
		if quoted, err := strconv.QuotedPrefix(text); err == nil {
			part, _ = strconv.Unquote(quoted)
			rest = text[len(quoted):]
		} else {
			at := strings.IndexByte(text, '|')
			if at < 0 {
				at = len(text)
			}
			part, rest = text[:at], text[at:]
		}
		parts = append(parts, part)
		after, more := strings.CutPrefix(rest, "|")
		if !more {
			return parts
		}
		text = after
	}
}
