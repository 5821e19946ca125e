package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// recorded is a Policies that says what it was told.
type recorded struct{}

func (recorded) Show(number uint64) (any, error) {
	if number == 9 {
		return nil, fmt.Errorf("%w: edition 9", ErrNotFound)
	}
	return fmt.Sprint("show ", number), nil
}
func (recorded) History() any { return "history" }
func (recorded) Apply(_ context.Context, name, text string) (any, error) {
	if text == "bad" {
		return nil, fmt.Errorf("%w: bad.yaml:1:1", policy.ErrInvalidPolicy)
	}
	return "apply " + name + " " + text, nil
}
func (recorded) Rollback(_ context.Context, number uint64) (any, error) {
	return fmt.Sprint("rollback ", number), nil
}
func (recorded) Withdraw(context.Context) (any, error) { return nil, errors.New("disk on fire") }
func (recorded) Explain(_ context.Context, req *policy.Request) (any, error) {
	return "explain " + req.Policy + req.Attributes["user"], nil
}

func TestPolicies(t *testing.T) {
	h := Handler(nil, Config{Policies: recorded{}})
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/v1/policies", "", 200, `"show 0"`},
		{"GET", "/v1/policies?number=3", "", 200, `"show 3"`},
		{"GET", "/v1/policies?number=9", "", 404, "edition 9"},
		{"GET", "/v1/policies?number=0", "", 400, "number is"},
		{"GET", "/v1/policies?number=x", "", 400, "number is"},
		{"POST", "/v1/policies", "{}", 405, "GET"},
		{"GET", "/v1/policies/history", "", 200, `"history"`},
		{"POST", "/v1/policies/apply", `{"name": "f", "text": "t"}`, 200, `"apply f t"`},
		{"POST", "/v1/policies/apply", `{"text": "t"}`, 200, `"apply policies t"`},
		{"POST", "/v1/policies/apply", `{"text": "bad"}`, 400, "bad.yaml:1:1"},
		{"POST", "/v1/policies/apply", `{}`, 400, "want"},
		{"POST", "/v1/policies/apply", `{"txt": "t"}`, 400, "txt"},
		{"POST", "/v1/policies/rollback", `{"number": 2}`, 200, `"rollback 2"`},
		{"POST", "/v1/policies/rollback", `{"number": -2}`, 400, "want"},
		{"POST", "/v1/policies/withdraw", `{}`, 500, "internal"},
		{"POST", "/v1/policies/explain", `{"policy": "p", "attributes": {"user": "ann"}}`, 200, `"explain pann"`},
		{"POST", "/v1/policies/explain", `{"cost": "x"}`, 400, "cost"},
	} {
		r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s %s: %d %s, want %d and %s", c.method, c.path, c.body, w.Code, w.Body, c.status, c.want)
		}
	}
	r := httptest.NewRequest(http.MethodPost, "/v1/policies/apply", strings.NewReader(`{"text": "t"}`))
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != http.StatusUnsupportedMediaType {
		t.Errorf("%d: a page of another site may change policies", w.Code)
	}
}
