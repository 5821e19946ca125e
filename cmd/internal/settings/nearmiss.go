package settings

import (
	"fmt"
	"strings"

	"github.com/agnivade/levenshtein"
)

// orDidYouMean returns a question that names the known name nearest to an unknown one, or nothing if none is near.
func orDidYouMean(unknown string, known []string) string {
	const longest = 64
	if len(unknown) > longest {
		return ""
	}
	best, least := "", max(2, len(unknown)/4)+1 // a few letters off, but not most of a short name
	least = min(least, len(unknown))
	for _, name := range known {
		if d := levenshtein.ComputeDistance(strings.ToLower(unknown), strings.ToLower(name)); d < least {
			best, least = name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", best)
}
