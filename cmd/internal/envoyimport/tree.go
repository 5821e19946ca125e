package envoyimport

import "strings"

// descriptor is a node of the tree of a domain.
type descriptor struct {
	file       string
	line       int
	key, value string // no value: any
	limit      *limit // nil: none
	shadow     bool
	share      bool // all values of the pattern have one counter
	children   []*descriptor
}

// limit is a rate_limit.
type limit struct {
	name      string
	unlimited bool
	count     uint32
	unit      string   // a key of periods
	replaces  []string // names of other limits of the domain
}

// periods are the units, as a rate has them. A month and a year are spans of the service, and not of the calendar.
var periods = map[string]string{
	"second": "s", "minute": "min", "hour": "h", "day": "d", "week": "week", "month": "30d", "year": "365d",
}

// unitNames are the units in their order.
var unitNames = []string{"second", "minute", "hour", "day", "week", "month", "year"}

func (d *descriptor) isPattern() bool { return strings.Contains(d.value, "*") }

// before returns the values of its siblings that are tried before it and may hold of what it is for.
func (d *descriptor) before(siblings []*descriptor) (values []string) {
	if d.value != "" && !d.isPattern() {
		return nil
	}
	itself := false
	for _, s := range siblings {
		itself = itself || s == d
		switch {
		case s.key != d.key || s.value == "" || s == d:
		case d.value == "":
			values = append(values, s.value)
		case s.isPattern() && !itself && mayMeet(s.value, d.value):
			values = append(values, s.value)
		case !s.isPattern() && mayMeet(s.value, d.value):
			values = append(values, s.value)
		}
	}
	return values
}

// mayMeet says whether a text may be of both patterns: it is false only if their beginnings or their ends differ.
func mayMeet(a, b string) bool {
	ends := func(text string) (begin, end string) {
		return text[:first(text)], text[strings.LastIndexByte(text, '*')+1:]
	}
	aBegin, aEnd := ends(a)
	bBegin, bEnd := ends(b)
	return (strings.HasPrefix(aBegin, bBegin) || strings.HasPrefix(bBegin, aBegin)) &&
		(strings.HasSuffix(aEnd, bEnd) || strings.HasSuffix(bEnd, aEnd))
}

// first returns where the first star is, or the length.
func first(text string) int {
	if at := strings.IndexByte(text, '*'); at >= 0 {
		return at
	}
	return len(text)
}

// rule is a descriptor with a limit, and the way to it, with itself at the end.
type rule struct {
	domain string
	way    []step
	// Of its policy, once all rules are known:
	name     string
	replaces []string
}

type step struct {
	*descriptor
	not []string // values that are tried before
}

func (r *rule) last() *descriptor { return r.way[len(r.way)-1].descriptor }

// rules returns the rules of a tree, in the order of the file.
func rules(domain string, way []step, level []*descriptor) (all []rule) {
	for _, d := range level {
		here := append(way[:len(way):len(way)], step{d, d.before(level)})
		if d.limit != nil {
			all = append(all, rule{domain: domain, way: here})
		}
		all = append(all, rules(domain, here, d.children)...)
	}
	return all
}
