package policy_test

import (
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
)

const day = 24 * time.Hour

func TestParseRate(t *testing.T) {
	for _, c := range []struct {
		text  string
		count int64
		per   time.Duration
	}{
		{"10/s", 10, time.Second},
		{"10/min", 10, time.Minute},
		{"10/m", 10, time.Minute},
		{"10_000/h", 10_000, time.Hour},
		{"10k/hour", 10_000, time.Hour},
		{"1/d", 1, day},
		{"1/day", 1, day},
		{"7/week", 7, 7 * day},
		{"10/250ms", 10, 250 * time.Millisecond},
		{"1M/30d", 1_000_000, 30 * day},
		{"1_0k/2week", 10_000, 14 * day},
		{"0/s", 0, time.Second},
		{"3/7us", 3, 7 * time.Microsecond},
		{"1/ns", 1, 1},
		{"9007199254740992/s", bucket.MaxTokens, time.Second},
		{"1/106751d", 1, 106751 * day},
	} {
		got, err := policy.ParseRate(c.text)
		if want := (bucket.Limit{Count: c.count, Per: c.per, Burst: c.count}); err != nil || got != want {
			t.Errorf("ParseRate(%q) = %+v, %v, want %+v", c.text, got, err, want)
		}
	}
}

func TestParseRateRefuses(t *testing.T) {
	const whole = `want a whole number, such as "10", "10_000", "10k" or "1M"`
	const units = "ns, us, ms, s, min, h, d or week"
	for _, c := range []struct{ name, text, want string }{
		{"C35 fraction", "0.5/s", `byte 2: want a whole number: write 1/2s instead of 0.5/s`},
		{"C35 day fraction", "0.25/12h", `byte 2: want a whole number: write 1/2d instead of 0.25/12h`},
		{"C50 a third", "0.33/s", `byte 2: want a whole number: write 33/100s instead of 0.33/s`},
		{"no hint for a long fraction", "0.1234567/s", "byte 2: " + whole},
		{"no hint beyond 292 years", "0.1/100000d", "byte 2: " + whole},
		{"C47 zero period", "10/0s", `byte 4: want a period above zero`},
		{"C47 NaN", "NaN/s", "byte 1: " + whole},
		{"C47 negative", "-1/s", "byte 1: want a number of at least 0"},
		{"C47 exponent", "1e400/s", "byte 2: " + whole},
		{"C47 infinity", "Inf/s", "byte 1: " + whole},
		{"plus", "+1/s", "byte 1: " + whole},
		{"empty", "", `byte 1: want COUNT/PERIOD, such as "10/min"`},
		{"no period", "10", `byte 3: want COUNT/PERIOD, such as "10/min"`},
		{"empty period", "10/", `byte 4: want a period after the slash, such as "min" or "250ms"`},
		{"empty count", "/s", "byte 1: " + whole},
		{"only a suffix", "k/s", "byte 1: " + whole},
		{"two suffixes", "1kM/s", "byte 2: " + whole},
		{"giga", "1G/s", "byte 2: " + whole},
		{"small m", "1m/s", "byte 2: " + whole},
		{"space", "10 /s", "byte 3: " + whole},
		{"space in period", "10/ s", `byte 4: unknown unit " s", want ` + units},
		{"underscore first", "_1/s", "byte 1: " + whole},
		{"underscore last", "1_/s", "byte 2: " + whole},
		{"underscore twice", "1__0/s", "byte 3: " + whole},
		{"leading zero", "010/s", "byte 1: want a number without leading zeros"},
		{"leading zero of period", "1/010s", "byte 3: want a number without leading zeros"},
		{"too many", "9007199254740993/s", "byte 1: want at most 9007199254740992 (2^53)"},
		{"too many thousands", "9007199254741k/s", "byte 1: want at most 9007199254740992 (2^53)"},
		{"far too many", strings.Repeat("9", 40) + "/s", "byte 1: want at most 9007199254740992 (2^53)"},
		{"wrong after too many", strings.Repeat("9", 40) + "x/s", "byte 41: " + whole},
		{"unknown unit", "10/minuts", `byte 4: unknown unit "minuts", want ` + units},
		{"month", "10/month", "byte 4: a month or year is of the calendar: write quota instead of rate, or a span of days, such as 30d"},
		{"years", "10/2years", "byte 5: a month or year is of the calendar: write quota instead of rate, or a span of days, such as 30d"},
		{"no unit", "10/60", "byte 6: want a unit after the number: " + units},
		{"fraction of a period", "10/0.5s",
			"byte 5: want a whole number: write a smaller unit, such as 500ms instead of 0.5s"},
		{"negative period", "10/-1s", "byte 4: want a period without a sign"},
		{"293 years", "1/106752d", "byte 3: want a period of at most 292 years"},
		{"period beyond numbers", "1/99999999999999999999s", "byte 3: want a period of at most 292 years"},
		{"two periods", "1/s/s", `byte 3: unknown unit "s/s", want ` + units},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := policy.ParseRate(c.text)
			if !errors.Is(err, bucket.ErrInvalidLimit) || l != (bucket.Limit{}) {
				t.Fatalf("ParseRate(%q) = %+v, %v, want an error that wraps ErrInvalidLimit", c.text, l, err)
			}
			if !strings.HasPrefix(err.Error(), "rate \"") || !strings.HasSuffix(err.Error(), "\", "+c.want) {
				t.Errorf("ParseRate(%q): %q, want ...%q", c.text, err, c.want)
			}
		})
	}
}

