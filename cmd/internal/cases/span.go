package cases

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"
)

// units are those of a span, those of the policy language and of Go.
var units = map[string]time.Duration{
	"ns": time.Nanosecond, "us": time.Microsecond, "µs": time.Microsecond, "ms": time.Millisecond, "s": time.Second,
	"min": time.Minute, "m": time.Minute, "h": time.Hour, "hour": time.Hour, "d": day, "day": day, "week": 7 * day,
}

const (
	day      = 24 * time.Hour
	wantSpan = "a time, such as 250ms, 90s, 1m30s or 2d"
)

var spanPart = regexp.MustCompile(`^([0-9]{1,19})(?:\.([0-9]{1,9}))?([a-zµ]+)`)

// parseSpan reads a time of one or several numbers with units: "1.5s", "1d12h". A 0 needs no unit. ok is false if it is none, or one
// of more than 292 years.
func parseSpan(text string) (span time.Duration, ok bool) {
	if text == "0" {
		return 0, true
	}
	for rest := text; rest != ""; {
		m := spanPart.FindStringSubmatch(rest)
		if m == nil {
			return 0, false
		}
		unit, known := units[m[3]]
		whole, err := strconv.ParseInt(m[1], 10, 64)
		if !known || err != nil || whole > int64((math.MaxInt64-span)/unit) {
			return 0, false
		}
		part := time.Duration(whole) * unit
		for i, digit := range m[2] { // to the nanosecond, and what is below counts as nothing
			part += unit / power10(i+1) * time.Duration(digit-'0')
		}
		if part < 0 || span > math.MaxInt64-part {
			return 0, false
		}
		span += part
		rest = rest[len(m[0]):]
	}
	return span, text != ""
}

func power10(n int) time.Duration {
	p := time.Duration(1)
	for range n {
		p *= 10
	}
	return p
}

// span reads a time that is no instant.
func (r *reader) span(n *yaml.Node, where string) time.Duration {
	if !r.is(n, yaml.ScalarNode, where, wantSpan) {
		return 0
	}
	d, ok := parseSpan(n.Value)
	if !ok {
		r.wrong(n, "%s%s, want %s", where, quoted(n.Value), wantSpan)
	}
	return d
}

const wantInstant = "an instant, such as 2026-03-01T00:00:00Z"

// instant reads an instant of the years that a clock has.
func (r *reader) instant(n *yaml.Node, where string) time.Time {
	if !r.is(n, yaml.ScalarNode, where, wantInstant) {
		return defaultStart
	}
	at, err := time.Parse(time.RFC3339Nano, n.Value)
	if err != nil {
		r.wrong(n, "%s%s, want %s", where, quoted(n.Value), wantInstant)
		return defaultStart
	}
	if wrong := outside(at); wrong != "" {
		r.wrong(n, "%s%s", where, wrong)
		return defaultStart
	}
	return at
}

// outside says that a clock cannot say an instant, or "".
func outside(at time.Time) string {
	if y := at.UTC().Year(); y < 1970 || y > 2200 {
		return fmt.Sprintf("the year %d, want 1970 to 2200", y)
	}
	return ""
}
