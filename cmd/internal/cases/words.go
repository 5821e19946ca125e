package cases

import (
	"slices"
	"strconv"

	"github.com/agnivade/levenshtein"
)

func isOneOf(text string, words []string) bool { return slices.Contains(words, text) }

// nearest returns the known word that a mistyped one may have meant, or "".
func nearest(text string, known []string) (near string) {
	const edits = 2 // a swap of neighbours counts as two
	least := min(edits, len(text)-1) + 1
	for _, word := range known {
		if max(len(word)-len(text), len(text)-len(word)) > edits {
			continue
		}
		if d := levenshtein.ComputeDistance(text, word); d < min(least, len(word)) {
			near, least = word, d
		}
	}
	return near
}

// quoted quotes text for a message, and keeps the message short.
func quoted(text string) string {
	const most = 64
	if len(text) > most {
		return strconv.Quote(text[:most]) + "..."
	}
	return strconv.Quote(text)
}
