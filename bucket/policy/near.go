package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"
)

// nearest returns up to three of the known names that a mistyped one may have meant, quoted, the nearest first. The
// work is bounded: a client may send wrong names as fast as right ones.
func nearest(name string, known []string) []string {
	const (
		edits   = 2   // a swap of neighbours counts as two
		most    = 3   // in the answer
		weighed = 200 // of the known names, those of a length that could be near
	)
	if len(name) > MaxNameBytes {
		return nil
	}
	var near [edits + 1][]string
	left := weighed
	for _, k := range known {
		if max(len(k)-len(name), len(name)-len(k)) > edits {
			continue
		}
		if left--; left < 0 {
			break
		}
		if d := levenshtein.ComputeDistance(name, k); d <= edits && d < min(len(k), len(name)) {
			near[d] = append(near[d], strconv.Quote(k))
		}
	}
	all := slices.Concat(near[:]...)
	return all[:min(len(all), most)]
}

// listed returns the names quoted and joined, the first ten of them.
func listed(names []string) string {
	const most = 10
	quotedNames := make([]string, 0, most)
	for _, n := range names[:min(len(names), most)] {
		quotedNames = append(quotedNames, strconv.Quote(n))
	}
	text := strings.Join(quotedNames, ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
