package policy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/redis"
)

const (
	// MaxLimits bounds the limits of one policy.
	MaxLimits = 16
	// MaxWith bounds the policies that one is decided with.
	MaxWith = 8
	// MaxReplaces bounds the policies that one replaces.
	MaxReplaces = 64
	// MaxKeyParts bounds the attributes that form a key, and the parts of a key given outright.
	MaxKeyParts = 16
	// MaxNameBytes bounds the names of policies, limits and attributes.
	MaxNameBytes = 128
)

// ErrInvalidPolicy is wrapped by every error about a policy, in Go or in a file. The text names the policy and field.
var ErrInvalidPolicy = errors.New("invalid policy")

// Policy is a named list of limits that apply together to one key. The zero Policy is not valid.
//
// A Policy that came from a Set is shared and must not be changed.
type Policy struct {
	// Name names the policy: 1 to MaxNameBytes of printable ASCII without spaces, quotes and backslashes. It is part of
	// the identity of every bucket of the policy.
	Name string
	// When says which requests the policy is for, those that name no policy, and Not which of them it is not for.
	When Condition
	Not  Any
	// Key names the attributes whose values form the key, in their order, at most MaxKeyParts; each is a name as above, or
	// several with "|" between them, of which the first counts that the request has: "user|ip". Empty means that there is no key:
	// one bucket for all.
	Key []string
	// OnMissing says what becomes of a request that lacks a part of the key.
	OnMissing OnMissing
	// Limits must all admit, and none is charged if one denies: 1 to MaxLimits, no two of the same name, or the same in all
	// but that.
	Limits []Limit
	// Unlimited admits everything, in place of Limits.
	Unlimited bool
	// Tiers are other limits for requests whose attribute TierAttribute has that value, and Overrides for those of that key, as
	// KeyText shows it. An override goes before a tier, and each replaces the whole list of limits.
	Tiers, Overrides map[string]Plan
	// With names other policies of the set that a request is decided by as well, each on its own key: all must admit, with those that
	// they are decided with in turn, and none is charged if one denies. They are MaxWith in all at the most. Their keys are read from
	// the request's attributes, or from its key where this policy has the attribute.
	With []string
	// Replaces names other policies of the set whose place this one takes, MaxReplaces at the most: of requests that name no policy and that
	// it is for, alone or decided together with others, those neither count nor deny. One that is itself replaced replaces others all the
	// same. What is named by a request, or decided with such a policy, stays.
	Replaces []string
	// Weights multiply what a request costs by the value of an attribute.
	Weights Weights
	// Sample is how many checks of one key at one node share one decision, 2 to MaxSample, or 0 or 1 if each has its
	// own. One check in so many is decided, and charged for those that followed the one before it; the others follow
	// the last verdict, which is at most 100 ms old, and their decisions say so (DecidedBy Sample). What they admit is
	// outside the promise: a busy key costs less, and its limits hold on average only. It must be no more than the
	// smallest burst, or what a decided check takes would never fit, and all limits must be Leased.
	Sample int

	// Strict says how Redis decides, if the limits are Strict.
	Strict Strictness

	// What follows is made by a Set.
	when    condition
	not     []condition
	parts   []part // of the key
	kinds   map[string]Attribute
	index   int                // among the policies of the set, by name
	variant int                // among the policy's variants: 0 is its own limits
	label   string             // of the variant, for people
	tiers   map[string]*Policy // variants
	keyed   map[string]*Policy // variants, by key
	all     []*Policy          // variants, by number
	applies []condition        // of each limit, if any has one
	lacks   []bool             // of each limit, if it is there for other variants only; nil if none is
	reals   *Policy            // the variant without what is in shadow mode; nil if nothing is left
	shadows *Policy            // what is; nil if nothing is
	shadow  bool               // this is one of those
	plain   bool               // all limits count requests, and none is weighed or has a condition
	units   []string           // that the limits count, each once
	known   []string           // that limits of any policy count, or that may be counted, but for Requests
	weigher *weigher           // nil if nothing is weighed
	with    []string           // all policies that it is decided with
}

// Limit is one limit of a policy.
type Limit struct {
	// Name names the limit within its policy: a name as a policy has. If empty, NewSet gives one: the policy's name to
	// the first unnamed limit, and that name with "-2", "-3" and so on to those after it.
	Name string
	bucket.Limit
	// Unit is what the limit counts: a name as a policy has, or "" for Requests. A request says how many there are of it, and else it
	// costs none.
	Unit string
	// When says of which requests of the policy the limit takes anything.
	When Condition
	// Shadow has the limit count and never deny: a decision says that it would have. Its buckets are apart from those of the limits
	// that are enforced, which see nothing of it, and it takes nothing of what these deny.
	Shadow bool
	// Consistency says who may decide the checks of this limit. The zero value is Leased. One that is Direct makes the
	// whole policy so, for the limits of a policy are decided together; and either all of them are Strict, those of tiers and overrides as
	// well, or none is.
	Consistency Consistency
	// OnUnreachable says what becomes of a check that nobody can decide in time. The zero value is UnreachableLocal.
	OnUnreachable Unreachable
}

