package policy

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"github.com/drossel-dev/drossel/bucket"
)

// Requests is the unit of a limit that does not name one: each request costs 1 of it, unless it says otherwise.
const Requests = "requests"

// Weights multiply what a request costs, in one unit, by a weight that goes by the value of an attribute: a dear model consumes more
// than a cheap one. The zero Weights multiply nothing.
type Weights struct {
	// Unit is the unit that is weighed; "" is Requests.
	Unit string
	// By is the attribute. If it is absent, its value is "".
	By string
	// Weights are 1 to bucket.MaxTokens, by pattern of the value, in which each "*" stands for any text. Of several patterns that
	// match the one with the most other characters counts.
	Weights map[string]int64
	// Default is the weight where no pattern matches; 0 means 1.
	Default int64
}

// wrongWeights says what is wrong with the weights of the policy, or nothing.
func (p *Policy) wrongWeights() (wrong []string) {
	w := &p.Weights
	if w.By == "" {
		if w.Unit != "" || len(w.Weights) > 0 || w.Default != 0 {
			wrong = append(wrong, `cost: without "by" nothing is weighed: name an attribute, or leave it out`)
		}
		return wrong
	}
	if text := wrongName(w.By); text != "" {
		wrong = append(wrong, "cost: by: "+text)
	}
	least, unit := int64(-1), unitOf(w.Unit)
	for _, l := range p.Limits {
		if unitOf(l.Unit) == unit && l.Validate() == nil && l.Burst > 0 && (least < 0 || l.Most() < least) {
			least = l.Most()
		}
	}
	if !p.counts(unit) {
		wrong = append(wrong, fmt.Sprintf("cost: %s %s: want one that some limit has", noSuchUnit, quoted(unit)))
	}
	check := func(of string, weight, from int64) {
		switch {
		case weight < from || weight > bucket.MaxTokens:
			wrong = append(wrong, fmt.Sprintf("cost: %s is %d, want 1 to %d", of, weight, int64(bucket.MaxTokens)))
		case least >= 0 && weight > least:
			wrong = append(wrong, fmt.Sprintf("cost: %s is %d, more than the %d that a limit of unit %s ever admits at a time: "+
				"lower it, or raise the limit", of, weight, least, quoted(unit)))
		}
	}
	for _, text := range slices.Sorted(maps.Keys(w.Weights)) {
		if len(text) > MaxNameBytes {
			wrong = append(wrong, fmt.Sprintf("cost: a pattern of %d bytes, want at most %d", len(text), MaxNameBytes))
		}
		check("the weight of "+quoted(text), w.Weights[text], 1)
	}
	check("default", w.Default, 0)
	return wrong
}

// counts says whether some limit of the policy counts a unit, also of a tier or an override.
func (p *Policy) counts(unit string) bool {
	of := func(l Limit) bool { return unitOf(l.Unit) == unit }
	found := slices.ContainsFunc(p.Limits, of)
	for _, plans := range p.plans() {
		for _, plan := range plans.plans {
			found = found || slices.ContainsFunc(plan.Limits, of)
		}
	}
	return found
}

const noSuchUnit = "no limit of the policy counts unit"

// weigher is Weights made ready.
type weigher struct {
	unit, by string
	patterns []pattern // the longest first
	other    int64
}

type pattern struct {
	text   string
	weight int64
}

func newWeigher(w *Weights) *weigher {
	if w.By == "" {
		return nil
	}
	out := &weigher{unit: unitOf(w.Unit), by: w.By, other: max(w.Default, 1)}
	for text, weight := range w.Weights {
		out.patterns = append(out.patterns, pattern{text, weight})
	}
	literal := func(p pattern) int { return len(p.text) - strings.Count(p.text, "*") }
	slices.SortFunc(out.patterns, func(a, b pattern) int {
		if d := literal(b) - literal(a); d != 0 {
			return d
		}
		return strings.Compare(a.text, b.text)
	})
	return out
}

func (w *weigher) weight(value string) int64 {
	for _, p := range w.patterns {
		if matches(p.text, value) {
			return p.weight
		}
	}
	return w.other
}

// matches says whether a text is of a pattern.
func matches(pattern, text string) bool {
	first, rest, found := strings.Cut(pattern, "*")
	if !found {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, first)
	for ok {
		if first, rest, found = strings.Cut(rest, "*"); !found {
			return strings.HasSuffix(text, first)
		}
		var at int
		if at = strings.Index(text, first); at >= 0 {
			text = text[at+len(first):]
		}
		ok = at >= 0
	}
	return false
}

