package policy_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
)

// TestParseAlgorithms reads a limit of each algorithm, and formats it.
func TestParseAlgorithms(t *testing.T) {
	for _, c := range []struct {
		text string
		want bucket.Limit
		as   string // formatted
	}{
		{"rate: 10/min", bucket.Limit{Count: 10, Per: time.Minute, Burst: 10}, "10/min, burst 10"},
		{"algorithm: token_bucket, rate: 10/min, burst: 3", bucket.Limit{Count: 10, Per: time.Minute, Burst: 3}, "10/min, burst 3"},
		{"algorithm: pacer, rate: 5/s", bucket.Limit{Algorithm: bucket.Pacer, Count: 5, Per: time.Second},
			"pacer 5/s, max_wait 0s, max_queue 0"},
		{"algorithm: pacer, rate: 5/s, max_wait: 0s", bucket.Limit{Algorithm: bucket.Pacer, Count: 5, Per: time.Second, Burst: bucket.MaxTokens},
			"pacer 5/s, max_wait 0s"},
		{"algorithm: pacer, rate: 5/s, max_wait: 250ms", bucket.Limit{
			Algorithm: bucket.Pacer, Count: 5, Per: time.Second, MaxWait: 250 * time.Millisecond, Burst: bucket.MaxTokens,
		}, "pacer 5/s, max_wait 250ms"},
		{"algorithm: pacer, rate: 5/s, max_queue: 1k", bucket.Limit{
			Algorithm: bucket.Pacer, Count: 5, Per: time.Second, MaxWait: math.MaxInt64, Burst: 1000,
		}, "pacer 5/s, max_queue 1000"},
		{"algorithm: pacer, rate: 5/s, max_queue: 7, max_wait: 2s", bucket.Limit{
			Algorithm: bucket.Pacer, Count: 5, Per: time.Second, MaxWait: 2 * time.Second, Burst: 7,
		}, "pacer 5/s, max_wait 2s, max_queue 7"},
		{"algorithm: pacer, rate: 5/s, max_wait: 2s, burst: 0", bucket.Limit{Algorithm: bucket.Pacer, Per: time.Second},
			"pacer 0/s, max_wait 0s, max_queue 0"},
		{"algorithm: pacer, rate: 0/s, max_wait: 2s", bucket.Limit{Algorithm: bucket.Pacer, Per: time.Second},
			"pacer 0/s, max_wait 0s, max_queue 0"},
		{"algorithm: sliding_window, rate: 10/min", bucket.Limit{Algorithm: bucket.SlidingWindow, Count: 10, Per: time.Minute, Burst: 10},
			"sliding_window 10/min"},
		{"algorithm: fixed_window, rate: 10/2h", bucket.Limit{Algorithm: bucket.FixedWindow, Count: 10, Per: 2 * time.Hour, Burst: 10},
			"fixed_window 10/2h"},
		{"algorithm: fixed_window, rate: 10/h, burst: 0", bucket.Limit{Algorithm: bucket.FixedWindow, Per: time.Hour},
			"fixed_window 0/h"},
		{"algorithm: first_hit_window, rate: 10/min", bucket.Limit{Algorithm: bucket.FirstHitWindow, Count: 10, Per: time.Minute, Burst: 10},
			"first_hit_window 10/min"},
		{"quota: 10M/month", bucket.Limit{Algorithm: bucket.CalendarWindow, Count: 10e6, Burst: 10e6, Calendar: bucket.Month},
			"quota 10M/month"},
		{"algorithm: calendar, quota: 7/day, zone: Asia/Kolkata", bucket.Limit{
			Algorithm: bucket.CalendarWindow, Count: 7, Burst: 7, Calendar: bucket.Day, Zone: "Asia/Kolkata",
		}, "quota 7/day, zone Asia/Kolkata"},
		{"quota: 10M/year, zone: Europe/Berlin, overage: 20%", bucket.Limit{
			Algorithm: bucket.CalendarWindow, Count: 10e6, Burst: 12e6, Calendar: bucket.Year, Zone: "Europe/Berlin",
		}, "quota 10M/year, zone Europe/Berlin, overage to 12M"},
		{"quota: 199/week, overage: 1%", bucket.Limit{Algorithm: bucket.CalendarWindow, Count: 199, Burst: 200, Calendar: bucket.Week},
			"quota 199/week, overage to 200"},
		{"quota: 3/minute, overage: 1000%", bucket.Limit{Algorithm: bucket.CalendarWindow, Count: 3, Burst: 33, Calendar: bucket.Minute},
			"quota 3/minute, overage to 33"},
		{"quota: 3/h, burst: 0", bucket.Limit{Algorithm: bucket.CalendarWindow, Calendar: bucket.Hour}, "quota 0/hour"},
	} {
		set, err := policy.Parse("limits.yaml", []byte("version: 1\npolicies: {api: {key: [user], limits: [{"+c.text+"}]}}\n"))
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		p, _ := set.Policy("api")
		if got := p.Limits[0].Limit; got != c.want {
			t.Errorf("%s: %+v, want %+v", c.text, got, c.want)
		}
		if got := policy.FormatLimit(p.Limits[0].Limit); got != c.as {
			t.Errorf("%s is formatted as %q, want %q", c.text, got, c.as)
		}
		if got, want := p.Leased(), c.want.Algorithm.Lends(); got != want {
			t.Errorf("%s: leased %v, want %v", c.text, got, want)
		}
	}
}

