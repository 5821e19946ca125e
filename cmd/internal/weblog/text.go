package weblog

import (
	"strconv"
	"strings"
	"unicode"
)

// text returns what a field says: nothing for "-", and what its escapes stand for.
func text(field string) string {
	if field == "-" {
		return ""
	}
	if strings.IndexByte(field, '\\') < 0 {
		return field
	}
	return unescape(field)
}

// controls are the letters that Apache writes after a backslash, and what they stand for.
var controls = strings.NewReplacer("b", "\b", "f", "\f", "n", "\n", "r", "\r", "t", "\t", "v", "\v", `"`, `"`, `\`, `\`)

// unescape undoes the escapes of Apache and nginx: \" \\ \n and its kind, and \xhh for any byte. A backslash before
// anything else stands for itself.
func unescape(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for {
		before, after, found := strings.Cut(s, `\`)
		b.WriteString(before)
		switch {
		case !found:
			return b.String()
		case len(after) >= 3 && after[0] == 'x':
			if c, err := strconv.ParseUint(after[1:3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				s = after[3:]
				continue
			}
		case after != "":
			if c := controls.Replace(after[:1]); c != after[:1] || c == `"` || c == `\` {
				b.WriteString(c)
				s = after[1:]
				continue
			}
		}
		b.WriteByte('\\')
		s = after
	}
}

// Printable returns s in at most limit printable characters: what cannot be shown, or could move a terminal's cursor,
// is a question mark, and a text that is cut ends in three dots. A limit below 3 counts as 3.
func Printable(s string, limit int) string {
	limit = max(limit, 3)
	var b strings.Builder
	n, cut := 0, 0 // characters so far, and the bytes of those that leave room for the dots
	for _, r := range s {
		if n == limit {
			return b.String()[:cut] + "..."
		}
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			r = '?'
		}
		b.WriteRune(r)
		if n++; n == limit-3 {
			cut = b.Len()
		}
	}
	return b.String()
}
