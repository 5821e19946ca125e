package pace

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// told returns for how long a response asks not to be followed by another request; false if it does not. Only 429 and 503 do. Of what such a
// response may say the first that makes sense counts: retry-after-ms, Retry-After, and RateLimit of a limit with nothing left.
func told(resp *http.Response, now time.Time) (time.Duration, bool) {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
		return 0, false
	}
	h := resp.Header
	if wait, ok := count(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return wait, true
	}
	if wait, ok := retryAfter(h.Get("Retry-After"), h.Get("Date"), now); ok {
		return wait, true
	}
	return nothingLeft(h.Values("RateLimit"))
}

// retryAfter reads Retry-After (RFC 9110, section 10.2.3), in seconds or as a date. A date is the server's, and so is the wait until then if
// the response has its date as well: clocks differ. One that has passed is 0. What is neither is false, as are negative numbers; what is more
// than fits is the longest Duration.
func retryAfter(field, date string, now time.Time) (time.Duration, bool) {
	if wait, ok := count(field, time.Second); ok {
		return wait, true
	}
	at, err := http.ParseTime(field)
	if err != nil {
		return 0, false
	}
	if theirs, err := http.ParseTime(date); err == nil {
		now = theirs
	}
	return max(0, at.Sub(now)), true
}

// count reads a number of units: digits alone, as many as there are.
func count(text string, unit time.Duration) (time.Duration, bool) {
	text = strings.Trim(text, " \t")
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if errors.Is(err, strconv.ErrRange) || n > math.MaxInt64/int64(unit) {
		return math.MaxInt64, true
	}
	return time.Duration(n) * unit, err == nil
}

// nothingLeft reads RateLimit (draft-ietf-httpapi-ratelimit-headers-11), a list of limits such as "burst";r=0;t=30, and returns the longest t of
// those with r=0. Names, units and parameters of others are passed over; what is no such list has none.
func nothingLeft(fields []string) (longest time.Duration, found bool) {
	for _, field := range fields {
		for member := range splitOutside(field, ',') {
			var empty bool
			var wait time.Duration
			var has bool
			for parameter := range splitOutside(member, ';') {
				switch name, value, _ := strings.Cut(strings.Trim(parameter, " \t"), "="); name {
				case "r":
					left, ok := count(value, 1)
					empty = ok && left == 0
				case "t":
					wait, has = count(value, time.Second)
				}
			}
			if empty && has {
				longest, found = max(longest, wait), true
			}
		}
	}
	return longest, found
}

// splitOutside yields the parts of a text between separators that are not within a quoted string (RFC 9651, section 3.3.3).
func splitOutside(text string, separator byte) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		begin, quoted := 0, false
		for i := 0; i < len(text); i++ {
			switch c := text[i]; {
			case quoted && c == '\\':
				i++ // what follows is escaped
			case c == '"':
				quoted = !quoted
			case !quoted && c == separator:
				if !yield(text[begin:i]) {
					return
				}
				begin = i + 1
			}
		}
		yield(text[begin:])
	}
}
