package policy

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/drossel-dev/drossel/bucket"
)

// ParseCount reads a whole number of tokens, 0 to bucket.MaxTokens: digits, with "_" between them where it helps the
// eye, and an optional k (thousand) or M (million) at the end: "10_000", "10k", "1M". Signs, fractions, exponents and
// leading zeros are refused. Every error wraps bucket.ErrInvalidLimit, says at which byte the text goes wrong, counted
// from 1, and what is wanted there.
func ParseCount(text string) (int64, error) {
	n, bad := parseCount(text)
	if bad != nil {
		return 0, &numberError{"count", text, bad.at, bad.want}
	}
	return n, nil
}

// misread is what is wrong with a number: at which byte of the text, counted from 1, and what is wanted instead.
type misread struct {
	at   int
	want string
}

func parseCount(text string) (int64, *misread) {
	const wantWhole = `want a whole number, such as "10", "10_000", "10k" or "1M"`
	tooLarge := &misread{1, fmt.Sprintf("want at most %d (2^53)", int64(bucket.MaxTokens))}
	digits := text
	scale := int64(1)
	if rest, ok := strings.CutSuffix(text, "k"); ok {
		digits, scale = rest, 1000
	} else if rest, ok := strings.CutSuffix(text, "M"); ok {
		digits, scale = rest, 1_000_000
	}
	if digits == "" {
		return 0, &misread{1, wantWhole}
	}
	n := int64(0)
	over := false
	for i := range len(digits) {
		c := digits[i]
		switch {
		case c == '-' && i == 0:
			return 0, &misread{1, "want a number of at least 0"}
		case c == '_' && i > 0 && i < len(digits)-1 && digits[i-1] != '_':
		case c < '0' || c > '9':
			return 0, &misread{i + 1, wantWhole}
		case over || n > bucket.MaxTokens/10:
			over = true // read on: a wrong character later is the better complaint
		default:
			n = n*10 + int64(c-'0')
		}
	}
	switch {
	case len(digits) > 1 && digits[0] == '0':
		return 0, &misread{1, "want a number without leading zeros"} // YAML reads 010 as eight
	case over || n > bucket.MaxTokens/scale:
		return 0, tooLarge
	}
	return n * scale, nil
}

// numberError is the error of a rate or count.
type numberError struct {
	what string // "rate" or "count"
	text string
	at   int // byte of text, counted from 1
	want string
}

func (e *numberError) Error() string {
	return fmt.Sprintf("%s %s, byte %d: %s", e.what, quoted(e.text), e.at, e.want)
}

func (e *numberError) Unwrap() error { return bucket.ErrInvalidLimit }

// quoted quotes text that came from outside for a message, and keeps the message short.
func quoted(text string) string {
	const most = 64
	if len(text) > most {
		return strconv.Quote(text[:most]) + "..."
	}
	return strconv.Quote(text)
}
