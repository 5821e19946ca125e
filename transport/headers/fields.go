package headers

import (
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
			set("RateLimit-Policy", listed(told, sameName, quotaOf))
			set("RateLimit", listed(told, sameName, leftOf))
		case Draft07, Draft06:
			if quotas := listed(windowed(told), sameLimit, windowOf); quotas != "" {
				set("RateLimit-Policy", quotas)
			}
			if !one.Never || one.ResetAfter > 0 {
				triple(s, one, set)
			}
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
			set("X-RateLimit-Limit", strings.TrimSuffix(integer(one.Limit)+", "+listed(windowed(told), sameName, namedWindowOf), ", "))
			set("X-RateLimit-Remaining", integer(one.Remaining))
			set("X-RateLimit-Reset", integer(wholeSeconds(effectiveWindow(one))))
		case OpenAI:
			openAI(told, set)
		}
	}
	return fields
}

// triple sets what was three fields before it was one. They may not be without a reset, and after a denial for good a reset of 0 would call
// for a retry at once.
func triple(s Style, d *policy.Decision, set func(name, value string)) {
	limit, remaining, reset := integer(d.Limit), integer(d.Remaining), integer(wholeSeconds(effectiveWindow(d)))
	if s == Draft07 {
		set("RateLimit", "limit="+limit+", remaining="+remaining+", reset="+reset)
		return
	}
	set("RateLimit-Limit", limit)
	set("RateLimit-Remaining", remaining)
	set("RateLimit-Reset", reset)
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

func quotaOf(d *policy.Decision) string {
	text := quotedString(limitName(d)) + ";q=" + integer(d.Limit)
	if countsTokens(d) {
		text += ";qu=" + quotedString(d.Unit)
	}
	return text + windowParameter(d)
}

// leftOf leaves out a t of 0: there is no time to mind then.
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

// effectiveWindow is how long the client has to do with what remains: after a denial, as long as Retry-After says, and so never 0.
func effectiveWindow(d *policy.Decision) time.Duration {
	if !d.Allowed && !d.Never {
		return max(1, d.RetryAfter)
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
