package middleware

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// Style is a way to tell a client of its limit in header fields. One name means different things to different clients,
// so the style is a choice. With each but None, X-RateLimit-Shadow: denied says that a limit in shadow mode would have denied.
type Style uint8

const (
	// None sets nothing.
	None Style = iota
	// Draft11 is draft-ietf-httpapi-ratelimit-headers-11. w is the time in which an empty bucket becomes full, t the
	// time until this one is; after a denial t is the time until a retry can succeed, as in Retry-After.
	//
	//	RateLimit-Policy: "burst";q=100;w=60
	//	RateLimit: "burst";r=50;t=30
	Draft11
	// XRateLimit is X-RateLimit-Limit, -Remaining and -Reset. Reset is the time until the bucket is full, in seconds
	// from now rounded up, and never a date; it is absent if the bucket does not refill.
	XRateLimit
)

// shadowField says "denied" if a limit in shadow mode would have denied.
const shadowField = "X-RateLimit-Shadow"

// set sets the fields of one style, unless no limit spoke that binds the client.
func (s Style) set(h http.Header, d policy.Decision) {
	if d.ShadowDenied && s != None {
		h.Set(shadowField, "denied")
	}
	switch d.DecidedBy {
	case policy.Timeout, policy.Exempt, policy.NoPolicy, policy.Shadow, policy.MissingKey:
		return
	}
	switch s {
	case Draft11:
		name := quotedString(limitName(d))
		quota := name + ";q=" + integer(d.Limit)
		if d.Window > 0 {
			quota += ";w=" + integer(wholeSeconds(d.Window))
		}
		left := name + ";r=" + integer(d.Remaining)
		if wait := effectiveWindow(d); wait > 0 {
			left += ";t=" + integer(wholeSeconds(wait))
		}
		h.Set("RateLimit-Policy", quota)
		h.Set("RateLimit", left)
	case XRateLimit:
		h.Set("X-RateLimit-Limit", strconv.FormatInt(d.Limit, 10))
		h.Set("X-RateLimit-Remaining", strconv.FormatInt(d.Remaining, 10))
		if d.Window > 0 {
			h.Set("X-RateLimit-Reset", strconv.FormatInt(wholeSeconds(d.ResetAfter), 10))
		}
	}
}

// effectiveWindow is how long the client has to do with what remains.
func effectiveWindow(d policy.Decision) time.Duration {
	if !d.Allowed && !d.Never {
		return d.RetryAfter
	}
	return d.ResetAfter
}

// limitName is the name that the limit goes by in fields and bodies.
func limitName(d policy.Decision) string {
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
