package envoyimport

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// name gives the rules their names, and finds out which replace which. The notes say where one replaces too many.
func name(all []rule) (notes []Note) {
	taken := map[string]bool{}
	for i := range all {
		all[i].name = all[i].free(taken)
		taken[all[i].name] = true
	}
	for i := range all {
		r := &all[i]
		if r.replaces = r.replaced(all); len(r.replaces) > policy.MaxReplaces {
			notes = append(notes, Note{r.last().file, r.last().line, "replaces", fmt.Sprintf("%d limits have the names that it replaces, and "+
				"here one replaces at most %d: write patterns for many values; the others apply as well", len(r.replaces), policy.MaxReplaces), true})
			r.replaces = r.replaces[:policy.MaxReplaces]
		}
	}
	return notes
}

// replaced returns the policies whose place that of a rule takes. A name that no limit of the domain has is none for Envoy's service either,
// and what is unlimited stays so.
func (r *rule) replaced(all []rule) (names []string) {
	for i := range all {
		o := &all[i]
		if l := o.last().limit; o != r && o.domain == r.domain && !l.unlimited && slices.Contains(r.last().limit.replaces, l.name) {
			names = append(names, o.name)
		}
	}
	return names
}

// free returns a name for the policy of a rule: its domain and the way to it. Buckets are told apart by it, so it must not depend on what
// other rules there are, but where two would have the same.
func (r *rule) free(taken map[string]bool) string {
	text := []string{r.domain}
	for _, s := range r.way {
		text = append(text, s.text())
	}
	whole := plain(strings.Join(text, "."), false)
	name := whole[:min(len(whole), policy.MaxNameBytes)]
	for i := 2; taken[name]; i++ {
		end := "~" + strconv.Itoa(i)
		name = whole[:min(len(whole), policy.MaxNameBytes-len(end))] + end
	}
	return name
}
