package web

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/drossel-dev/drossel/bucket/policy"
)

func TestForget(t *testing.T) {
	var asked []string
	h := Handler(deciding(policy.Decision{}, nil), Config{Forget: func(member string) (known bool, err error) {
		asked = append(asked, member)
		switch member {
		case "n2":
			return true, nil
		case "fixed":
			return true, errors.New("members never change")
		}
		return false, errors.New("no such member; there are n1 and n2")
	}})
	for _, tt := range []struct {
		method, kind, body string
		status             int
		want               string
		asked              string
	}{
		{"POST", "application/json", `{"member":"n2"}`, 200, `{"forgotten":"n2"}`, "n2"},
		{"POST", "application/json; charset=utf-8", `{"member":"n2"}`, 200, `{"forgotten":"n2"}`, "n2"},
		{"POST", "application/json", `{"member":"n9"}`, 404, `"not_found","message":"no such member; there are n1 and n2"`, "n9"},
		{"POST", "application/json", `{"member":"fixed"}`, 409, `"conflict","message":"members never change"`, "fixed"},
		{"POST", "application/json", `{}`, 400, `want {\"member\": the id of a member}`, ""},
		{"POST", "application/json", `{"member":""}`, 400, "invalid_argument", ""},
		{"POST", "application/json", `{"member":["n2"]}`, 400, "member: want", ""},
		{"POST", "application/json", `{"membre":"n2"}`, 400, `did you mean \"member\"?`, ""},
		{"POST", "application/json", `{"member":"n2"} x`, 400, "invalid_argument", ""},
		{"POST", "application/json", `{"member":"` + strings.Repeat("n", forgetBytes) + `"}`, 413, "too_large", ""},
		{"POST", "text/plain", `{"member":"n2"}`, 415, "application/json", ""},
		{"POST", "", `{"member":"n2"}`, 415, "application/json", ""},
		{"GET", "", "", 405, "method_not_allowed", ""},
	} {
		asked = nil
		r := httptest.NewRequest(tt.method, "/v1/members/forget", strings.NewReader(tt.body))
		if tt.kind != "" {
			r.Header.Set("Content-Type", tt.kind)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) || strings.Join(asked, " ") != tt.asked {
			t.Errorf("%s %.60s (%s): %d %s, asked %q; want %d, %s, asked %q", tt.method, tt.body, tt.kind, w.Code, w.Body, asked,
				tt.status, tt.want, tt.asked)
		}
	}
	if w := ask(Handler(deciding(policy.Decision{}, nil), Config{}), "POST", "/v1/members/forget", `{"member":"n2"}`); w.Code != 404 {
		t.Errorf("without members to forget: %d %s", w.Code, w.Body)
	}
}
