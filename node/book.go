package node

import (
	"fmt"
	"hash/maphash"
	"sync/atomic"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/bucket/table"
)

// book is a set of policies as this node applies it. It is immutable, and replaced as a whole by the next.
type book struct {
	set   *policy.Set
	rules map[string]*rule
	// groups are the limits of all plans.
	groups map[*table.Group]bool
	// exempts says that some requests are exempt: those that name a policy have to be looked at as well.
	exempts bool
	// replaces says that some policy takes the place of others.
	replaces bool
	from     Source
	version  uint64 // of its limits
}

// rule is one policy of a book.
type rule struct {
	book   *book
	policy *policy.Policy
	// only is the plan of every request, if the policy has no variants, no limits in shadow mode or with conditions, and no others are
	// decided with it.
	only  *plan
	plans []plans // by variant
	with  []*rule
	// specials are plans of keys with limits of their own.
	specials specialPlans
}

// plans are those of one variant of a policy: of the limits that are enforced, and of those that are not. One of them may be nil, and
// both are if the variant is unlimited.
type plans struct{ real, shadow *plan }

// newBook makes a set of policies ready. What is counted of a policy goes on.
func (n *Node) newBook(set *policy.Set, from Source, version uint64) (*book, error) {
	b := &book{set: set, from: from, version: version, rules: make(map[string]*rule), groups: make(map[*table.Group]bool), exempts: set.Exempts(), replaces: set.Replaces()}
	for _, name := range set.Names() {
		p, err := set.Policy(name)
		if err != nil {
			return nil, err
		}
		if b.rules[name], err = n.newRule(b, p); err != nil {
			return nil, fmt.Errorf("policy %s: %w", name, err)
		}
	}
	for _, r := range b.rules {
		for _, name := range r.policy.Together() {
			r.with = append(r.with, b.rules[name])
		}
		if len(r.with) == 0 && len(r.plans) == 1 && r.plans[0].shadow == nil && r.plans[0].real != nil &&
			r.policy.OnMissing == policy.MissingRefuse && !r.policy.IsConditional() {
			r.only = r.plans[0].real
		}
	}
	return b, nil
}

func (n *Node) newRule(b *book, p *policy.Policy) (r *rule, err error) {
	r = &rule{book: b, policy: p}
	c := n.countsOf(p.Name)
	m, shadow := &memo{seed: maphash.MakeSeed()}, (*memo)(nil)
	if p.HasSecret() {
		m = nil
	}
	for _, v := range p.Variants() {
		var of plans
		if e := v.Enforced(); e != nil && !v.Unlimited {
			if of.real, err = n.newPlan(e, b.version, c, m, 0); err != nil {
				return nil, err
			}
			of.real.rule = r
		}
		if s := v.Shadowed(); s != nil {
			if shadow == nil && m != nil {
				shadow = &memo{seed: maphash.MakeSeed()}
			}
			if of.shadow, err = n.newPlan(s, b.version, c, shadow, 0); err != nil {
				return nil, err
			}
		}
		for _, pl := range [...]*plan{of.real, of.shadow} {
			if pl != nil {
				b.groups[pl.group] = true
			}
		}
		r.plans = append(r.plans, of)
	}
	return r, nil
}

// countsOf returns what is counted of a policy, for as long as the node lives.
func (n *Node) countsOf(name string) *counts {
	n.counting.Lock()
	defer n.counting.Unlock()
	c := n.countsBy[name]
	if c == nil {
		c = new(counts)
		n.countsBy[name] = c
	}
	return c
}

// uses says whether a group of limits is one of the book's.
func (b *book) uses(g *table.Group) bool { return b.groups[g] }

// Policies returns the policies that the node applies now. It is shared, and never changes.
func (n *Node) Policies() *policy.Set { return n.book.Load().set }

// Handle is a policy of a node, ready for use: a check by handle matches and looks up nothing. It stays good as long as
// the node, and follows the policy's changes. Safe for concurrent use.
type Handle struct {
	node *Node
	name string
	last atomic.Pointer[rule]
}

// Handle returns the handle of a policy. The error wraps policy.ErrUnknownPolicy.
func (n *Node) Handle(name string) (*Handle, error) {
	r, err := n.book.Load().rule(name)
	if err != nil {
		return nil, err
	}
	h := &Handle{node: n, name: name}
	h.last.Store(r)
	return h, nil
}

// rule returns the rule of the handle's policy as it is now.
func (h *Handle) rule() (*rule, error) {
	r, b := h.last.Load(), h.node.book.Load()
	if r.book == b {
		return r, nil
	}
	r, err := b.rule(h.name)
	if err == nil {
		h.last.Store(r)
	}
	return r, err
}

// rule returns the rule of a policy. The error wraps policy.ErrUnknownPolicy.
func (b *book) rule(name string) (*rule, error) {
	if r := b.rules[name]; r != nil {
		return r, nil
	}
	_, err := b.set.Policy(name)
	return nil, err
}
