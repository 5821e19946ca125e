package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// shelf is a LimitsStore in memory.
type shelf map[string]string

func (s shelf) SetLimits(_ context.Context, keys []policy.KeyLimits) []policy.KeyResult {
	out := make([]policy.KeyResult, len(keys))
	for i, k := range keys {
		switch {
		case k.Policy == "none":
			out[i].Err = fmt.Errorf("%w none", policy.ErrUnknownPolicy)
		case k.Policy == "fire":
			out[i].Err = errors.New("disk on fire")
		default:
			s[name(k)] = k.Text
			out[i] = policy.KeyResult{Number: uint64(i + 1), Owner: "n1", Kept: true}
		}
	}
	return out
}

func (s shelf) Limits(_ context.Context, k policy.KeyLimits) (policy.KeyLimits, policy.KeyResult, error) {
	k.Text = s[name(k)]
	return k, policy.KeyResult{Number: 7, Owner: "n1"}, nil
}

func name(k policy.KeyLimits) string {
	if k.Parts == nil {
		k.Parts = []string{k.Key}
	}
	return fmt.Sprintf("%s%q", k.Policy, k.Parts)
}

func TestLimits(t *testing.T) {
	store := shelf{}
	h := Handler(nil, Config{Limits: store})
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"PUT", "/v1/limits/api/acme", `{"tier": "gold"}`, 200, `{"number":1,"owner":"n1","kept":true,"copied":false}`},
		{"GET", "/v1/limits/api/acme", "", 200, `{"limits":{"tier":"gold"},"number":7,"owner":"n1"}`},
		{"DELETE", "/v1/limits/api/acme", "", 200, `"number":1`},
		{"GET", "/v1/limits/api/acme", "", 404, "no limits of its own"},
		{"PUT", "/v1/limits/llm/a%2Fb/x%20y", `{"unlimited": true}`, 200, `"owner"`},
		{"PUT", "/v1/limits/api/..", `{"unlimited": true}`, 200, `"owner"`},
		{"GET", "/v1/limits/api/%2E%2E", "", 200, `{"unlimited":true}`},
		{"PUT", "/v1/limits/ceiling", `{"unlimited": true}`, 200, `"owner"`},
		{"PUT", "/v1/limits/api/", `{"tier": "gold"}`, 400, "followed by a policy and the parts"},
		{"PUT", "/v1/limits/", `{"tier": "gold"}`, 400, "followed by a policy and the parts"},
		{"PUT", "/v1/limits/none/acme", `{"tier": "gold"}`, 404, "not_found"},
		{"PUT", "/v1/limits/fire/acme", `{"tier": "gold"}`, 500, "the log of the server"},
		{"PUT", "/v1/limits/api/acme", `tier: gold`, 400, "invalid_argument"},
		{"PUT", "/v1/limits/api/acme", `{"tier": "gold"`, 400, "invalid_argument"},
		{"PUT", "/v1/limits/api/acme", `{"tier": "` + strings.Repeat("x", 9000) + `"}`, 413, "too_large"},
		{"POST", "/v1/limits/api/acme", `{}`, 405, "GET, PUT or DELETE"},
		{"GET", "/v1/limits", "", 405, "POST"},
		{"POST", "/v1/limits", `{"keys": [{"policy": "api", "key": "ann", "limits": {"tier": "gold"}}, {"policy": "none", "key": "x", "limits": null},
			{"policy": "llm", "parts": ["a", ""], "limits": {"limits": [{"rate": "1/s"}]}}, {"policy": "api", "key": "bob"}, 7]}`, 200,
			`{"results":[{"number":1,"owner":"n1","kept":true,"copied":false},{"error":{"code":"not_found","message":"unknown policy none"}},` +
				`{"number":3,"owner":"n1","kept":true,"copied":false},{"error":{"code":"invalid_argument"`},
		{"POST", "/v1/limits", `{"keys": [{"policy": "api", "parts": ["a", null], "limits": null}]}`, 200, "null"},
		{"POST", "/v1/limits", `{"keys": [{"policy": "api", "parts": ["a"], "key": "a", "limits": null}]}`, 200, `\"key\" or \"parts\"`},
		{"POST", "/v1/limits", `{"keys": [` + strings.Repeat("0,", 1000) + `0]}`, 400, "at most 1000"},
		{"POST", "/v1/limits", `{}`, 400, "keys"},
	} {
		r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s %s %.100s: %d %s, want %d and %s", c.method, c.path, c.body, w.Code, w.Body, c.status, c.want)
		}
	}
	want := shelf{
		`api["acme"]`: "", `llm["a/b" "x y"]`: `{"unlimited": true}`, `ceiling[]`: `{"unlimited": true}`, `api[".."]`: `{"unlimited": true}`, `api["ann"]`: `{"tier": "gold"}`,
		`llm["a" ""]`: `{"limits": [{"rate": "1/s"}]}`,
	}
	for _, key := range slices.Concat(keys(store), keys(want)) {
		if store[key] != want[key] {
			t.Errorf("%s has %s, want %s", key, store[key], want[key])
		}
	}
	r := httptest.NewRequest(http.MethodPost, "/v1/limits", strings.NewReader(`{"keys": []}`))
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != http.StatusUnsupportedMediaType {
		t.Errorf("%d: a page of another site may change limits", w.Code)
	}
	r = httptest.NewRequest(http.MethodPut, "/v1/limits/api/acme", strings.NewReader(`{"tier": "gold"}`))
	r.Header.Set("Content-Type", "text/plain")
	w = httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != http.StatusBadRequest {
		t.Errorf("%d: a text is taken for JSON", w.Code)
	}
}

func keys(s shelf) (all []string) {
	for key := range s {
		all = append(all, key)
	}
	return all
}
