package policy

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/drossel-dev/drossel/bucket"
)

var algorithms = []string{
	bucket.TokenBucket.String(), bucket.Pacer.String(), bucket.SlidingWindow.String(), bucket.FixedWindow.String(),
	bucket.FirstHitWindow.String(), bucket.CalendarWindow.String(),
}

// fieldsOf are the fields of a limit that only some algorithm knows.
var fieldsOf = []struct {
	field string
	of    bucket.Algorithm
}{
	{"max_wait", bucket.Pacer},
	{"max_queue", bucket.Pacer},
	{"zone", bucket.CalendarWindow},
	{"overage", bucket.CalendarWindow},
}

// numbers reads how much a limit admits, and by which algorithm.
func (r *reader) numbers(m *mapping, where string) (l bucket.Limit) {
	rate, quota, algorithm := m.values["rate"], m.values["quota"], m.values["algorithm"]
	if algorithm != nil {
		l.Algorithm = bucket.Algorithm(r.word(algorithm, where, "algorithm", algorithms))
	}
	const wantRate, wantQuota = "COUNT/PERIOD, such as 10/min", "COUNT/PERIOD of the calendar, such as 10k/month"
	switch {
	case rate != nil && quota != nil:
		r.wrong(quota, "%srate and quota: leave one out", where)
		return l
	case l.Algorithm == bucket.CalendarWindow && rate != nil:
		r.wrong(rate, "%sa calendar limit has no rate: write quota instead, such as quota: 10k/month", where)
		return l
	case quota != nil && algorithm != nil && l.Algorithm != bucket.CalendarWindow:
		r.wrong(quota, "%sa %v has no quota: write rate instead, or leave the algorithm out", where, l.Algorithm)
		return l
	}
	var err error
	switch {
	case quota != nil:
		l.Algorithm = bucket.CalendarWindow
		if r.is(quota, yaml.ScalarNode, where+"quota: ", wantQuota) {
			if l, err = ParseQuota(quota.Value); err != nil {
				r.number(quota, where, err)
			}
		}
	case l.Algorithm == bucket.CalendarWindow:
		r.required(m, where, "quota", wantQuota)
	default:
		if rate = r.required(m, where, "rate", wantRate); rate != nil && r.is(rate, yaml.ScalarNode, where+"rate: ", wantRate) {
			a := l.Algorithm
			if l, err = ParseRate(rate.Value); err != nil {
				r.number(rate, where, err)
			}
			if l.Algorithm = a; a == bucket.Pacer {
				l.Burst = 0
			}
		}
	}
	for _, f := range fieldsOf {
		if v := m.values[f.field]; v != nil && l.Algorithm != f.of {
			r.wrong(v, "%s%s belongs to a %v, and this is a %v: leave it out", where, f.field, f.of, l.Algorithm)
		}
	}
	r.burst(m, where, &l)
	switch l.Algorithm {
	case bucket.Pacer:
		r.queue(m, where, &l)
	case bucket.CalendarWindow:
		r.overage(m, where, &l)
		if v := m.values["zone"]; v != nil && r.is(v, yaml.ScalarNode, where+"zone: ", "a time zone, such as Europe/Berlin") {
			l.Zone = v.Value
		}
	}
	return l
}

func (r *reader) burst(m *mapping, where string, l *bucket.Limit) {
	v := m.values["burst"]
	if v == nil || !r.is(v, yaml.ScalarNode, where+"burst: ", "a count, or leave it out") {
		return
	}
	n, err := ParseCount(v.Value)
	switch {
	case err != nil:
		r.number(v, where+"burst: ", err)
	case l.Algorithm == bucket.TokenBucket:
		l.Burst = n
	case n == 0: // blocks all, whatever the algorithm
		l.Count, l.Burst, l.MaxWait = 0, 0, 0
	default:
		r.wrong(v, "%sburst belongs to a token_bucket, and this is a %v: leave it out, or write 0 to block all", where, l.Algorithm)
	}
}

