package headers

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/drossel-dev/drossel/bucket/policy"
)

var now = time.Date(2026, 12, 1, 0, 0, 0, 1, time.UTC)

func header(fields []Field) http.Header {
	h := make(http.Header)
	for _, f := range fields {
		h.Add(f.Name, f.Value)
	}
	return h
}

func TestFields(t *testing.T) {
	tests := []struct {
		id                     string
		in                     policy.Decision
		quota, left            string // Draft11
		limit, remaining, full string // XRateLimit
	}{
		{"C67: burst", policy.Decision{Allowed: true, LimitName: "burst", Limit: 100, Window: time.Minute, Remaining: 50,
			ResetAfter: 30 * time.Second}, `"burst";q=100;w=60`, `"burst";r=50;t=30`, "100", "50", "30"},
		{"C67: daily", policy.Decision{Allowed: true, LimitName: "daily", Limit: 1000, Window: 24 * time.Hour,
			Remaining: 900, ResetAfter: 200 * time.Second}, `"daily";q=1000;w=86400`, `"daily";r=900;t=200`,
			"1000", "900", "200"},
		{"C67: escaped", policy.Decision{Allowed: true, LimitName: `a"b\c`, Limit: 1, Window: time.Second},
			`"a\"b\\c";q=1;w=1`, `"a\"b\\c";r=0`, "1", "0", "0"},
		{"C67: not ASCII", policy.Decision{Allowed: true, LimitName: "ü\n\xff", Limit: 1, Window: time.Second},
			`"???";q=1;w=1`, `"???";r=0`, "1", "0", "0"},
		{"C61: retry and reset differ", policy.Decision{LimitName: "burst", Limit: 3, Window: time.Minute,
			RetryAfter: 20 * time.Second, ResetAfter: time.Minute}, `"burst";q=3;w=60`, `"burst";r=0;t=20`, "3", "0", "60"},
		{"rounded up", policy.Decision{LimitName: "burst", Limit: 3, Window: time.Minute + 1,
			RetryAfter: 19100 * time.Millisecond, ResetAfter: 1}, `"burst";q=3;w=61`, `"burst";r=0;t=20`, "3", "0", "1"},
		{"never: the cost is above the burst", policy.Decision{Never: true, LimitName: "burst", Limit: 3, Remaining: 1,
			Window: time.Minute, ResetAfter: 40 * time.Second}, `"burst";q=3;w=60`, `"burst";r=1;t=40`, "3", "1", "40"},
		{"no refill", policy.Decision{Never: true, LimitName: "once", Limit: 3}, `"once";q=3`, `"once";r=0`, "3", "0", ""},
		{"named by its policy", policy.Decision{Allowed: true, Policy: "api", Window: time.Second},
			`"api";q=0;w=1`, `"api";r=0`, "0", "0", "0"},
		{"without a name", policy.Decision{Allowed: true}, `"default";q=0`, `"default";r=0`, "0", "0", ""},
		{"15 digits", policy.Decision{Allowed: true, LimitName: "big", Limit: 1 << 53, Remaining: 1 << 53,
			Window: math.MaxInt64}, `"big";q=999999999999999;w=9223372037`, `"big";r=999999999999999`,
			"9007199254740992", "9007199254740992", "0"},
		{"no policy", policy.Decision{Allowed: true, DecidedBy: policy.NoPolicy}, "", "", "", "", ""},
		{"exempt", policy.Decision{Allowed: true, DecidedBy: policy.Exempt}, "", "", "", "", ""},
		{"C136: shadow", policy.Decision{Allowed: true, DecidedBy: policy.Shadow, LimitName: "trial", Limit: 2}, "", "",
			"", "", ""},
		{"nobody could be asked", policy.Decision{DecidedBy: policy.Timeout, Limit: 2}, "", "", "", "", ""},
	}
	for _, tt := range tests {
		h := header(Fields(Default(), now, tt.in))
		for name, want := range map[string]string{
			"RateLimit-Policy": tt.quota, "RateLimit": tt.left, "X-RateLimit-Limit": tt.limit,
			"X-RateLimit-Remaining": tt.remaining, "X-RateLimit-Reset": tt.full,
		} {
			if got := strings.Join(h.Values(name), "|"); got != want {
				t.Errorf("%s: %s is %s, want %s", tt.id, name, got, want)
			}
		}
	}
}

