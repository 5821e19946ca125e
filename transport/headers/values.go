package headers

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// quotedString is a structured-field String (RFC 9651, section 3.3.3): printable ASCII with quotes and backslashes
// escaped. Names with other characters are for policies to refuse; here each becomes "?", or the whole field would be
// dropped by the client.
func quotedString(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r < ' ' || r > '~':
			b.WriteByte('?')
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			fallthrough
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// plain is a text as it may stand in a field that is no structured one.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// integer is a structured-field Integer (RFC 9651, section 3.3.1), which has at most 15 digits.
func integer(n int64) string {
	const most = 999_999_999_999_999
	return strconv.FormatInt(min(n, most), 10)
}

// wholeSeconds returns d in seconds, rounded up: a client that waits that long has waited long enough.
func wholeSeconds(d time.Duration) int64 {
	n := int64(d / time.Second)
	if d%time.Second > 0 {
		n++
	}
	return n
}

// wholeMillis returns d in milliseconds, rounded up.
func wholeMillis(d time.Duration) time.Duration {
	if d > math.MaxInt64-time.Millisecond {
		return d.Truncate(time.Millisecond)
	}
	return (d + time.Millisecond - 1).Truncate(time.Millisecond)
}

// epoch returns the date after a while, in seconds of Unix time, rounded up.
func epoch(now time.Time, after time.Duration) int64 {
	at := now.Unix() + int64(after/time.Second)
	if rest := time.Duration(now.Nanosecond()) + after%time.Second; rest > 0 {
		at += int64((rest + time.Second - 1) / time.Second)
	}
	return at
}
