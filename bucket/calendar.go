package bucket

import (
	"math"
	"sort"
	"time"
)

// Calendar is a period of the civil calendar in some time zone. Its windows are as long as the calendar has them: a month has
// 28 to 31 days, and the day on which clocks are set back has 25 hours.
type Calendar uint8

const (
	NoCalendar Calendar = iota // not of the calendar
	Minute                     // of the zone's clocks
	Hour                       // of the zone's clocks
	Day                        // of the zone's calendar, as all longer ones are
	Week                       // from Monday to Sunday, as ISO 8601 has it
	Month                      // from the first to the last
	Year                       // from 1 January to 31 December
)

var calendars = []string{"none", "minute", "hour", "day", "week", "month", "year"}

// String returns the word used in YAML, and "unknown" for a value that is none of the constants.
func (c Calendar) String() string {
	if int(c) < len(calendars) {
		return calendars[c]
	}
	return "unknown"
}

// longest is the length of the longest window, but for days on which clocks are changed.
func (c Calendar) longest() time.Duration {
	const day = 24 * time.Hour
	return [...]time.Duration{0, time.Minute, time.Hour, day, 7 * day, 31 * day, 366 * day}[c]
}

// Window returns the window that a time belongs to, in nanoseconds of Unix time, in a zone. c is Minute to Year.
//
// An hour begins when the clocks of the zone show a full one, so those of Asia/Kolkata begin at half past in UTC; one in whose
// middle clocks are changed is cut in two. A day begins at its first instant, which is not midnight where clocks are set
// forward then; where they are set back to the day before, it begins when it is midnight again.
func (c Calendar) Window(unix int64, zone *time.Location) Window {
	at := time.Unix(0, unix).In(zone)
	switch c {
	case Minute:
		return clockWindow(at, int64(time.Minute))
	case Hour:
		return clockWindow(at, int64(time.Hour))
	}
	first := date(at)
	if unix < first.begins(zone) { // past a midnight that came too early
		first.day--
	}
	y, m, d := first.utc().Date()
	var next civil
	var index int64
	switch days := first.days(); c {
	case Day:
		index, next = days, civil{y, m, d + 1}
	case Week:
		index = floorDiv(days+3, 7) // 1970 began on a Thursday
		d -= int(days + 3 - 7*index)
		next = civil{y, m, d + 7}
	case Month:
		index, d, next = 12*int64(y)+int64(m)-1, 1, civil{y, m + 1, 1}
	default:
		index, m, d, next = int64(y), time.January, 1, civil{y + 1, time.January, 1}
	}
	return Window{index, civil{y, m, d}.begins(zone), next.begins(zone)}
}

// clockWindow is the minute or hour that a clock shows, of so many nanoseconds. Its index is when it began, in seconds.
func clockWindow(at time.Time, long int64) Window {
	_, offset := at.Zone()
	unix, ahead := at.UnixNano(), int64(offset)*int64(time.Second)
	into := (unix%long + ahead%long) % long
	if into < 0 {
		into += long
	}
	w := Window{Start: math.MinInt64, End: math.MaxInt64}
	if unix >= math.MinInt64+into {
		w.Start = unix - into
	}
	if left := long - into; unix <= math.MaxInt64-left {
		w.End = unix + left
	}
	since, until := at.ZoneBounds()
	if since.After(time.Unix(0, w.Start)) && changes(since) {
		w.Start = since.UnixNano()
	}
	if !until.IsZero() && until.Before(time.Unix(0, w.End)) && changes(until) {
		w.End = until.UnixNano()
	}
	w.Index = floorDiv(w.Start, int64(time.Second))
	return w
}

// changes says that clocks are changed at a bound of a zone. The tables have bounds at which nothing happens.
func changes(bound time.Time) bool {
	_, after := bound.Zone()
	_, before := bound.Add(-time.Second).Zone()
	return before != after
}

// civil is a date. Its month and day may be beyond the year's and the month's, and mean those that come after then.
type civil struct {
	year  int
	month time.Month
	day   int
}

func date(at time.Time) civil {
	y, m, d := at.Date()
	return civil{y, m, d}
}

// utc is the date's midnight in UTC.
func (c civil) utc() time.Time { return time.Date(c.year, c.month, c.day, 0, 0, 0, 0, time.UTC) }

// days counts from 1 January 1970.
func (c civil) days() int64 { return floorDiv(c.utc().Unix(), 24*60*60) }

// begins returns from when on, in nanoseconds, the date is that of a zone, or a later one. time.Date does not say which time it
// returns where midnight comes twice or not at all.
func (c civil) begins(zone *time.Location) int64 {
	const most = 36 * 60 * 60 // no zone is that far from UTC
	days := c.days()
	reached := func(unix int64) bool { return date(time.Unix(unix, 0).In(zone)).days() >= days }
	search := func(from, to int64) int64 {
		return from + int64(sort.Search(int(to-from), func(n int) bool { return reached(from + int64(n)) }))
	}
	from, to := c.utc().Unix()-most, c.utc().Unix()+most
	s := search(from, to)
	_, until := time.Unix(s, 0).In(zone).ZoneBounds()
	if u := until.Unix(); !until.IsZero() && u < to && !reached(u) { // clocks are set back past midnight
		s = search(u, to)
	}
	const second = int64(time.Second)
	switch {
	case s > math.MaxInt64/second:
		return math.MaxInt64
	case s < math.MinInt64/second:
		return math.MinInt64
	}
	return s * second
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
