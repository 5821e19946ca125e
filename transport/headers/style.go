package headers

import (
	"errors"
	"fmt"
	"slices"
)

// Style is a way to tell a client of its limits in header fields. With each but None, X-RateLimit-Shadow: denied says that a limit in
// shadow mode would have denied. The zero Style is None.
type Style uint8

const (
	// None sets nothing.
	None Style = iota
	// Draft11 is draft-ietf-httpapi-ratelimit-headers-11, with all limits that spoke. w is the window, of a token bucket the time in which an
	// empty one becomes full; t the time until nothing counts as taken any more, after a denial the time until a retry can succeed, as in
	// Retry-After; qu the unit, if that is not requests.
	//
	//	RateLimit-Policy: "burst";q=100;w=60
	//	RateLimit: "burst";r=50;t=30
	Draft11
	// XRateLimit is X-RateLimit-Limit, -Remaining and -Reset. Reset is the time until the limit is as if nothing was taken, in seconds
	// from now rounded up, and never a date; it is absent if nothing comes back.
	XRateLimit
	// Draft07 is draft-ietf-httpapi-ratelimit-headers-07: one field for the limit that spoke, none after a denial by one of which nothing
	// comes back, for a reset is required. The other lists all limits that have a window, which is required too, and of two of the same
	// number one.
	//
	//	RateLimit: limit=100, remaining=50, reset=30
	//	RateLimit-Policy: 100;w=60
	Draft07
	// Draft06 is draft-ietf-httpapi-ratelimit-headers-06: RateLimit-Limit, -Remaining and -Reset, and RateLimit-Policy as in Draft07.
	Draft06
	// GitHub is that of api.github.com: X-RateLimit-Limit, -Remaining, -Used, -Resource, which is the limit's name, and -Reset, which is a
	// date, in seconds of Unix time.
	GitHub
	// EnvoyDraft03 is what Envoy's own filter sets by DRAFT_VERSION_03: X-RateLimit-Limit with all policies that have a window behind the
	// number, -Remaining, and -Reset in seconds from now.
	//
	//	X-RateLimit-Limit: 100, 100;w=60;name="burst"
	EnvoyDraft03
	// OpenAI is that of api.openai.com, which its client libraries wait by: X-RateLimit-Limit-Requests, -Remaining-Requests and
	// -Reset-Requests, or -Tokens for a limit that counts another unit than requests, both if both spoke; resets as "6m0s" or "120ms"; and
	// Retry-After-Ms with a denial.
	OpenAI
)

var styles = []string{"none", "draft-11", "x-ratelimit", "draft-07", "draft-06", "github", "envoy-draft-03", "openai"}

// String returns the name of the style as in a configuration, and "unknown" for a value that is none of the constants.
func (s Style) String() string {
	if int(s) < len(styles) {
		return styles[s]
	}
	return "unknown"
}

// Default returns the styles of who has not chosen any: Draft11 and XRateLimit.
func Default() []Style { return []Style{Draft11, XRateLimit} }

// ErrStyle is wrapped by errors about styles that do not exist, or contradict each other.
var ErrStyle = errors.New("header style")

// ParseStyles returns the styles of these names, of no names none: that is not nil, by which others mean the Default. The error names all
// that are wrong, and wraps ErrStyle.
func ParseStyles(names []string) (chosen []Style, err error) {
	chosen = []Style{}
	for _, name := range names {
		i := slices.Index(styles, name)
		if i < 0 {
			err = errors.Join(err, fmt.Errorf("%w %q is unknown: want some of %q", ErrStyle, name, styles))
			continue
		}
		chosen = append(chosen, Style(i))
	}
	if err != nil {
		return nil, err
	}
	return chosen, Validate(chosen)
}

// sets are the fields, or groups of fields, that styles have for themselves.
var sets = map[Style][]string{
	Draft11: {"RateLimit", "RateLimit-Policy"}, Draft07: {"RateLimit", "RateLimit-Policy"}, Draft06: {"RateLimit-Policy"},
	XRateLimit: {"X-RateLimit-Limit"}, GitHub: {"X-RateLimit-Limit"}, EnvoyDraft03: {"X-RateLimit-Limit"},
}

// Validate says which of the styles contradict each other, because they write the same field in different ways, or are there twice, or none of
// those there are. The error wraps ErrStyle.
func Validate(chosen []Style) (err error) {
	for i, s := range chosen {
		if int(s) >= len(styles) {
			err = errors.Join(err, fmt.Errorf("%w %d is unknown", ErrStyle, s))
		}
		for _, before := range chosen[:i] {
			switch field := common(sets[s], sets[before]); {
			case s == before:
				err = errors.Join(err, fmt.Errorf("%w %v is there twice", ErrStyle, s))
			case field != "":
				err = errors.Join(err, fmt.Errorf("%ws %v and %v both set %s: leave one out", ErrStyle, before, s, field))
			}
		}
	}
	return err
}

func common(a, b []string) string {
	for _, x := range a {
		if slices.Contains(b, x) {
			return x
		}
	}
	return ""
}
