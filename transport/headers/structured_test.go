package headers

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
	"pgregory.net/rapid"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// anyDecision is what a limit may say, and more: names that no policy may have.
var anyDecision = rapid.Custom(func(t *rapid.T) policy.Decision {
	span := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, math.MaxInt64))
	d := policy.Decision{
		Allowed:    rapid.Bool().Draw(t, "allowed"),
		LimitName:  rapid.OneOf(rapid.StringMatching(`[ -~]{0,9}`), rapid.String(), rapid.Just("x")).Draw(t, "name"),
		Unit:       rapid.SampledFrom([]string{"", policy.Requests, "tokens", "\"\\\n"}).Draw(t, "unit"),
		Limit:      rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(0, 1<<53)).Draw(t, "limit"),
		Window:     time.Duration(span.Draw(t, "window")),
		ResetAfter: time.Duration(span.Draw(t, "reset")),
	}
	d.Remaining = rapid.Int64Range(0, d.Limit).Draw(t, "remaining")
	if d.Never = !d.Allowed && rapid.Bool().Draw(t, "never"); !d.Never {
		d.RetryAfter = time.Duration(span.Draw(t, "retry"))
	}
	return d
})

// list reads a field as a structured-field list of items.
func list(t *rapid.T, field string) (items []httpsfv.Item) {
	members, err := httpsfv.UnmarshalList([]string{field})
	if err != nil {
		t.Fatalf("%s: %v", field, err)
	}
	for _, m := range members {
		item, ok := m.(httpsfv.Item)
		if !ok {
			t.Fatalf("%s: %T is no item", field, m)
		}
		items = append(items, item)
	}
	return items
}

// number returns a parameter; -1 if it is not there.
func number(t *rapid.T, item httpsfv.Item, name string) int64 {
	value, ok := item.Params.Get(name)
	if !ok {
		return -1
	}
	n, ok := value.(int64)
	if !ok || n < 0 {
		t.Fatalf("%s is %v, want an integer of at least 0", name, value)
	}
	return n
}

// TestEveryStyleParses: whatever limits say, the fields are such as HTTP carries, each is there once, and those that are structured fields
// are read by a parser that is not ours, with what their drafts require.
func TestEveryStyleParses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ds := rapid.SliceOfN(anyDecision, 1, 4).Draw(t, "decisions")
		for s := range Style(len(styles)) {
			fields := Fields([]Style{s}, now, ds...)
			h := header(fields)
			if len(h) != len(fields) {
				t.Fatalf("%v sets a field twice: %v", s, fields)
			}
			for _, f := range fields {
				if strings.ContainsFunc(f.Value, func(r rune) bool { return r < ' ' || r > '~' }) || f.Value == "" {
					t.Fatalf("%v: %s: %q", s, f.Name, f.Value)
				}
			}
			checks[s](t, func(name string) (string, bool) { return h.Get(name), h.Get(name) != "" })
		}
	})
}

