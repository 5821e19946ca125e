package envoyimport

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/envoy"
)

// The fields that there are, by where. Envoy's service knows them all everywhere, and reads them there.
var (
	topFields        = []string{"domain", "descriptors"}
	descriptorFields = []string{
		"key", "value", "rate_limit", "descriptors", "shadow_mode", "quota_mode", "detailed_metric", "value_to_metric", "share_threshold", "metadata",
	}
	limitFields    = []string{"unit", "requests_per_unit", "unlimited", "name", "replaces"}
	replacesFields = []string{"name"}

	allFields = slices.Concat(topFields, descriptorFields, limitFields)
)

// maxDescriptors bounds what is read, for aliases make much of little.
const maxDescriptors = 20_000

// top reads a file.
func (r *reader) top(n *yaml.Node) {
	f := r.mapping(n, "", topFields)
	if f == nil {
		return
	}
	name := r.text(f["domain"], "domain: ")
	switch {
	case f["domain"].value == nil:
		r.wrong(n, `field "domain" is missing: want the domain that the filter in Envoy names`)
	case name == "":
		r.wrong(f["domain"].value, "domain: nothing here: want the domain that the filter in Envoy names")
	case strings.Contains(name, "*"):
		r.wrong(f["domain"].value, "domain %s: a * would stand for any text in a policy: rename it here and in Envoy", quoted(name))
	}
	d := r.domain(name)
	if f["descriptors"].value != nil && !isNull(f["descriptors"].value) {
		r.descriptors(f["descriptors"].value, "", nil, &d.level)
	}
}

// domain returns the one of a name; several files may have parts of it.
func (r *reader) domain(name string) *domain {
	for _, d := range r.domains {
		if d.name == name {
			return d
		}
	}
	r.domains = append(r.domains, &domain{name: name})
	return r.domains[len(r.domains)-1]
}

// descriptors reads a list of descriptors below these keys into a level of the tree.
func (r *reader) descriptors(n *yaml.Node, where string, above []string, level *[]*descriptor) {
	if !r.is(n, yaml.SequenceNode, where+"descriptors: ", "a list of descriptors, such as [{key: user}]") {
		return
	}
	for _, one := range n.Content {
		if r.read++; r.read > maxDescriptors {
			if r.read == maxDescriptors+1 {
				r.wrong(one, "%smore than %d descriptors: import fewer files at a time", where, maxDescriptors)
			}
			return
		}
		r.descriptor(resolved(one), where, above, level)
	}
}

func (r *reader) descriptor(n *yaml.Node, where string, above []string, level *[]*descriptor) {
	before := len(r.problems)
	f := r.mapping(n, where+"descriptor: ", descriptorFields)
	if f == nil {
		return
	}
	d := &descriptor{file: r.file, line: n.Line, key: r.text(f["key"], where+"key: "), value: r.text(f["value"], where+"value: ")}
	if d.key == "" {
		if len(r.problems) == before { // else it may be what is wrong
			r.wrong(n, "%sdescriptor: no key: name one, as Envoy sends it", where)
		}
		return
	}
	keys := append(slices.Clip(above), d.key)
	where += quoted(d.text()) + ": "
	if other := r.seen[place{level, d.key, d.value}]; other != nil {
		r.wrong(n, "%sis there twice, first at %s:%d: leave one out", where, other.file, other.line)
		return
	}
	if !r.nameable(n, keys) {
		return
	}
	*level, r.seen[place{level, d.key, d.value}] = append(*level, d), d
	d.shadow = r.yes(f["shadow_mode"], where+"shadow_mode: ")
	if d.share = r.yes(f["share_threshold"], where+"share_threshold: "); d.share && !d.isPattern() {
		r.wrong(f["share_threshold"].at, "%sshare_threshold: the value has no *, so there is nothing to share: leave it out", where)
	}
	r.idle(f, where)
	if v := f["rate_limit"].value; v != nil && !isNull(v) {
		d.limit = r.limit(v, where+"rate_limit: ")
	}
	if v := f["descriptors"].value; v != nil && !isNull(v) {
		r.descriptors(v, where, keys, &d.children)
	}
}

// text is a descriptor as messages and names of policies have it.
func (d *descriptor) text() string {
	if d.value == "" {
		return d.key
	}
	return d.key + "=" + d.value
}

