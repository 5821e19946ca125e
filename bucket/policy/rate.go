package policy

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/drossel-dev/drossel/bucket"
)

// periods are the units of a period, each by the name that FormatRate writes, from long to short.
var periods = []struct {
	unit string
	per  time.Duration
}{
	{"week", 7 * 24 * time.Hour},
	{"d", 24 * time.Hour},
	{"h", time.Hour},
	{"min", time.Minute},
	{"s", time.Second},
	{"ms", time.Millisecond},
	{"us", time.Microsecond},
	{"ns", time.Nanosecond},
}

// otherUnits are further names that ParseRate reads.
var otherUnits = map[string]string{"m": "min", "hour": "h", "day": "d"}

const unitNames = "ns, us, ms, s, min, h, d or week"

// ParseRate reads a rate such as "10/min", "10/250ms" or "1M/30d": a count as ParseCount reads it, a slash, and a
// period, which is a unit (ns, us, ms, s, min or m, h or hour, d or day, week) with an optional whole number before it.
// The burst of the result is the count. A count of 0 is a rate that never refills.
//
// Days and weeks are spans of 24 hours and 7 of them; months and years are calendar limits and refused, as are
// fractions and periods beyond the range of a Duration, about 292 years. Every error wraps bucket.ErrInvalidLimit, says
// at which byte the text goes wrong, counted from 1, and what is wanted there.
func ParseRate(text string) (bucket.Limit, error) {
	count, period, found := strings.Cut(text, "/")
	if !found {
		return bucket.Limit{}, &numberError{"rate", text, len(text) + 1, `want COUNT/PERIOD, such as "10/min"`}
	}
	n, bad := parseCount(count)
	if bad != nil {
		if hint := wholeRate(count, period); hint != "" {
			bad.want = fmt.Sprintf("want a whole number: write %s instead of %s", hint, text)
		}
		return bucket.Limit{}, &numberError{"rate", text, bad.at, bad.want}
	}
	per, bad := parsePeriod(period)
	if bad != nil {
		return bucket.Limit{}, &numberError{"rate", text, len(count) + 1 + bad.at, bad.want}
	}
	return bucket.Limit{Count: n, Per: per, Burst: n}, nil
}

// FormatRate returns the text of the limit's rate, without its burst: the count, with k or M where that is exact, over
// the period in its longest whole unit. ParseRate reads the same Count and Per from it; a limit without rate is "0/s"
// if it has no period.
func FormatRate(l bucket.Limit) string {
	if l.Per == 0 {
		l.Per = time.Second
	}
	count := formatCount(l.Count)
	longest := periods[len(periods)-1] // a nanosecond divides every period
	for _, p := range periods {
		if l.Per%p.per == 0 {
			longest = p
			break
		}
	}
	if n := int64(l.Per / longest.per); n != 1 {
		return count + "/" + strconv.FormatInt(n, 10) + longest.unit
	}
	return count + "/" + longest.unit
}

func formatCount(n int64) string {
	switch {
	case n != 0 && n%1_000_000 == 0:
		return strconv.FormatInt(n/1_000_000, 10) + "M"
	case n != 0 && n%1000 == 0:
		return strconv.FormatInt(n/1000, 10) + "k"
	}
	return strconv.FormatInt(n, 10)
}

// parsePeriod reads a period. The position of what is wrong is within text.
func parsePeriod(text string) (time.Duration, *misread) {
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	unit := text[digits:]
	if text == "" {
		return 0, &misread{1, `want a period after the slash, such as "min" or "250ms"`}
	}
	n := uint64(1)
	if digits > 0 {
		var err error
		if n, err = strconv.ParseUint(text[:digits], 10, 64); err != nil {
			n = math.MaxUint64 // beyond any period, and refused as such once the unit is known to be right
		}
		if digits > 1 && text[0] == '0' {
			return 0, &misread{1, "want a number without leading zeros"}
		}
	}
	switch unit {
	case "month", "year", "months", "years":
		return 0, &misread{digits + 1, "a month or year is of the calendar: write quota instead of rate, or a span of days, such as 30d"}
	case "":
		return 0, &misread{digits + 1, "want a unit after the number: " + unitNames}
	}
	if unit[0] == '.' || unit[0] == ',' {
		return 0, &misread{digits + 1, "want a whole number: write a smaller unit, such as 500ms instead of 0.5s"}
	}
	if unit[0] == '-' || unit[0] == '+' {
		return 0, &misread{digits + 1, "want a period without a sign"}
	}
	name := unit
	if other, ok := otherUnits[unit]; ok {
		name = other
	}
	for _, p := range periods {
		switch {
		case p.unit != name:
		case n == 0:
			return 0, &misread{1, "want a period above zero"}
		case n > uint64(math.MaxInt64/p.per):
			return 0, &misread{1, "want a period of at most 292 years"}
		default:
			return time.Duration(n) * p.per, nil
		}
	}
	return 0, &misread{digits + 1, fmt.Sprintf("unknown unit %s, want %s", quoted(unit), unitNames)}
}

// wholeRate returns a rate without fractions that says what a rate with a decimal count meant, or "" if there is none
// that is short enough to be a hint.
func wholeRate(count, period string) string {
	whole, decimals, found := strings.Cut(count, ".")
	if !found || len(whole) > 9 || len(decimals) == 0 || len(decimals) > 6 {
		return ""
	}
	if strings.Trim(whole+decimals, "0123456789") != "" {
		return ""
	}
	n, err := strconv.ParseInt(whole+decimals, 10, 64)
	per, bad := parsePeriod(period)
	if err != nil || bad != nil || n == 0 {
		return ""
	}
	scale := time.Duration(1)
	for range decimals {
		scale *= 10
	}
	for n%2 == 0 && scale%2 == 0 {
		n, scale = n/2, scale/2
	}
	for n%5 == 0 && scale%5 == 0 {
		n, scale = n/5, scale/5
	}
	if per > math.MaxInt64/scale {
		return ""
	}
	return FormatRate(bucket.Limit{Count: n, Per: per * scale})
}
