package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// KeyLimits are what one key of a policy has in place of what its policy would give it.
type KeyLimits struct {
	// Policy names the policy. Of Key and Parts there is one, as in Request; neither for a policy without a key.
	Policy string
	Key    string
	Parts  []string
	// Text is what the key has, as Policy.Stored reads it, at most MaxStoredBytes; "" if it has what the policy gives it.
	Text string
}

// KeyResult is what has become of a KeyLimits.
type KeyResult struct {
	// Number orders what was set for the key: the highest counts. It is the microsecond of Unix time at which that was, or more.
	Number uint64
	// Owner is the node that has it.
	Owner string
	// Kept says that the owner has it on disk, and Copied that another node has a copy in memory.
	Kept, Copied bool
	// Err says what was wrong. It wraps ErrInvalid, ErrUnknownPolicy or ErrUnavailable.
	Err error
}

// MaxStoredBytes bounds what the limits store has for one key.
const MaxStoredBytes = 2 << 10

var storedGrammar = grammar{known: []string{"tier", "limits", "unlimited"}}

const wantStored = `one of {"tier": NAME}, {"limits": [{"rate": 10/min}]} and {"unlimited": true}`

// Stored reads what the limits store has for one key of the policy, in place of its override, its tier or the policy's own limits: JSON,
// or YAML, with one of "tier" (the name of a tier of the policy), "limits" (as a tier has) and "unlimited: true". The limits have names
// that enforced limits of the policy or of its variants have; what is not said of one is as it is there, and those that are not named are
// not asked.
//
// The result is the variant of the policy with these limits, as Enforced; nil if nothing limits the key. The error is a *ParseError with
// all that is wrong. The policy is one of a Set.
func (p *Policy) Stored(text string) (*Policy, error) {
	r := &reader{file: "limits", Definition: Definition{Attributes: p.kinds, Units: p.known}}
	if len(text) > MaxStoredBytes {
		r.wrongAt(1, 1, "%d bytes, want at most %d", len(text), MaxStoredBytes)
		return nil, &r.err
	}
	if strict, _ := p.strictly(); strict {
		r.wrongAt(1, 1, "policy %s is strict, and only limits of policies that are not can be set for single keys: give it tiers or overrides", quoted(p.Name))
		return nil, &r.err
	}
	v := p.replaced(Plan{})
	v.label = "stored limits"
	if n := r.document([]byte(unescaped(text)), wantStored); n != nil {
		v = r.stored(n, p, v)
	}
	if len(r.err.Problems) > 0 {
		r.err.sort()
		return nil, &r.err
	}
	return v, nil
}

// unescaped is JSON without escapes of slashes, which YAML does not know.
func unescaped(text string) string {
	if !strings.Contains(text, `\/`) || !json.Valid([]byte(text)) {
		return text
	}
	return strings.NewReplacer(`\\`, `\\`, `\/`, `/`).Replace(text)
}

// stored reads into a variant of a policy, and returns what is enforced of it, or of the tier that is named.
func (r *reader) stored(n *yaml.Node, p, v *Policy) *Policy {
	m := r.mapping(n, "", storedGrammar)
	if m == nil {
		return nil
	}
	if len(m.values) != 1 {
		if len(m.meant) == 0 {
			r.wrong(n, "want %s", wantStored)
		}
		return nil
	}
	if n := m.values["tier"]; n != nil {
		return r.storedTier(n, p)
	}
	if n := m.values["unlimited"]; n != nil {
		if !r.yes(n, "unlimited: ") {
			r.wrong(n, "unlimited: want true, or leave it out")
		}
		return nil
	}
	return r.storedLimits(m.values["limits"], p, v)
}

func (r *reader) storedTier(n *yaml.Node, p *Policy) *Policy {
	if !r.is(n, yaml.ScalarNode, "tier: ", "the name of one") {
		return nil
	}
	if v := p.tiers[n.Value]; v != nil {
		return v.Enforced()
	}
	names := make([]string, 0, len(p.tiers))
	for name := range p.tiers {
		names = append(names, name)
	}
	slices.Sort(names)
	switch near := nearest(n.Value, names); {
	case len(names) == 0:
		r.wrong(n, "tier %s: policy %s has no tiers", quoted(n.Value), quoted(p.Name))
	case len(near) > 0:
		r.wrong(n, "unknown tier %s: did you mean %s?", quoted(n.Value), strings.Join(near, " or "))
	default:
		r.wrong(n, "unknown tier %s: policy %s has %s", quoted(n.Value), quoted(p.Name), listed(names))
	}
	return nil
}

func (r *reader) storedLimits(n *yaml.Node, p, v *Policy) *Policy {
	if !r.is(n, yaml.SequenceNode, "limits: ", "a list of limits, such as [{rate: 10/min}]") {
		return nil
	}
	union := p.union(false)
	places := map[place]*yaml.Node{{"limits", -1}: n}
	limits := make([]Limit, len(n.Content))
	for i, node := range n.Content {
		if name := field(node, "name"); name != nil {
			limits[i].Name = name.Value
		}
	}
	for i, name := range namesOf(namedLimits(p.Name, limits)) {
		where, node := fmt.Sprintf("limit %d: ", i+1), n.Content[i]
		at := slices.IndexFunc(union, func(l Limit) bool { return l.Name == name })
		if at < 0 {
			r.wrong(node, "%s%s: policy %s has no limit of that name: want %s, or add it to the policy first", where, quoted(name), quoted(p.Name),
				listed(namesOf(union)))
			continue
		}
		l, b, ok := r.limit(node, where, behaviourOf(&union[at]))
		if !ok {
			continue
		}
		if l.Name = name; field(node, "unit") == nil {
			l.Unit = union[at].Unit
		}
		if field(node, "when") == nil {
			l.When = union[at].When
		}
		if b.shadow {
			r.wrong(node, "%sshadow: limits in shadow mode are the policy's: leave it out", where)
		}
		if b.consistency == Strict {
			r.wrong(node, "%sconsistency: the policy is not strict, so a key can't be: leave it out", where)
		}
		if b.sampleAt != nil {
			r.wrong(b.sampleAt, "%ssample: every check of a key with limits of its own is decided: leave it out", where)
		}
		places[place{"limits", len(v.Limits)}] = node
		v.Limits = append(v.Limits, l)
	}
	if len(r.err.Problems) > 0 {
		return nil
	}
	v.Sample = 0
	r.complain(v.planDefects(), "", places)
	if len(r.err.Problems) > 0 {
		return nil
	}
	return v.half(union, false)
}

func namesOf(limits []Limit) (names []string) {
	for _, l := range limits {
		names = append(names, l.Name)
	}
	return names
}

// behaviourOf is how checks of a limit are decided, to hold for another where that says nothing.
func behaviourOf(l *Limit) behaviour {
	return behaviour{consistency: l.Consistency, onUnreachable: l.OnUnreachable, onOwnerLoss: l.OwnerLoss, durable: l.Durable}
}

// field returns the value of a field of a mapping, or nil.
func field(n *yaml.Node, name string) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

// CompactStored returns a text for Stored without what has no meaning, so that what was written alike is the same text.
func CompactStored(text string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(text)) == nil {
		return b.String()
	}
	return strings.TrimSpace(text)
}
