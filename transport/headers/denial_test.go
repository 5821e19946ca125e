package headers

import (
	"encoding/json"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// TestDenyOfSeveral: one answer for a request that several limits have spoken of.
func TestDenyOfSeveral(t *testing.T) {
	burst := policy.Decision{LimitName: "burst", RetryAfter: 1500 * time.Millisecond}
	daily := policy.Decision{LimitName: "daily", RetryAfter: time.Hour}
	never := policy.Decision{LimitName: "once", Never: true}
	nobody := policy.Decision{LimitName: "far", DecidedBy: policy.Timeout}
	missing := policy.Decision{Policy: "users", DecidedBy: policy.MissingKey, Never: true}
	passed := policy.Decision{Allowed: true, LimitName: "wide", RetryAfter: 9 * time.Hour}
	for _, tt := range []struct {
		id       string
		in       []policy.Decision
		status   int
		retry    string
		violated []string
	}{
		{"the longest wait, and both names", []policy.Decision{burst, passed, daily}, 429, "3600", []string{"burst", "daily"}},
		{"a name once", []policy.Decision{burst, burst}, 429, "2", []string{"burst"}},
		{"waiting helps against one of them", []policy.Decision{burst, never}, 429, "", []string{"burst", "once"}},
		{"one could be asked", []policy.Decision{nobody, burst}, 429, "2", []string{"burst"}},
		{"none could be asked", []policy.Decision{nobody, passed}, 503, "1", nil},
		{"no key", []policy.Decision{missing}, 429, "", []string{"users"}},
	} {
		got := Deny(tt.in...)
		var p problem
		if err := json.Unmarshal(got.Body, &p); err != nil {
			t.Fatal(err)
		}
		diff := cmp.Diff(tt.violated, p.ViolatedPolicies)
		if diff != "" || got.Status != tt.status || p.Status != tt.status || got.RetryAfter != tt.retry {
			t.Errorf("%s: %d %d, Retry-After %q, want %d and %q; violated (-want +got):\n%s", tt.id, got.Status, p.Status, got.RetryAfter,
				tt.status, tt.retry, diff)
		}
	}
}

func TestWrite(t *testing.T) {
	w := httptest.NewRecorder()
	Deny(policy.Decision{LimitName: "once", Never: true}).Write(w, 403)
	h := w.Header()
	if w.Code != 403 || h.Get("Content-Type") != ContentType || h.Get("Cache-Control") != "no-store" || h.Values("Retry-After") != nil {
		t.Errorf("%d %v", w.Code, h)
	}
}