// queue reads how many may wait for a pacer, and how long. Of the two one may be left out, and does not bound then; without either
// none may wait.
func (r *reader) queue(m *mapping, where string, l *bucket.Limit) {
	wait, queue := m.values["max_wait"], m.values["max_queue"]
	if wait != nil && r.is(wait, yaml.ScalarNode, where+"max_wait: ", "a time, such as 250ms") {
		d, err := parseWait(wait.Value)
		if err != nil {
			r.number(wait, where, err)
		}
		l.MaxWait, l.Burst = d, bucket.MaxTokens
	}
	if queue != nil && r.is(queue, yaml.ScalarNode, where+"max_queue: ", "a count") {
		n, err := ParseCount(queue.Value)
		if err != nil {
			r.number(queue, where+"max_queue: ", err)
		}
		if l.Burst = n; wait == nil {
			l.MaxWait = math.MaxInt64
		}
	}
	if l.Count == 0 {
		l.MaxWait, l.Burst = 0, 0
	}
}

// parseWait reads a time as a period, or 0.
func parseWait(text string) (time.Duration, error) {
	if text == "0" || text == "0s" {
		return 0, nil
	}
	d, bad := parsePeriod(text)
	if bad != nil {
		return 0, &numberError{"max_wait", text, bad.at, bad.want}
	}
	return d, nil
}

// overage reads how much of a quota is admitted beyond it, as a percentage.
func (r *reader) overage(m *mapping, where string, l *bucket.Limit) {
	v := m.values["overage"]
	const want = "a percentage of the quota, such as 20%"
	if v == nil || !r.is(v, yaml.ScalarNode, where+"overage: ", want) {
		return
	}
	percent, ok := strings.CutSuffix(v.Value, "%")
	n, bad := parseCount(percent)
	switch {
	case !ok || bad != nil || n > 1000:
		r.wrong(v, "%soverage %s: want %s, in whole percents up to 1000%%", where, quoted(v.Value), want)
	case l.Count > bucket.MaxTokens/(100+n)*100:
		r.wrong(v, "%soverage %s: with it the quota is above %d (2^53)", where, quoted(v.Value), int64(bucket.MaxTokens))
	default:
		l.Burst = l.Count + l.Count/100*n + l.Count%100*n/100
	}
}

// calendarUnits are the periods of a quota, and other names that ParseQuota reads.
var calendarUnits = map[string]bucket.Calendar{
	"min": bucket.Minute, "minute": bucket.Minute, "m": bucket.Minute, "h": bucket.Hour, "hour": bucket.Hour,
	"d": bucket.Day, "day": bucket.Day, "week": bucket.Week, "month": bucket.Month, "year": bucket.Year,
}

// ParseQuota reads how much a period of the calendar admits, such as "10M/month": a count as ParseCount reads it, a slash, and
// minute, hour, day, week, month or year. The result has no overage, and its zone is UTC. Every error wraps
// bucket.ErrInvalidLimit, says at which byte the text goes wrong, counted from 1, and what is wanted there.
func ParseQuota(text string) (bucket.Limit, error) {
	count, period, found := strings.Cut(text, "/")
	if !found {
		return bucket.Limit{}, &numberError{"quota", text, len(text) + 1, `want COUNT/PERIOD, such as "10k/month"`}
	}
	n, bad := parseCount(count)
	if bad != nil {
		return bucket.Limit{}, &numberError{"quota", text, bad.at, bad.want}
	}
	c, ok := calendarUnits[period]
	if !ok {
		return bucket.Limit{}, &numberError{"quota", text, len(count) + 2, "want minute, hour, day, week, month or year: " +
			"for other periods write a rate, and algorithm: fixed_window"}
	}
	return bucket.Limit{Algorithm: bucket.CalendarWindow, Count: n, Burst: n, Calendar: c}, nil
}

// FormatLimit returns the numbers of a limit for people to read, in the words of YAML.
func FormatLimit(l bucket.Limit) string {
	switch l.Algorithm {
	case bucket.TokenBucket:
		return fmt.Sprintf("%s, burst %d", FormatRate(l), l.Burst)
	case bucket.Pacer:
		text := "pacer " + FormatRate(l)
		if l.MaxWait < math.MaxInt64 {
			text += ", max_wait " + l.MaxWait.String()
		}
		if l.Burst < bucket.MaxTokens {
			text += ", max_queue " + strconv.FormatInt(l.Burst, 10)
		}
		return text
	case bucket.CalendarWindow:
		text := fmt.Sprintf("quota %s/%v", formatCount(l.Count), l.Calendar)
		if l.Zone != "" {
			text += ", zone " + l.Zone
		}
		if l.Burst > l.Count {
			text += ", overage to " + formatCount(l.Burst)
		}
		return text
	default:
		return l.Algorithm.String() + " " + FormatRate(l)
	}
}