func TestParseRateKeepsMessagesShort(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", 1<<20), "1/" + strings.Repeat("x", 1<<20)} {
		if _, err := policy.ParseRate(text); err == nil || len(err.Error()) > 400 {
			t.Errorf("the error of a rate of a megabyte is %v", err)
		}
	}
}

func TestParseCount(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "7": 7, "10_000": 10_000, "10k": 10_000, "1M": 1_000_000, "0k": 0, "9007199254M": 9007199254_000_000,
	} {
		if got, err := policy.ParseCount(text); err != nil || got != want {
			t.Errorf("ParseCount(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":            `count "", byte 1: want a whole number, such as "10", "10_000", "10k" or "1M"`,
		"1.5":         `count "1.5", byte 2: want a whole number, such as "10", "10_000", "10k" or "1M"`,
		"-1":          `count "-1", byte 1: want a number of at least 0`,
		"9007199255M": `count "9007199255M", byte 1: want at most 9007199254740992 (2^53)`,
	} {
		if _, err := policy.ParseCount(text); !errors.Is(err, bucket.ErrInvalidLimit) || err.Error() != want {
			t.Errorf("ParseCount(%q): %v, want %s", text, err, want)
		}
	}
}

func TestFormatRate(t *testing.T) {
	for _, c := range []struct {
		count int64
		per   time.Duration
		want  string
	}{
		{10, time.Minute, "10/min"},
		{10_000, time.Hour, "10k/h"},
		{1_000_000, 30 * day, "1M/30d"},
		{1500, time.Second, "1500/s"},
		{1, 7 * day, "1/week"},
		{10, 250 * time.Millisecond, "10/250ms"},
		{25, 9 * time.Second, "25/9s"},
		{1_000_000_001, time.Second, "1000000001/s"},
		{1, 1, "1/ns"},
		{3, 1001, "3/1001ns"},
		{1, 1<<63 - 1, "1/9223372036854775807ns"},
		{0, 0, "0/s"},
		{0, time.Hour, "0/h"},
	} {
		if got := policy.FormatRate(bucket.Limit{Count: c.count, Per: c.per, Burst: 3}); got != c.want {
			t.Errorf("FormatRate(%d per %v) = %q, want %q", c.count, c.per, got, c.want)
		}
	}
}

// TestRatesRoundTrip: every rate has a text, and the text says that very rate.
func TestRatesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := bucket.Limit{
			Count: rapid.Int64Range(0, bucket.MaxTokens).Draw(t, "count"),
			Per:   time.Duration(rapid.Int64Range(1, 1<<63-1).Draw(t, "per")),
		}
		if rapid.Bool().Draw(t, "round") {
			units := []time.Duration{time.Millisecond, time.Second, time.Minute, time.Hour, day, 7 * day}
			l.Per = time.Duration(rapid.Int64Range(1, 15000).Draw(t, "n")) * rapid.SampledFrom(units).Draw(t, "unit")
		}
		l.Burst = l.Count
		text := policy.FormatRate(l)
		if got, err := policy.ParseRate(text); err != nil || got != l {
			t.Fatalf("%+v is written %q and read as %+v, %v", l, text, got, err)
		}
	})
}

// TestHintsSayTheSameRate: the whole rate that is suggested for a decimal one is exactly that rate.
func TestHintsSayTheSameRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.StringMatching(`(0|[1-9][0-9]{0,5})\.[0-9]{0,3}[1-9]`).Draw(t, "count")
		period := rapid.SampledFrom([]string{"s", "250ms", "min", "7d"}).Draw(t, "period")
		_, err := policy.ParseRate(count + "/" + period)
		if err == nil {
			t.Fatal("a fraction was read")
		}
		_, rest, found := strings.Cut(err.Error(), "write ")
		hint, _, _ := strings.Cut(rest, " instead")
		got, err := policy.ParseRate(hint)
		if !found || err != nil {
			t.Fatalf("%s/%s: the hint %q is no rate: %v", count, period, hint, err)
		}
		per, err := policy.ParseRate("1/" + period)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := new(big.Rat).SetString(count)
		want.Quo(want, big.NewRat(int64(per.Per), 1))
		if big.NewRat(got.Count, int64(got.Per)).Cmp(want) != 0 {
			t.Fatalf("%s/%s: the hint %q is another rate", count, period, hint)
		}
	})
}

func FuzzParseRate(f *testing.F) {
	for _, s := range []string{
		"10/min", "10/250ms", "1M/30d", "0.5/s", "1e400/s", "10/month", "9007199254740993/s", "/", "é/s",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := policy.ParseRate(text)
		if err != nil {
			if !errors.Is(err, bucket.ErrInvalidLimit) || len(err.Error()) > 600 {
				t.Fatalf("ParseRate(%q): %v", text, err)
			}
			return
		}
		if err := l.Validate(); err != nil {
			t.Fatalf("ParseRate(%q) is not valid: %v", text, err)
		}
		if again, err := policy.ParseRate(policy.FormatRate(l)); err != nil || again != l {
			t.Fatalf("%q is %+v, written %q, read as %+v, %v", text, l, policy.FormatRate(l), again, err)
		}
	})
}