func unitOf(unit string) string {
	if unit == "" {
		return Requests
	}
	return unit
}

// Costs returns what a request costs the limits of the policy: each has the cost of every limit if they differ, and is else nil, and
// cost is the largest. A unit that the request does not bring costs 0, but that of requests, of which there is 1; and so does a limit
// whose condition does not hold. One that is unlimited costs nothing. The policy is one of a Set.
//
// The error wraps ErrInvalid and says what to do: if a cost is out of range, also when it is weighed, if Costs has a unit that no
// policy of the set knows or says that there are no requests, or if Cost and Costs differ.
func (p *Policy) Costs(req *Request) (cost int64, each []int64, err error) {
	if err := p.checkCosts(req); err != nil || len(p.Limits) == 0 {
		return 0, nil, err
	}
	if len(p.units) == 1 && p.applies == nil && p.lacks == nil {
		cost, err = p.costIn(p.units[0], req)
		return cost, nil, err
	}
	each = make([]int64, len(p.Limits))
	for i, l := range p.Limits {
		if p.Lacks(i) || p.applies != nil && !p.applies[i].holds(p, req) {
			continue
		}
		if each[i], err = p.costIn(unitOf(l.Unit), req); err != nil {
			return 0, nil, err
		}
	}
	return slices.Max(each), each, nil
}

// IsConditional says whether some limit of the policy has a condition. The policy is one of a Set.
func (p *Policy) IsConditional() bool { return p.applies != nil }

// Applies says whether any limit of the policy has to do with a request, by its condition. The policy is one of a Set.
func (p *Policy) Applies(req *Request) bool {
	for i, c := range p.applies {
		if !p.Lacks(i) && c.holds(p, req) {
			return true
		}
	}
	return p.applies == nil
}

// Plain says whether a request that brings no costs by unit costs each limit what its Cost says. The policy is one of a Set.
func (p *Policy) Plain() bool { return p.plain }

// costIn is what a request costs in a unit.
func (p *Policy) costIn(unit string, req *Request) (cost int64, err error) {
	if unit == Requests {
		cost = max(req.Cost, req.Costs[Requests], 1)
	} else {
		cost = req.Costs[unit]
	}
	if w := p.weigher; w != nil && w.unit == unit {
		by := p.value(req, w.by)
		weight := w.weight(by)
		hi, lo := bits.Mul64(uint64(cost), uint64(weight))
		if hi != 0 || lo > bucket.MaxTokens {
			return 0, fmt.Errorf("%w: %d of unit %s, each weighed as %d by %s %s, is above %d (2^53)",
				ErrInvalid, cost, unit, weight, w.by, p.shown(w.by, by), int64(bucket.MaxTokens))
		}
		cost = int64(lo)
	}
	return cost, nil
}

// checkCosts says what is wrong with the costs that a request brings.
func (p *Policy) checkCosts(req *Request) error {
	if err := checkCost("cost", req.Cost); err != nil {
		return err
	}
	for _, unit := range slices.Sorted(maps.Keys(req.Costs)) { // a message must not vary
		if unit != Requests && !slices.Contains(p.known, unit) {
			return unknownUnit(unit, p.known)
		}
		if err := checkCost("costs: "+unit, req.Costs[unit]); err != nil {
			return err
		}
	}
	return checkRequests(req)
}

// checkRequests says what is wrong with how many requests a request says that it is.
func checkRequests(req *Request) error {
	cost, given := req.Costs[Requests]
	switch {
	case !given:
	case cost == 0:
		return fmt.Errorf("%w: costs: requests is 0, want 1 or more: to take nothing, check only", ErrInvalid)
	case req.Cost != 0 && req.Cost != cost:
		return fmt.Errorf("%w: cost is %d but costs says %d: give one of them", ErrInvalid, req.Cost, cost)
	}
	return nil
}

func unknownUnit(unit string, known []string) error {
	all := append([]string{Requests}, known...)
	if near := nearest(unit, all); len(near) > 0 {
		return fmt.Errorf("%w: costs: no limit counts unit %s: did you mean %s?", ErrInvalid, quoted(unit), strings.Join(near, " or "))
	}
	return fmt.Errorf("%w: costs: no limit counts unit %s, want %s", ErrInvalid, quoted(unit), listed(all))
}
