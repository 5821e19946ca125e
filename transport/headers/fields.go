package headers

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// Field is one header field.
type Field struct{ Name, Value string }

// shadowField says "denied" if a limit in shadow mode would have denied.
const shadowField = "X-RateLimit-Shadow"

// Fields returns the fields that tell of these decisions, in every style, at now, which only styles with dates look at. Several
// decisions are those of several limits of one request: styles with room for one speak of the first that denied, else of the one that is
// nearest to it. If no limit spoke that binds the client there are none. Each name is there once.
func Fields(chosen []Style, now time.Time, ds ...policy.Decision) (fields []Field) {
	set := func(name, value string) { fields = append(fields, Field{name, value}) }
	told := spoken(ds)
	one := mostPressing(told)
	said := false
	for _, s := range chosen {
		if s == None {
			continue
		}
		if !said && anyShadow(ds) {
			set(shadowField, "denied")
		}
		if said = true; one == nil {
			continue
		}
		switch s {
		case Draft11:
			set("RateLimit-Policy", listed(told, quotaOf))
			set("RateLimit", listed(told, leftOf))
		case Draft07:
			set("RateLimit-Policy", listed(told, windowOf))
			set("RateLimit", "limit="+integer(one.Limit)+", remaining="+integer(one.Remaining)+", reset="+integer(wholeSeconds(effectiveWindow(one))))
		case Draft06:
			set("RateLimit-Policy", listed(told, windowOf))
			set("RateLimit-Limit", integer(one.Limit))
			set("RateLimit-Remaining", integer(one.Remaining))
			set("RateLimit-Reset", integer(wholeSeconds(effectiveWindow(one))))
		case XRateLimit:
			set("X-RateLimit-Limit", decimal(one.Limit))
			set("X-RateLimit-Remaining", decimal(one.Remaining))
			if one.Window > 0 {
				set("X-RateLimit-Reset", decimal(wholeSeconds(one.ResetAfter)))
			}
		case GitHub:
			set("X-RateLimit-Limit", decimal(one.Limit))
			set("X-RateLimit-Remaining", decimal(one.Remaining))
			set("X-RateLimit-Used", decimal(max(0, one.Limit-one.Remaining)))
			set("X-RateLimit-Resource", plain(limitName(one)))
			if one.Window > 0 {
				set("X-RateLimit-Reset", decimal(epoch(now, effectiveWindow(one))))
			}
		case EnvoyDraft03:
			set("X-RateLimit-Limit", decimal(one.Limit)+", "+listed(told, namedWindowOf))
			set("X-RateLimit-Remaining", decimal(one.Remaining))
			set("X-RateLimit-Reset", decimal(wholeSeconds(effectiveWindow(one))))
		case OpenAI:
			openAI(told, set)
		}
	}
	return fields
}

// openAI sets the fields of a limit of requests, and of one of another unit.
func openAI(told []*policy.Decision, set func(name, value string)) {
	for _, of := range []struct {
		name  string
		token bool
	}{{"Requests", false}, {"Tokens", true}} {
		var some []*policy.Decision
		for _, d := range told {
			if countsTokens(d) == of.token {
				some = append(some, d)
			}
		}
		one := mostPressing(some)
		if one == nil {
			continue
		}
		set("X-RateLimit-Limit-"+of.name, decimal(one.Limit))
		set("X-RateLimit-Remaining-"+of.name, decimal(one.Remaining))
		set("X-RateLimit-Reset-"+of.name, wholeMillis(effectiveWindow(one)).String())
	}
	if one := mostPressing(told); !one.Allowed && !one.Never {
		set("Retry-After-Ms", decimal(int64(max(time.Millisecond, wholeMillis(one.RetryAfter))/time.Millisecond)))
	}
}

func countsTokens(d *policy.Decision) bool { return d.Unit != "" && d.Unit != policy.Requests }

// spoken are the decisions of limits that bind the client.
func spoken(ds []policy.Decision) (told []*policy.Decision) {
	for i := range ds {
		switch d := &ds[i]; d.DecidedBy {
		case policy.Timeout, policy.Exempt, policy.NoPolicy, policy.Shadow, policy.MissingKey:
		default:
			told = append(told, d)
		}
	}
	return told
}

func anyShadow(ds []policy.Decision) bool {
	for i := range ds {
		if ds[i].ShadowDenied {
			return true
		}
	}
	return false
}

// mostPressing is the decision that denied, of several the one to wait for longest, else the one with the least left; nil of none.
func mostPressing(told []*policy.Decision) (one *policy.Decision) {
	for _, d := range told {
		if one == nil || presses(d, one) {
			one = d
		}
	}
	return one
}

func presses(d, one *policy.Decision) bool {
	switch {
	case d.Allowed != one.Allowed:
		return one.Allowed
	case !d.Allowed && d.Never != one.Never:
		return d.Never
	case !d.Allowed:
		return d.RetryAfter > one.RetryAfter
	}
	return float64(d.Remaining)*float64(one.Limit) < float64(one.Remaining)*float64(d.Limit)
}

// listed joins what is said of each decision. Of two limits of one name the one that presses is told.
func listed(told []*policy.Decision, say func(*policy.Decision) string) string {
	var parts []string
	for i, d := range told {
		hidden := false
		for j, other := range told {
			if i != j && limitName(other) == limitName(d) && (presses(other, d) || !presses(d, other) && j < i) {
				hidden = true
			}
		}
		if !hidden {
			parts = append(parts, say(d))
		}
	}
	return strings.Join(parts, ", ")
}

func quotaOf(d *policy.Decision) string {
	text := quotedString(limitName(d)) + ";q=" + integer(d.Limit)
	if countsTokens(d) {
		text += ";qu=" + quotedString(d.Unit)
	}
	return text + windowParameter(d)
}

func leftOf(d *policy.Decision) string {
	text := quotedString(limitName(d)) + ";r=" + integer(d.Remaining)
	if wait := effectiveWindow(d); wait > 0 {
		text += ";t=" + integer(wholeSeconds(wait))
	}
	return text
}

func windowOf(d *policy.Decision) string { return integer(d.Limit) + windowParameter(d) }

func namedWindowOf(d *policy.Decision) string {
	return windowOf(d) + ";name=" + quotedString(limitName(d))
}

func windowParameter(d *policy.Decision) string {
	if d.Window <= 0 {
		return ""
	}
	return ";w=" + integer(wholeSeconds(d.Window))
}

// effectiveWindow is how long the client has to do with what remains.
func effectiveWindow(d *policy.Decision) time.Duration {
	if !d.Allowed && !d.Never {
		return d.RetryAfter
	}
	return d.ResetAfter
}

// limitName is the name that the limit goes by in fields and bodies.
func limitName(d *policy.Decision) string {
	switch {
	case d.LimitName != "":
		return d.LimitName
	case d.Policy != "":
		return d.Policy
	}
	return "default"
}

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