// nameable says whether a policy can ask for the last of these keys, and notes it if not.
func (r *reader) nameable(n *yaml.Node, keys []string) bool {
	names := envoy.AttributeNames(keys)
	switch last := names[len(names)-1]; {
	case strings.Contains(keys[len(keys)-1], "*"):
		r.note(n, true, "key", fmt.Sprintf("%s stands for many keys, and a condition names one: write a descriptor for each key; "+
			"left out with all below it", quoted(keys[len(keys)-1])))
	case len(last) > policy.MaxNameBytes:
		r.note(n, true, "key", fmt.Sprintf("as an attribute it has %d bytes, and a name at most %d: rename it here and in Envoy; "+
			"left out with all below it", len(last), policy.MaxNameBytes))
	case len(keys) > policy.MaxKeyParts:
		r.note(n, true, "descriptors", fmt.Sprintf("%d deep, and a key has at most %d parts: use fewer entries; left out with all below it",
			len(keys), policy.MaxKeyParts))
	default:
		return true
	}
	return false
}

// idle notes what can't be carried over of a descriptor.
func (r *reader) idle(f map[string]field, where string) {
	if r.yes(f["quota_mode"], where+"quota_mode: ") {
		r.note(f["quota_mode"].at, true, "quota_mode", "a request is denied only if all its quotas are used up, and here any limit denies: "+
			"imported as a limit like others; have Envoy send one descriptor for what shares a fate")
	}
	for _, name := range []string{"detailed_metric", "value_to_metric"} {
		if r.yes(f[name], where+name+": ") {
			r.note(f[name].at, false, name, "metrics here have the names of policies, and never what clients send: "+
				"leave it out, or write a descriptor for each value to watch")
		}
	}
	if v := f["metadata"].value; v != nil && !isNull(v) {
		r.note(f["metadata"].at, false, "metadata", "the dynamic metadata here have the domain, the policies and their verdicts: "+
			"have the filter in Envoy read the policy's name")
	}
}

// limit reads a rate_limit.
func (r *reader) limit(n *yaml.Node, where string) *limit {
	f := r.mapping(n, where, limitFields)
	if f == nil {
		return nil
	}
	l := &limit{
		name: r.text(f["name"], where+"name: "), unlimited: r.yes(f["unlimited"], where+"unlimited: "),
		unit: strings.ToLower(r.text(f["unit"], where+"unit: ")),
	}
	_, known := periods[l.unit]
	switch near := nearest(l.unit, unitNames); {
	case l.unlimited && l.unit != "":
		r.wrong(f["unit"].at, "%sunit, and unlimited: leave one of the two out", where)
	case l.unlimited || known:
	case l.unit == "":
		r.wrong(n, "%sunit is missing: want %s", where, strings.Join(unitNames, ", "))
	case near != "":
		r.wrong(f["unit"].value, "%sunknown unit %s: did you mean %q?", where, quoted(l.unit), near)
	default:
		r.wrong(f["unit"].value, "%sunknown unit %s: want %s", where, quoted(l.unit), strings.Join(unitNames, ", "))
	}
	if v := f["requests_per_unit"].value; v != nil && !isNull(v) {
		if v.Kind != yaml.ScalarNode || v.Decode(&l.count) != nil {
			r.wrong(v, "%srequests_per_unit: %s: want a whole number, 0 to %d", where, quoted(v.Value), uint32(1<<32-1))
		}
	}
	r.replaces(f["replaces"], l, where+"replaces: ")
	return l
}

func (r *reader) replaces(f field, l *limit, where string) {
	if f.value == nil || isNull(f.value) || !r.is(f.value, yaml.SequenceNode, where, "a list of names, such as [{name: user_limit}]") {
		return
	}
	for _, one := range f.value.Content {
		one = resolved(one)
		m := r.mapping(one, where, replacesFields)
		switch name := r.text(m["name"], where+"name: "); {
		case m == nil:
		case name == "":
			r.wrong(one, "%sno name: say which limit it replaces", where)
		case name == l.name:
			r.wrong(one, "%s%s is its own name: leave it out", where, quoted(name))
		default:
			l.replaces = append(l.replaces, name)
		}
	}
}
