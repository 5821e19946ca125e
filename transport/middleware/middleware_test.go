package middleware

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/drossel-dev/drossel/bucket/policy"
)

// checker is a Checker made of a function.
type checker func(policy.Request) (policy.Decision, error)

func (c checker) Check(_ context.Context, req policy.Request) (policy.Decision, error) { return c(req) }

func deciding(d policy.Decision, err error) checker {
	return func(policy.Request) (policy.Decision, error) { return d, err }
}

// page is the handler behind the middleware.
var page = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("page")) })

// get sends one request from 192.0.2.1 through the middleware to page.
func get(c Checker, opt Options) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	New(c, opt)(page).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	return w
}

func TestRequest(t *testing.T) {
	tests := []struct {
		name string
		opt  Options
		want policy.Request
	}{
		{"defaults", Options{Policy: "api"}, policy.Request{Policy: "api", Key: "192.0.2.1"}},
		{"own key and cost", Options{
			Policy: "api",
			Key:    func(r *http.Request) (string, error) { return r.Method, nil },
			Cost:   func(*http.Request) int64 { return 5 },
		}, policy.Request{Policy: "api", Key: "GET", Cost: 5}},
		{"no key", Options{Policy: "all", Key: func(*http.Request) (string, error) { return "", nil }}, policy.Request{Policy: "all"}},
	}
	for _, tt := range tests {
		var got policy.Request
		w := get(checker(func(r policy.Request) (policy.Decision, error) {
			got = r
			return policy.Decision{Allowed: true}, nil
		}), tt.opt)
		if diff := cmp.Diff(tt.want, got); diff != "" || w.Body.String() != "page" {
			t.Errorf("%s: served %q (-want +got):\n%s", tt.name, w.Body, diff)
		}
	}
}

// The next handler gets the writer itself, so whatever it can do beside writing still works.
func TestWriterUntouched(t *testing.T) {
	w := httptest.NewRecorder()
	called := false
	next := http.HandlerFunc(func(got http.ResponseWriter, _ *http.Request) {
		called = true
		if got != http.ResponseWriter(w) {
			t.Errorf("the writer was wrapped: %T", got)
		}
	})
	New(deciding(policy.Decision{Allowed: true}, nil), Options{})(next).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if !called {
		t.Error("an allowed request was not served")
	}
}

func TestDeny(t *testing.T) {
	const types = `{"type":"https://iana.org/assignments/http-problem-types#`
	const exceeded = types + `quota-exceeded","title":"Too many requests","status":429,` +
		`"detail":"The quota is used up for now.","violated-policies":["burst"]}`
	tests := []struct {
		id     string
		in     policy.Decision
		status int
		retry  string
		body   string
	}{
		{"C55: what is left of the window", policy.Decision{LimitName: "burst", RetryAfter: 40 * time.Second},
			429, "40", exceeded},
		{"C56: a span, not a date", policy.Decision{LimitName: "burst", RetryAfter: 42 * time.Second}, 429, "42", exceeded},
		{"C58: rounded up", policy.Decision{LimitName: "burst", RetryAfter: 19100 * time.Millisecond}, 429, "20", exceeded},
		{"rounded up from a nanosecond", policy.Decision{LimitName: "burst", RetryAfter: 2*time.Second + 1},
			429, "3", exceeded},
		{"at least 1", policy.Decision{LimitName: "burst", RetryAfter: 1}, 429, "1", exceeded},
		{"at least 1 when unknown", policy.Decision{LimitName: "burst"}, 429, "1", exceeded},
		{"never", policy.Decision{LimitName: `a"b`, Never: true}, 429, "", types +
			`quota-exceeded","title":"Too many requests","status":429,` +
			`"detail":"The quota does not cover this request, and waiting does not help.",` +
			`"violated-policies":["a\"b"]}`},
		{"nobody could be asked", policy.Decision{LimitName: "burst", DecidedBy: policy.Timeout}, 503, "1",
			types + `temporary-reduced-capacity","title":"Not enough capacity","status":503,` +
				`"detail":"The quota cannot be looked up for now."}`},
	}
	for _, tt := range tests {
		w := get(deciding(tt.in, nil), Options{})
		if w.Code != tt.status || w.Header().Get("Retry-After") != tt.retry || w.Body.String() != tt.body {
			t.Errorf("%s: %d, Retry-After %q, %s\nwant %d, %q, %s", tt.id, w.Code, w.Header().Get("Retry-After"), w.Body,
				tt.status, tt.retry, tt.body)
		}
		if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
			t.Errorf("%s: Content-Type %q", tt.id, got)
		}
	}
	if w := get(deciding(policy.Decision{Allowed: true, RetryAfter: time.Second}, nil), Options{}); w.Code != 200 ||
		w.Header().Values("Retry-After") != nil {
		t.Errorf("allowed: %d, Retry-After %q, want 200 and none", w.Code, w.Header().Values("Retry-After"))
	}
}

