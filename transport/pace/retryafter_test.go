package pace

import (
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/headers"
)

func header(pairs ...string) http.Header {
	h := make(http.Header)
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

func TestTold(t *testing.T) {
	const forever = time.Duration(math.MaxInt64)
	none := time.Duration(-1)
	tests := []struct {
		id     string
		status int
		h      http.Header
		want   time.Duration
	}{
		{"seconds", 429, header("Retry-After", "120"), 2 * time.Minute},
		{"503", 503, header("Retry-After", " 7 "), 7 * time.Second},
		{"nothing", 429, nil, none},
		{"another status", 200, header("Retry-After", "120", "RateLimit", `"a";r=0;t=9`), none},
		{"moved, later", 301, header("Retry-After", "120"), none},
		{"zero", 429, header("Retry-After", "0"), 0},
		{"negative", 429, header("Retry-After", "-5"), none},
		{"signed", 429, header("Retry-After", "+5"), none},
		{"fraction", 429, header("Retry-After", "1.5"), none},
		{"list", 429, header("Retry-After", "1, 2"), none},
		{"hexadecimal", 429, header("Retry-After", "0x10"), none},
		{"word", 429, header("Retry-After", "soon"), none},
		{"C56: an epoch", 429, header("Retry-After", "1700000060"), 1700000060 * time.Second},
		{"1e18", 429, header("Retry-After", "1000000000000000000"), forever},
		{"more than an integer holds", 429, header("Retry-After", strings.Repeat("9", 400)), forever},
		{"date", 429, header("Retry-After", "Tue, 01 Dec 2026 00:00:42 GMT"), 42 * time.Second},
		{"date by its own clock", 429, header("Retry-After", "Tue, 01 Dec 2026 09:00:42 GMT", "Date", "Tue, 01 Dec 2026 09:00:00 GMT"),
			42 * time.Second},
		{"date that has passed", 429, header("Retry-After", "Mon, 30 Nov 2026 00:00:00 GMT"), 0},
		{"date far away", 429, header("Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT"), forever},
		{"date by a broken clock", 429, header("Retry-After", "Tue, 01 Dec 2026 00:00:42 GMT", "Date", "now"), 42 * time.Second},
		{"milliseconds", 429, header("Retry-After-Ms", "250", "Retry-After", "1"), 250 * time.Millisecond},
		{"broken milliseconds", 429, header("Retry-After-Ms", "1e3", "Retry-After", "1"), time.Second},
		{"RateLimit", 429, header("RateLimit", `"burst";r=0;t=30`), 30 * time.Second},
		{"RateLimit after Retry-After", 429, header("Retry-After", "5", "RateLimit", `"burst";r=0;t=30`), 5 * time.Second},
		{"C67: two limits, one with something left", 429, header("RateLimit", `"burst";r=50;t=30, "daily";r=0;t=200`), 200 * time.Second},
		{"the longer of two fields", 429, header("RateLimit", `"a";r=0;t=30`, "RateLimit", `"b";t=60;r=0;pk=:Cg==:`), time.Minute},
		{"C67: a name with separators", 429, header("RateLimit", `"a\";r=0;t=9,\\";r=1;t=3`), none},
		{"something left", 429, header("RateLimit", `"burst";r=1;t=30`), none},
		{"no t", 429, header("RateLimit", `"burst";r=0`), none},
		{"the form of draft 07", 429, header("RateLimit", `limit=100, remaining=0, reset=30`), none},
	}
	for _, tt := range tests {
		got, ok := told(&http.Response{StatusCode: tt.status, Header: tt.h}, start)
		if !ok {
			got = none
		}
		if got != tt.want {
			t.Errorf("%s: %d %v says %v, want %v", tt.id, tt.status, tt.h, got, tt.want)
		}
	}
}

// TestOwnFields: what this limiter's own servers say is understood, in all fields alike.
func TestOwnFields(t *testing.T) {
	d := policy.Decision{LimitName: "burst", Limit: 3, RetryAfter: 19100 * time.Millisecond, ResetAfter: time.Minute, Window: time.Minute}
	for style, want := range map[headers.Style]time.Duration{headers.Draft11: 20 * time.Second, headers.OpenAI: 19100 * time.Millisecond} {
		h := make(http.Header)
		for _, f := range headers.Fields([]headers.Style{style}, start, d) {
			h.Set(f.Name, f.Value)
		}
		if got, ok := told(&http.Response{StatusCode: 429, Header: h}, start); !ok || got != want {
			t.Errorf("%v: %v says %v, %t, want %v", style, h, got, ok, want)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"120", "-1", "1e18", "Tue, 01 Dec 2026 00:00:42 GMT", "99999999999999999999", "", "0x1", " 5", "٣"} {
		f.Add(seed, "Tue, 01 Dec 2026 00:00:00 GMT")
	}
	f.Fuzz(func(t *testing.T, field, date string) {
		wait, ok := retryAfter(field, date, start)
		if wait < 0 || !ok && wait != 0 {
			t.Errorf("%q with date %q: %v, %t", field, date, wait, ok)
		}
		if closed := new(Options).believed(wait); closed < least || closed > defaultMaxClosed {
			t.Errorf("%q closes a place for %v", field, closed)
		}
	})
}

func FuzzRateLimit(f *testing.F) {
	for _, seed := range []string{`"a";r=0;t=30`, `"a\"b";r=0;t=1, "c";r=5`, `"`, `"\`, `;;,,==`, `r=0;t=99999999999999999999`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, field string) {
		wait, ok := nothingLeft([]string{field})
		if wait < 0 || !ok && wait != 0 {
			t.Errorf("%q: %v, %t", field, wait, ok)
		}
		// One more field that says nothing changes nothing, even if this one leaves a quote open.
		if more, _ := nothingLeft([]string{field, `"other";r=1;t=999999`}); more != wait {
			t.Errorf("%q: %v, with another field %v", field, wait, more)
		}
	})
}