// TierAttribute is the attribute that says which of the Tiers of a policy a request gets.
const TierAttribute = "tier"

// Plan is what some requests get in place of the limits of their policy.
type Plan struct {
	// Limits are 1 to MaxLimits.
	Limits []Limit
	// Unlimited admits everything; there are no Limits then.
	Unlimited bool
}

// Validate returns nil if the policy can be used, else an error that says all that is wrong with it at once and wraps
// ErrInvalidPolicy. Unnamed limits are no error.
func (p *Policy) Validate() error { return p.validate(nil) }

// validate is Validate where attributes are of these kinds.
func (p *Policy) validate(kinds map[string]Attribute) error {
	var errs []error
	say := func(text string) {
		errs = append(errs, fmt.Errorf("%w: policy %s: %s", ErrInvalidPolicy, quoted(p.Name), text))
	}
	for _, d := range p.defects() {
		say(d.text)
	}
	condition := func(of string, c Condition) {
		for _, text := range c.wrong(kinds) {
			say(of + text)
		}
	}
	condition("when: ", p.When)
	for i, c := range p.Not {
		if condition(fmt.Sprintf("not %d: ", i+1), c); len(c) == 0 {
			say(fmt.Sprintf("not %d: it always holds, so the policy is for no request: leave it out", i+1))
		}
	}
	for i, l := range p.Limits {
		condition(fmt.Sprintf("limit %d: when: ", i+1), l.When)
	}
	for _, of := range p.plans() {
		for _, value := range slices.Sorted(maps.Keys(of.plans)) {
			where := fmt.Sprintf("%s %s: ", of.name, quoted(value))
			v := p.replaced(of.plans[value])
			for _, d := range v.planDefects() {
				say(where + d.text)
			}
			for i, l := range v.Limits {
				condition(fmt.Sprintf("%slimit %d: when: ", where, i+1), l.When)
			}
		}
	}
	for _, text := range append([]string{p.wrongOverrides(kinds), p.named().wrongUnion(), p.wrongStrict()}, p.wrongStrictness()...) {
		if text != "" {
			say(text)
		}
	}
	return errors.Join(errs...)
}

// list is one of the lists of other policies that a policy has.
type list struct {
	field string
	names []string
}

func (p *Policy) lists() [2]list { return [...]list{{"with", p.With}, {"replaces", p.Replaces}} }

// named returns a deep copy of p in which every limit has a name.
func (p *Policy) named() *Policy {
	c := *p
	c.Key, c.With, c.Not = slices.Clone(p.Key), slices.Clone(p.With), slices.Clone(p.Not)
	c.Replaces = slices.Clone(p.Replaces)
	c.Limits = namedLimits(p.Name, p.Limits)
	c.Tiers, c.Overrides = maps.Clone(p.Tiers), maps.Clone(p.Overrides)
	for _, plans := range []map[string]Plan{c.Tiers, c.Overrides} {
		for value, plan := range plans {
			plan.Limits = namedLimits(p.Name, plan.Limits)
			plans[value] = plan
		}
	}
	return &c
}

func namedLimits(policy string, limits []Limit) []Limit {
	limits = slices.Clone(limits)
	unnamed := 0
	for i := range limits {
		if limits[i].Name != "" {
			continue
		}
		unnamed++
		limits[i].Name = policy
		if unnamed > 1 {
			limits[i].Name += "-" + strconv.Itoa(unnamed)
		}
	}
	return limits
}

// defect is one thing that is wrong with a policy, and where: a field, and the place in it, or -1 for the whole field.
type defect struct {
	field string
	index int
	text  string
}

// defects returns all that is wrong with the policy, in the order of its fields.
func (p *Policy) defects() []defect {
	var ds []defect
	add := func(field string, index int, format string, args ...any) {
		ds = append(ds, defect{field, index, fmt.Sprintf(format, args...)})
	}
	if wrong := wrongName(p.Name); wrong != "" {
		add("name", -1, "name: %s", wrong)
	}
	if len(p.Key) > MaxKeyParts {
		add("key", -1, "key: %d attributes, want at most %d", len(p.Key), MaxKeyParts)
	}
	for i, attribute := range p.Key {
		if wrong := wrongPart(attribute); wrong != "" {
			add("key", i, "key attribute %d: %s", i+1, wrong)
		} else if slices.Contains(p.Key[:i], attribute) {
			add("key", i, "key attribute %q is named twice: leave one out", attribute)
		}
	}
	if p.OnMissing > MissingSkip {
		add("on_missing", -1, "on_missing %d, want MissingRefuse, MissingDeny or MissingSkip", p.OnMissing)
	}
	for _, of := range p.lists() {
		for i, name := range of.names {
			switch {
			case name == p.Name:
				add(of.field, i, "%s: %s is the policy itself: leave it out", of.field, quoted(name))
			case slices.Contains(of.names[:i], name):
				add(of.field, i, "%s: %s is named twice: leave one out", of.field, quoted(name))
			}
		}
	}
	if n := len(p.Replaces); n > MaxReplaces {
		add("replaces", 0, "replaces: %d policies, want at most %d", n, MaxReplaces)
	}
	if len(p.With) > 0 && p.Sample > 1 {
		add("sample", -1, "sample: one check in %d, but it is decided with other policies, for which each is: leave the sample out", p.Sample)
	}
	for _, text := range p.wrongWeights() {
		add("cost", -1, "%s", text)
	}
	ds = append(ds, p.limitDefects()...)
	for _, text := range p.wrongSample() {
		add("sample", -1, "%s", text)
	}
	return ds
}