func TestOnDeny(t *testing.T) {
	w := get(deciding(policy.Decision{Limit: 7}, nil), Options{
		OnDeny: func(w http.ResponseWriter, _ *http.Request, d policy.Decision) {
			w.WriteHeader(http.StatusTeapot)
			_, _ = fmt.Fprint(w, d.Limit)
		},
	})
	if w.Code != http.StatusTeapot || w.Body.String() != "7" || w.Header().Get("X-RateLimit-Limit") != "7" {
		t.Errorf("OnDeny: %d %s %v, want 418, 7 and the fields", w.Code, w.Body, w.Header())
	}
}

func TestErrors(t *testing.T) {
	tests := []struct {
		name   string
		check  error
		key    error
		status int
		body   string
	}{
		{"fault", errors.New("broken"), nil, 200, "page"},
		{"unavailable", policy.ErrUnavailable, nil, 200, "page"},
		{"unknown policy", policy.ErrUnknownPolicy, nil, 200, "page"},
		{"deadline of the check", context.DeadlineExceeded, nil, 200, "page"},
		{"invalid", fmt.Errorf("%w: key too long", policy.ErrInvalid), nil, 400, "Bad Request\n"},
		{"no key", nil, fmt.Errorf("%w: no cookie", ErrNoKey), 400, "Bad Request\n"},
		{"key fault", nil, errors.New("session store down"), 200, "page"},
	}
	for _, tt := range tests {
		var log bytes.Buffer
		w := get(deciding(policy.Decision{}, tt.check), Options{
			Policy: "api",
			Key:    func(*http.Request) (string, error) { return "k", tt.key },
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		if w.Code != tt.status || w.Body.String() != tt.body {
			t.Errorf("%s: %d %q, want %d %q", tt.name, w.Code, w.Body, tt.status, tt.body)
		}
		if w.Header().Get("RateLimit") != "" || !strings.Contains(log.String(), "level=WARN") {
			t.Errorf("%s: fields %v, log %q, want no fields and a warning", tt.name, w.Header(), log.String())
		}
	}
}

func TestErrorsAreLoggedSparsely(t *testing.T) {
	var log bytes.Buffer
	h := New(deciding(policy.Decision{}, policy.ErrUnavailable), Options{
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})(page)
	for range 1000 {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
	}
	if got := strings.Count(log.String(), "\n"); got != 10 { // 1, 2, 4 ... 512
		t.Errorf("1000 failures made %d lines, want 10", got)
	}
}

func TestOnError(t *testing.T) {
	broken := errors.New("broken")
	w := get(deciding(policy.Decision{}, broken), Options{
		OnError: func(w http.ResponseWriter, r *http.Request, next http.Handler, err error) {
			if !errors.Is(err, broken) {
				t.Errorf("OnError got %v", err)
			}
			w.Header().Set("X-Unlimited", "1")
			next.ServeHTTP(w, r)
		},
	})
	if w.Body.String() != "page" || w.Header().Get("X-Unlimited") != "1" {
		t.Errorf("OnError was not asked: %q %v", w.Body, w.Header())
	}
}

// A client that has hung up is not served, and an answer that cannot be read is not taken for a page.
func TestHungUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	opt := Options{OnError: func(_ http.ResponseWriter, _ *http.Request, _ http.Handler, err error) {
		t.Errorf("OnError was asked: %v", err)
	}}
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/", nil).WithContext(ctx)
	New(deciding(policy.Decision{}, ctx.Err()), opt)(page).ServeHTTP(w, r)
	if w.Code != http.StatusServiceUnavailable || w.Body.Len() != 0 {
		t.Errorf("hung up: %d %q, want 503 and nothing", w.Code, w.Body)
	}
}