// TestParseAlgorithmsRefuses gives each limit in which one thing is wrong, and what is said about it.
func TestParseAlgorithmsRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"algorithm: leaky, rate: 1/s", `2:52: policy "api": limit 1: unknown algorithm "leaky": want "token_bucket", "pacer", ` +
			`"sliding_window", "fixed_window", "first_hit_window", "calendar"`},
		{"algorithm: slidingwindow, rate: 1/s", `did you mean "sliding_window"?`},
		{"rate: 1/s, quota: 1/day", `limit 1: rate and quota: leave one out`},
		{"algorithm: calendar, rate: 1/s", `a calendar limit has no rate: write quota instead, such as quota: 10k/month`},
		{"algorithm: calendar", `limit 1: field "quota" is missing: want COUNT/PERIOD of the calendar, such as 10k/month`},
		{"algorithm: pacer, quota: 1/day", `a pacer has no quota: write rate instead, or leave the algorithm out`},
		{"algorithm: pacer", `limit 1: field "rate" is missing: want COUNT/PERIOD, such as 10/min`},
		{"rate: 1/s, max_wait: 1s", `max_wait belongs to a pacer, and this is a token_bucket: leave it out`},
		{"quota: 1/day, max_queue: 1", `max_queue belongs to a pacer, and this is a calendar: leave it out`},
		{"rate: 1/s, zone: Europe/Berlin", `zone belongs to a calendar, and this is a token_bucket: leave it out`},
		{"algorithm: fixed_window, rate: 1/s, overage: 1%", `overage belongs to a calendar, and this is a fixed_window: leave it out`},
		{"algorithm: pacer, rate: 1/s, burst: 2", `burst belongs to a token_bucket, and this is a pacer: leave it out, or write 0 to block all`},
		{"algorithm: pacer, rate: 1/s, max_wait: 5", `want a unit after the number`},
		{"algorithm: pacer, rate: 1/s, max_wait: [5s]", `max_wait: a list here: want a time, such as 250ms`},
		{"algorithm: pacer, rate: 1/s, max_queue: -1", `want a number of at least 0`},
		{"quota: 10", `want COUNT/PERIOD, such as "10k/month"`},
		{"quota: 1/fortnight", `quota "1/fortnight", byte 3: want minute, hour, day, week, month or year: for other periods write a rate`},
		{"quota: x/day", `want a whole number`},
		{"quota: 1/day, zone: Europe/Brelin", `time zone "Europe/Brelin" is not known, want a name such as Europe/Berlin`},
		{"quota: 1/day, zone: Local", `time zone "Local", want a name such as Europe/Berlin`},
		{"quota: 1/day, overage: 20", `overage "20": want a percentage of the quota, such as 20%, in whole percents up to 1000%`},
		{"quota: 1/day, overage: 1001%", `in whole percents up to 1000%`},
		{"quota: 9007199254740992/day, overage: 1%", `with it the quota is above 9007199254740992 (2^53)`},
		{"rate: 1/month", `a month or year is of the calendar: write quota instead of rate, or a span of days, such as 30d`},
		{"algorithm: sliding_window, rate: 1/s, sample: 10%", `limit 1 is a sliding_window, which needs each to be decided: leave the sample out`},
		{"quota: 1/day}, {quota: 1/day, zone: UTC", `limit 2 is the same as limit 1 (quota 1/day): leave one out`},
	} {
		_, err := policy.Parse("limits.yaml", []byte("version: 1\npolicies: {api: {key: [user], limits: [{"+c.text+"}]}}\n"))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
		} else if n := strings.Count(err.Error(), "\n"); n > 0 && !strings.Contains(c.text, "sample") {
			t.Errorf("%s: more than one complaint: %v", c.text, err)
		}
	}
}