// checks are what each style is checked for.
var checks = map[Style]func(t *rapid.T, get func(string) (string, bool)){
	None: func(*rapid.T, func(string) (string, bool)) {},
	Draft11: func(t *rapid.T, get func(string) (string, bool)) { // C67
		policies, _ := get("RateLimit-Policy")
		limits, _ := get("RateLimit")
		quotas, left := list(t, policies), list(t, limits)
		if len(quotas) == 0 || len(quotas) != len(left) {
			t.Fatalf("%d policies and %d limits, want as many", len(quotas), len(left))
		}
		for i, quota := range quotas {
			if name, ok := quota.Value.(string); !ok || name != left[i].Value {
				t.Fatalf("item %d is %v of the policies and %v of the limits", i, quota.Value, left[i].Value)
			}
			if number(t, quota, "q") < number(t, left[i], "r") || number(t, left[i], "r") < 0 {
				t.Fatalf("item %d: more is left than there is, or it is not said: %s, %s", i, policies, limits)
			}
			if number(t, quota, "w") == 0 || number(t, left[i], "t") == 0 {
				t.Fatalf("item %d: a window of 0: %s, %s", i, policies, limits)
			}
			if unit, ok := quota.Params.Get("qu"); ok {
				if _, ok := unit.(string); !ok {
					t.Fatalf("qu is %v", unit)
				}
			}
		}
	},
	Draft07: func(t *rapid.T, get func(string) (string, bool)) {
		windows(t, get)
		field, ok := get("RateLimit")
		if !ok {
			return
		}
		said, err := httpsfv.UnmarshalDictionary([]string{field})
		if err != nil {
			t.Fatalf("%s: %v", field, err)
		}
		for _, name := range []string{"limit", "remaining", "reset"} {
			item, _ := said.Get(name)
			if n, ok := item.(httpsfv.Item).Value.(int64); !ok || n < 0 {
				t.Fatalf("%s of %s", name, field)
			}
		}
	},
	Draft06: func(t *rapid.T, get func(string) (string, bool)) {
		windows(t, get)
		numbers(t, get, "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")
	},
	EnvoyDraft03: func(t *rapid.T, get func(string) (string, bool)) {
		field, _ := get("X-RateLimit-Limit")
		for i, item := range list(t, field) {
			if n, ok := item.Value.(int64); !ok || n < 0 || i > 0 && number(t, item, "w") < 1 {
				t.Fatalf("item %d of %s", i, field)
			}
		}
		numbers(t, get, "X-RateLimit-Remaining", "X-RateLimit-Reset")
	},
	XRateLimit: func(t *rapid.T, get func(string) (string, bool)) {
		wholes(t, get, "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
	},
	GitHub: func(t *rapid.T, get func(string) (string, bool)) {
		wholes(t, get, "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Used", "X-RateLimit-Reset")
	},
	OpenAI: func(t *rapid.T, get func(string) (string, bool)) {
		wholes(t, get, "Retry-After-Ms")
		for _, of := range []string{"Requests", "Tokens"} {
			wholes(t, get, "X-RateLimit-Limit-"+of, "X-RateLimit-Remaining-"+of)
			if field, ok := get("X-RateLimit-Reset-" + of); ok {
				if d, err := time.ParseDuration(field); err != nil || d < 0 || d%time.Millisecond != 0 {
					t.Fatalf("reset %s: %v", field, err)
				}
			}
		}
	},
}

// windows checks a RateLimit-Policy of items without names: each has a window, and no two have one number.
func windows(t *rapid.T, get func(string) (string, bool)) {
	field, ok := get("RateLimit-Policy")
	if !ok {
		return
	}
	seen := map[int64]bool{}
	for _, item := range list(t, field) {
		n, ok := item.Value.(int64)
		if !ok || n < 0 || seen[n] || number(t, item, "w") < 1 {
			t.Fatalf("%v of %s", item.Value, field)
		}
		seen[n] = true
	}
}

// numbers checks that fields are structured-field integers, and all there or none.
func numbers(t *rapid.T, get func(string) (string, bool), names ...string) {
	there := 0
	for _, name := range names {
		field, ok := get(name)
		if !ok {
			continue
		}
		there++
		item, err := httpsfv.UnmarshalItem([]string{field})
		if n, ok := item.Value.(int64); err != nil || !ok || n < 0 {
			t.Fatalf("%s: %s: %v", name, field, err)
		}
	}
	if there != 0 && there != len(names) {
		t.Fatalf("%d of %q", there, names)
	}
}

// wholes checks that fields are decimal numbers, where they are.
func wholes(t *rapid.T, get func(string) (string, bool), names ...string) {
	for _, name := range names {
		if field, ok := get(name); ok {
			if n, err := strconv.ParseInt(field, 10, 64); err != nil || n < 0 {
				t.Fatalf("%s: %s: %v", name, field, err)
			}
		}
	}
}

// TestNamesSurvive: C67. A name that a policy may have is read as it is.
func TestNamesSurvive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[ -~]{1,20}`).Draw(t, "name")
		h := header(Fields([]Style{Draft11}, now, policy.Decision{LimitName: name, Limit: 5, Window: time.Minute, RetryAfter: 1}))
		for _, field := range []string{"RateLimit-Policy", "RateLimit"} {
			if items := list(t, h.Get(field)); len(items) != 1 || items[0].Value != name {
				t.Fatalf("%s: %s, want the name %q", field, h.Get(field), name)
			}
		}
	})
}
