package headers

import "strings"

// Host returns the host of a Host field, or of the :authority of HTTP/2, in one spelling: in lower case, and without a port, which clients
// choose and services seldom look at. An IPv6 address keeps its brackets.
func Host(text string) string {
	text = strings.ToLower(text)
	if colon := strings.LastIndexByte(text, ':'); colon > strings.LastIndexByte(text, ']') {
		if rest := text[:colon]; !strings.Contains(rest, ":") || strings.HasSuffix(rest, "]") { // else an address without brackets
			return rest
		}
	}
	return text
}