// TestNoStyles: no names are no styles, and not those of who has not chosen.
func TestNoStyles(t *testing.T) {
	if chosen, err := ParseStyles(nil); chosen == nil || len(chosen) > 0 || err != nil {
		t.Errorf("%#v %v", chosen, err)
	}
}

// told is what fields are, a line each.
func told(fields []Field) string {
	var b strings.Builder
	for _, f := range fields {
		b.WriteString(f.Name + ": " + f.Value + "\n")
	}
	return b.String()
}

// TestStyles: each style says the same in its own words.
func TestStyles(t *testing.T) {
	burst := policy.Decision{Allowed: true, LimitName: "burst", Unit: "requests", Limit: 100, Remaining: 50, Window: time.Minute, ResetAfter: 30 * time.Second}
	daily := policy.Decision{Allowed: true, LimitName: "daily", Limit: 1000, Remaining: 900, Window: 24 * time.Hour, ResetAfter: 200 * time.Second}
	tokens := policy.Decision{LimitName: "out", Unit: "output_tokens", Limit: 40_000, Window: time.Minute, RetryAfter: 119_500 * time.Microsecond,
		ResetAfter: time.Minute}
	once := policy.Decision{Never: true, LimitName: "once", Limit: 3}
	shadow := policy.Decision{Allowed: true, DecidedBy: policy.Shadow, ShadowDenied: true}
	for _, tt := range []struct {
		id    string
		style Style
		of    []policy.Decision
		want  string
	}{
		{"C67: both policies in both fields", Draft11, []policy.Decision{burst, daily},
			"RateLimit-Policy: \"burst\";q=100;w=60, \"daily\";q=1000;w=86400\nRateLimit: \"burst\";r=50;t=30, \"daily\";r=900;t=200\n"},
		{"a unit", Draft11, []policy.Decision{tokens},
			"RateLimit-Policy: \"out\";q=40000;qu=\"output_tokens\";w=60\nRateLimit: \"out\";r=0;t=1\n"},
		{"one name twice", Draft11, []policy.Decision{burst, {LimitName: "burst", Limit: 5, Window: time.Second, RetryAfter: time.Second}, burst},
			"RateLimit-Policy: \"burst\";q=5;w=1\nRateLimit: \"burst\";r=0;t=1\n"},
		{"", Draft07, []policy.Decision{burst, daily}, "RateLimit-Policy: 100;w=60, 1000;w=86400\nRateLimit: limit=100, remaining=50, reset=30\n"},
		{"nothing comes back: no reset, so no limit", Draft07, []policy.Decision{burst, once}, "RateLimit-Policy: 100;w=60\n"},
		{"nothing comes back, alone", Draft06, []policy.Decision{once}, ""},
		{"of one number there is one", Draft06, []policy.Decision{burst, {LimitName: "slow", Limit: 100, Window: time.Hour, RetryAfter: time.Second}},
			"RateLimit-Policy: 100;w=3600\nRateLimit-Limit: 100\nRateLimit-Remaining: 0\nRateLimit-Reset: 1\n"},
		{"a denial of no known wait says what Retry-After says", Draft06, []policy.Decision{{Limit: 3, Window: time.Minute}},
			"RateLimit-Policy: 3;w=60\nRateLimit-Limit: 3\nRateLimit-Remaining: 0\nRateLimit-Reset: 1\n"},
		{"", Draft06, []policy.Decision{daily, burst},
			"RateLimit-Policy: 1000;w=86400, 100;w=60\nRateLimit-Limit: 100\nRateLimit-Remaining: 50\nRateLimit-Reset: 30\n"},
		{"the one that denied", XRateLimit, []policy.Decision{burst, tokens, daily},
			"X-RateLimit-Limit: 40000\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 60\n"},
		{"C56: a date where a date is meant", GitHub, []policy.Decision{burst},
			"X-RateLimit-Limit: 100\nX-RateLimit-Remaining: 50\nX-RateLimit-Used: 50\nX-RateLimit-Resource: burst\nX-RateLimit-Reset: 1796083231\n"},
		{"", EnvoyDraft03, []policy.Decision{burst, daily},
			"X-RateLimit-Limit: 100, 100;w=60;name=\"burst\", 1000;w=86400;name=\"daily\"\nX-RateLimit-Remaining: 50\nX-RateLimit-Reset: 30\n"},
		{"nothing comes back", EnvoyDraft03, []policy.Decision{once}, "X-RateLimit-Limit: 3\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 0\n"},
		{"", OpenAI, []policy.Decision{daily, tokens}, "X-RateLimit-Limit-Requests: 1000\nX-RateLimit-Remaining-Requests: 900\n" +
			"X-RateLimit-Reset-Requests: 3m20s\nX-RateLimit-Limit-Tokens: 40000\nX-RateLimit-Remaining-Tokens: 0\n" +
			"X-RateLimit-Reset-Tokens: 120ms\nRetry-After-Ms: 120\n"},
		{"C136: shadow", OpenAI, []policy.Decision{shadow}, "X-RateLimit-Shadow: denied\n"},
		{"", None, []policy.Decision{burst, shadow}, ""},
	} {
		if got := told(Fields([]Style{tt.style}, now, tt.of...)); got != tt.want {
			t.Errorf("%v %s:\n%swant\n%s", tt.style, tt.id, got, tt.want)
		}
	}
	if got := Fields(nil, now, burst); got != nil {
		t.Errorf("no style sets %v", got)
	}
}