// limitDefects returns all that is wrong with the limits of the policy.
func (p *Policy) limitDefects() (ds []defect) {
	add := func(field string, index int, format string, args ...any) {
		ds = append(ds, defect{field, index, fmt.Sprintf(format, args...)})
	}
	switch {
	case p.Unlimited && len(p.Limits) > 0:
		add("limits", -1, "limits: there are some, and it is unlimited: leave one of the two out")
		return ds
	case p.Unlimited:
		return ds
	case len(p.Limits) == 0:
		add("limits", -1, "limits: none, want at least one, such as {rate: 10/min}")
	}
	if len(p.Limits) > MaxLimits {
		add("limits", -1, "limits: %d of them, want at most %d", len(p.Limits), MaxLimits)
	}
	for i, l := range p.Limits {
		if wrong := wrongName(l.Name); wrong != "" && l.Name != "" {
			add("limits", i, "limit %d: name: %s", i+1, wrong)
		}
		if wrong := wrongName(l.Unit); wrong != "" && l.Unit != "" {
			add("limits", i, "limit %d: unit: %s", i+1, wrong)
		}
		if err := l.Validate(); err != nil {
			add("limits", i, "limit %d: %v", i+1, err)
		}
		switch {
		case l.Consistency > Strict:
			add("limits", i, "limit %d: consistency %d, want Leased, Direct or Strict", i+1, l.Consistency)
		case l.Consistency == Strict && l.Validate() == nil:
			if why := redis.WhyNot(&l.Limit); why != "" {
				add("limits", i, "limit %d can't be strict: %s", i+1, why)
			}
		}
		if l.OnUnreachable > UnreachableAllow {
			add("limits", i, "limit %d: on_unreachable %d, want UnreachableLocal, UnreachableDeny or UnreachableAllow",
				i+1, l.OnUnreachable)
		}
	}
	named := p.named()
	for i := range named.Limits {
		if text := named.repeats(i); text != "" {
			add("limits", i, "%s", text)
		}
	}
	return ds
}

// repeats says what limit i has in common with one before it that it must not, or "". The limits have names.
func (p *Policy) repeats(i int) string {
	l := p.Limits[i]
	unit := unitOf(l.Unit)
	l.OwnerLoss, l.Durable = 0, false
	for j, before := range p.Limits[:i] {
		before.OwnerLoss, before.Durable = 0, false // two that differ in a rule for failures are the same limit twice
		switch {
		case before.Name == l.Name:
			return fmt.Sprintf("limit %d has the name %s of limit %d: give each its own", i+1, quoted(l.Name), j+1)
		case before.Reduced() == l.Reduced() && unitOf(before.Unit) == unit && before.Shadow == l.Shadow && before.When.equal(l.When):
			return fmt.Sprintf("limit %d is the same as limit %d (%s): leave one out", i+1, j+1, FormatLimit(before.Limit))
		}
	}
	return ""
}

// wrongPart says what is wrong with a part of a key, or "".
func wrongPart(part string) string {
	names := strings.Split(part, "|")
	if len(names) > MaxKeyParts {
		return fmt.Sprintf("%s: %d alternatives, want at most %d", quoted(part), len(names), MaxKeyParts)
	}
	for i, name := range names {
		switch wrong := wrongName(name); {
		case wrong != "" && len(names) > 1:
			return fmt.Sprintf("%s: %s", quoted(part), wrong)
		case wrong != "":
			return wrong
		case slices.Contains(names[:i], name):
			return fmt.Sprintf("%s: %s is named twice: leave one out", quoted(part), quoted(name))
		}
	}
	return ""
}

// wrongName says what is wrong with a name, or "".
func wrongName(name string) string {
	if name == "" || len(name) > MaxNameBytes {
		return fmt.Sprintf("%d bytes, want 1 to %d", len(name), MaxNameBytes)
	}
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c > '~' || strings.IndexByte("\"'`\\", c) >= 0 {
			return fmt.Sprintf("%s has %s at byte %d, want printable ASCII without spaces, quotes and backslashes",
				quoted(name), strconv.Quote(name[i:i+1]), i+1)
		}
	}
	return ""
}
