package bucket_test

import (
	"math"
	"testing"
	"time"
	_ "time/tzdata" // the zones need not be on the machine

	"pgregory.net/rapid"

	"github.com/drossel-dev/drossel/bucket"
)

var calendars = []bucket.Calendar{bucket.Minute, bucket.Hour, bucket.Day, bucket.Week, bucket.Month, bucket.Year}

// zones has those whose clocks change by an hour, by half of one, at midnight, never, and one that left a day out.
var zones = []string{
	"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "America/Havana", "Asia/Beirut",
	"America/St_Johns", "Pacific/Chatham", "Asia/Shanghai", "Pacific/Apia", "America/Sao_Paulo",
}

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// shows reads what the clocks and calendars of a zone show, as in "2026-03-29 03:00:00 +0200".
func shows(t testing.TB, text, name string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02 15:04:05 -0700", text)
	if err != nil {
		t.Fatal(err)
	}
	return at.In(zone(t, name))
}

func TestCalendarWindows(t *testing.T) {
	for _, c := range []struct {
		period     bucket.Calendar
		zone       string
		at         string
		start, end string
		long       time.Duration
	}{
		// Clocks are set forward.
		{bucket.Day, "Europe/Berlin", "2026-03-29 12:00:00 +0200", "2026-03-29 00:00:00 +0100", "2026-03-30 00:00:00 +0200", 23 * time.Hour},
		{bucket.Hour, "Europe/Berlin", "2026-03-29 03:30:00 +0200", "2026-03-29 03:00:00 +0200", "2026-03-29 04:00:00 +0200", time.Hour},
		{bucket.Hour, "Europe/Berlin", "2026-03-29 01:59:59 +0100", "2026-03-29 01:00:00 +0100", "2026-03-29 03:00:00 +0200", time.Hour},
		{bucket.Day, "America/New_York", "2026-03-08 00:30:00 -0500", "2026-03-08 00:00:00 -0500", "2026-03-09 00:00:00 -0400", 23 * time.Hour},
		{bucket.Hour, "Australia/Lord_Howe", "2026-10-04 02:45:00 +1100", "2026-10-04 02:30:00 +1100", "2026-10-04 03:00:00 +1100", time.Hour / 2},
		{bucket.Day, "Australia/Lord_Howe", "2026-10-04 02:45:00 +1100", "2026-10-04 00:00:00 +1030", "2026-10-05 00:00:00 +1100", 47 * time.Hour / 2},
		{bucket.Day, "America/Havana", "2026-03-08 12:00:00 -0400", "2026-03-08 01:00:00 -0400", "2026-03-09 00:00:00 -0400", 23 * time.Hour},
		{bucket.Week, "Europe/Berlin", "2026-03-29 23:59:59 +0200", "2026-03-23 00:00:00 +0100", "2026-03-30 00:00:00 +0200", 167 * time.Hour},
		// Set back.
		{bucket.Day, "Europe/Berlin", "2026-10-25 23:59:59 +0100", "2026-10-25 00:00:00 +0200", "2026-10-26 00:00:00 +0100", 25 * time.Hour},
		{bucket.Hour, "Europe/Berlin", "2026-10-25 02:30:00 +0200", "2026-10-25 02:00:00 +0200", "2026-10-25 02:00:00 +0100", time.Hour},
		{bucket.Hour, "Europe/Berlin", "2026-10-25 02:30:00 +0100", "2026-10-25 02:00:00 +0100", "2026-10-25 03:00:00 +0100", time.Hour},
		{bucket.Hour, "Australia/Lord_Howe", "2026-04-05 01:45:00 +1100", "2026-04-05 01:00:00 +1100", "2026-04-05 02:00:00 +1100", time.Hour},
		{bucket.Hour, "Australia/Lord_Howe", "2026-04-05 01:45:00 +1030", "2026-04-05 01:30:00 +1030", "2026-04-05 02:00:00 +1030", time.Hour / 2},
		{bucket.Day, "America/Havana", "2026-11-01 00:30:00 -0500", "2026-11-01 00:00:00 -0400", "2026-11-02 00:00:00 -0500", 25 * time.Hour},
		{bucket.Day, "Asia/Beirut", "2026-10-24 23:30:00 +0200", "2026-10-24 00:00:00 +0300", "2026-10-25 00:00:00 +0200", 25 * time.Hour},
		// Never, and not by whole hours.
		{bucket.Hour, "Asia/Kolkata", "2026-06-01 10:59:59 +0530", "2026-06-01 10:00:00 +0530", "2026-06-01 11:00:00 +0530", time.Hour},
		{bucket.Month, "Asia/Kolkata", "2026-06-30 23:59:59 +0530", "2026-06-01 00:00:00 +0530", "2026-07-01 00:00:00 +0530", 720 * time.Hour},
		{bucket.Minute, "Asia/Kolkata", "2026-06-01 10:59:59 +0530", "2026-06-01 10:59:00 +0530", "2026-06-01 11:00:00 +0530", time.Minute},
		// Months and years of every length.
		{bucket.Month, "Europe/Berlin", "2026-10-31 23:59:59 +0100", "2026-10-01 00:00:00 +0200", "2026-11-01 00:00:00 +0100", 745 * time.Hour},
		{bucket.Month, "America/New_York", "2028-02-29 23:59:59 -0500", "2028-02-01 00:00:00 -0500", "2028-03-01 00:00:00 -0500", 29 * 24 * time.Hour},
		{bucket.Month, "UTC", "2100-02-28 23:59:59 +0000", "2100-02-01 00:00:00 +0000", "2100-03-01 00:00:00 +0000", 28 * 24 * time.Hour},
		{bucket.Day, "UTC", "2028-02-29 00:00:00 +0000", "2028-02-29 00:00:00 +0000", "2028-03-01 00:00:00 +0000", 24 * time.Hour},
		{bucket.Year, "America/New_York", "2028-12-31 23:59:59 -0500", "2028-01-01 00:00:00 -0500", "2029-01-01 00:00:00 -0500", 366 * 24 * time.Hour},
		{bucket.Week, "UTC", "2026-12-31 12:00:00 +0000", "2026-12-28 00:00:00 +0000", "2027-01-04 00:00:00 +0000", 168 * time.Hour},
		{bucket.Week, "UTC", "1969-12-30 12:00:00 +0000", "1969-12-29 00:00:00 +0000", "1970-01-05 00:00:00 +0000", 168 * time.Hour},
		{bucket.Day, "America/St_Johns", "2001-10-28 00:00:30 -0230", "2001-10-27 00:00:00 -0230", "2001-10-28 00:00:00 -0330", 25 * time.Hour},
		{bucket.Day, "America/St_Johns", "2001-10-27 23:30:00 -0330", "2001-10-27 00:00:00 -0230", "2001-10-28 00:00:00 -0330", 25 * time.Hour},
		{bucket.Day, "Pacific/Apia", "2011-12-29 12:00:00 -1000", "2011-12-29 00:00:00 -1000", "2011-12-31 00:00:00 +1400", 24 * time.Hour},
	} {
		w := c.period.Window(shows(t, c.at, c.zone).UnixNano(), zone(t, c.zone))
		start, end := time.Unix(0, w.Start).In(zone(t, c.zone)), time.Unix(0, w.End).In(zone(t, c.zone))
		if !start.Equal(shows(t, c.start, c.zone)) || !end.Equal(shows(t, c.end, c.zone)) || end.Sub(start) != c.long {
			t.Errorf("the %v of %s in %s is %v to %v, %v", c.period, c.at, c.zone, start, end, end.Sub(start))
		}
	}
}

