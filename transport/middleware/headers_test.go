package middleware

import (
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/drossel-dev/drossel/bucket/policy"
)

func TestHeaders(t *testing.T) {
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
		h := get(deciding(tt.in, nil), Options{}).Header()
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

func TestHeaderStyles(t *testing.T) {
	tests := []struct {
		styles   []Style
		draft, x bool
	}{
		{nil, true, true}, {[]Style{}, false, false}, {[]Style{None}, false, false}, {[]Style{Draft11}, true, false},
		{[]Style{XRateLimit}, false, true}, {[]Style{XRateLimit, Draft11}, true, true},
	}
	for _, tt := range tests {
		h := get(deciding(policy.Decision{Allowed: true}, nil), Options{Headers: tt.styles}).Header()
		if draft, x := h.Get("RateLimit") != "", h.Get("X-RateLimit-Limit") != ""; draft != tt.draft || x != tt.x {
			t.Errorf("styles %v: draft-11 %t, x-ratelimit %t, want %t, %t", tt.styles, draft, x, tt.draft, tt.x)
		}
	}
}

// member is one member of a structured-field list as these fields have it: a String with Integer parameters.
var member = regexp.MustCompile(`^"((?:[ !#-\[\]-~]|\\["\\])*)"((?:;[a-z]+=[0-9]{1,15})+)$`)

// C67: whatever the name and the numbers, both fields parse, with the same name in both, and it is the limit's name.
func TestDraft11Parses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[ -~]{1,20}`).Draw(t, "name")
		d := policy.Decision{
			Allowed:    rapid.Bool().Draw(t, "allowed"),
			LimitName:  name,
			Limit:      rapid.Int64Range(0, 1<<53).Draw(t, "limit"),
			Remaining:  rapid.Int64Range(0, 1<<53).Draw(t, "remaining"),
			Window:     time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "window")),
			RetryAfter: time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "retry")),
			ResetAfter: time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "reset")),
		}
		h := make(http.Header)
		Draft11.set(h, d)
		for _, field := range []string{"RateLimit-Policy", "RateLimit"} {
			parts := member.FindStringSubmatch(h.Get(field))
			if parts == nil {
				t.Fatalf("%s does not parse: %s", field, h.Get(field))
			}
			if got := regexp.MustCompile(`\\(.)`).ReplaceAllString(parts[1], "$1"); got != name {
				t.Fatalf("%s names %q, want %q", field, got, name)
			}
			for _, param := range strings.Split(parts[2], ";")[1:] {
				key, text, _ := strings.Cut(param, "=")
				if n, err := strconv.ParseInt(text, 10, 64); err != nil || n == 0 && (key == "w" || key == "t") {
					t.Fatalf("%s: %s is %s: %v", field, key, text, err)
				}
			}
		}
	})
}