func TestParseStyles(t *testing.T) {
	for _, tt := range []struct {
		names []string
		wrong string
	}{
		{[]string{"draft-11", "x-ratelimit", "openai"}, ""},
		{[]string{"none"}, ""},
		{nil, ""},
		{[]string{"draft-12", "git"}, `"git" is unknown`},
		{[]string{"draft-11", "draft-07"}, "draft-11 and draft-07 both set RateLimit"},
		{[]string{"github", "openai", "x-ratelimit"}, "github and x-ratelimit both set X-RateLimit-Limit"},
		{[]string{"github", "github"}, "github is there twice"},
	} {
		got, err := ParseStyles(tt.names)
		switch {
		case tt.wrong == "" && err != nil, tt.wrong != "" && (!errors.Is(err, ErrStyle) || !strings.Contains(err.Error(), tt.wrong)):
			t.Errorf("%q: %v, want %q", tt.names, err, tt.wrong)
		case err == nil && len(got) != len(tt.names):
			t.Errorf("%q: %v", tt.names, got)
		}
	}
	if Validate([]Style{99}) == nil || Style(99).String() != "unknown" {
		t.Error("style 99 is known")
	}
	if err := Validate(Default()); err != nil {
		t.Error(err)
	}
}

// C58: whoever waits as long as he was told has waited long enough, in every style.
func TestWaitsAreRoundedUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wait := time.Duration(rapid.Int64Range(1, 1<<50).Draw(t, "wait"))
		d := policy.Decision{LimitName: "x", Limit: 5, Window: time.Minute, RetryAfter: wait, ResetAfter: wait}
		at := time.Unix(1_700_000_000, rapid.Int64Range(0, 999_999_999).Draw(t, "now"))
		seconds := func(text string) time.Duration {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil || n < 1 {
				t.Fatalf("%q is no number of seconds", text)
			}
			return time.Duration(n) * time.Second
		}
		if got := seconds(Deny(d).RetryAfter); got < wait || got-wait >= time.Second {
			t.Fatalf("Retry-After is %v, want %v", got, wait)
		}
		if got := seconds(header(Fields([]Style{Draft06}, at, d)).Get("RateLimit-Reset")); got < wait {
			t.Fatalf("RateLimit-Reset is %v, want %v", got, wait)
		}
		date := time.Unix(int64(seconds(header(Fields([]Style{GitHub}, at, d)).Get("X-RateLimit-Reset"))/time.Second), 0)
		if got := date.Sub(at); got < wait || got-wait >= time.Second {
			t.Fatalf("the date is in %v, want %v", got, wait)
		}
		h := header(Fields([]Style{OpenAI}, at, d))
		if got, err := time.ParseDuration(h.Get("X-RateLimit-Reset-Requests")); err != nil || got < wait {
			t.Fatalf("%v %v, want %v", got, err, wait)
		}
		if got, err := strconv.ParseInt(h.Get("Retry-After-Ms"), 10, 64); err != nil || time.Duration(got)*time.Millisecond < wait {
			t.Fatalf("%v %v, want %v", got, err, wait)
		}
	})
}