// TestCalendarCases: C83, C85, C86 and C88.
func TestCalendarCases(t *testing.T) {
	for _, c := range []struct {
		period bucket.Calendar
		zone   string
		at     string
		reset  int64 // seconds
	}{
		{bucket.Month, "UTC", "2026-01-31 23:59:59 +0000", 1},
		{bucket.Month, "UTC", "2026-02-01 00:00:00 +0000", 2_419_200},
		{bucket.Month, "UTC", "2028-02-01 00:00:00 +0000", 2_505_600},
		{bucket.Day, "America/New_York", "2026-11-01 00:30:00 -0400", 88_200},
		{bucket.Day, "America/New_York", "2026-03-08 00:30:00 -0500", 81_000},
		{bucket.Day, "Asia/Shanghai", "2026-09-09 07:47:00 +0800", 58_380},
		{bucket.Hour, "UTC", "2026-09-09 00:59:59 +0000", 1},
	} {
		at := shows(t, c.at, c.zone).UnixNano()
		if w := c.period.Window(at, zone(t, c.zone)); w.End-at != c.reset*int64(time.Second) {
			t.Errorf("the %v of %s in %s ends in %v, want %d s", c.period, c.at, c.zone, time.Duration(w.End-at), c.reset)
		}
	}
}

// begins says in the slow way whether a window of a period begins at a whole minute: from what clocks and calendars show
// there and a minute before.
func begins(c bucket.Calendar, minute int64, z *time.Location) bool {
	now, before := time.Unix(60*minute, 0).In(z), time.Unix(60*(minute-1), 0).In(z)
	_, offset := now.Zone()
	_, was := before.Zone()
	year, week := now.ISOWeek()
	lastYear, lastWeek := before.ISOWeek()
	switch c {
	case bucket.Minute:
		return true
	case bucket.Hour:
		return now.Minute() == 0 || offset != was
	case bucket.Day:
		for later := range int64(180) { // clocks may be set back past midnight
			if time.Unix(60*(minute+later), 0).In(z).Format(time.DateOnly) <= before.Format(time.DateOnly) {
				return false
			}
		}
		return true
	case bucket.Week:
		return (year != lastYear || week != lastWeek) && begins(bucket.Day, minute, z)
	case bucket.Month:
		return now.Month() != before.Month()
	default:
		return now.Year() != before.Year()
	}
}

func TestCalendarModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(calendars[:4]).Draw(t, "period") // from edge to edge of a year is a long walk
		name := rapid.SampledFrom(zones).Draw(t, "zone")
		z, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Unix(rapid.Int64Range(1_000_000_000, 2_100_000_000).Draw(t, "second"), 0).In(z)
		if _, until := at.ZoneBounds(); rapid.Bool().Draw(t, "near a change") && !until.IsZero() {
			at = until.Add(time.Duration(rapid.Int64Range(-30*3600, 30*3600).Draw(t, "by seconds")) * time.Second)
		}
		w := c.Window(at.UnixNano(), z)
		start, end := at.Unix()/60, at.Unix()/60+1
		for !begins(c, start, z) {
			start--
		}
		for !begins(c, end, z) {
			end++
		}
		if w.Start != start*int64(time.Minute) || w.End != end*int64(time.Minute) {
			t.Fatalf("the %v of %v is %v to %v, want %v to %v", c, at, time.Unix(0, w.Start).In(z), time.Unix(0, w.End).In(z),
				time.Unix(60*start, 0).In(z), time.Unix(60*end, 0).In(z))
		}
	})
}

// TestWindowsFollow: windows leave no instant out, have none twice, and their indexes rise.
func TestWindowsFollow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		z, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		var of func(at int64) bucket.Window
		if per := period.Draw(t, "per"); rapid.Bool().Draw(t, "aligned") {
			of = func(at int64) bucket.Window { return bucket.AlignedWindow(at, per) }
		} else {
			c := rapid.SampledFrom(calendars).Draw(t, "period")
			of = func(at int64) bucket.Window { return c.Window(at, z) }
		}
		at := rapid.OneOf(rapid.Int64(), rapid.Int64Range(1e18, 2e18)).Draw(t, "at")
		w := of(at)
		if at < w.Start || at >= w.End && w.End != math.MaxInt64 {
			t.Fatalf("%d is not in %+v", at, w)
		}
		if w.Start > math.MinInt64 && of(w.Start) != w {
			t.Fatalf("at its start %+v is %+v", w, of(w.Start))
		}
		if w.End < math.MaxInt64 {
			if of(w.End-1) != w {
				t.Fatalf("at its end %+v is %+v", w, of(w.End-1))
			}
			if next := of(w.End); next.Start != w.End || next.Index <= w.Index {
				t.Fatalf("after %+v comes %+v", w, next)
			}
		}
	})
}
