package middleware_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/drossel-dev/drossel/bucket"
	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/middleware"
)

// once admits one request of each key, and the next a minute later.
type once map[string]bool

func (o once) Check(_ context.Context, req policy.Request) (policy.Decision, error) {
	limit := bucket.Limit{Count: 1, Per: time.Minute, Burst: 1}
	d := policy.Decision{
		Allowed:    !o[req.Key],
		LimitName:  "1/min",
		Limit:      limit.Burst,
		Window:     limit.Window(),
		ResetAfter: limit.Window(),
		DecidedBy:  policy.Owner,
	}
	if !d.Allowed {
		d.RetryAfter = limit.Window()
	}
	o[req.Key] = true
	return d, nil
}

func Example() {
	var limiter middleware.Checker = once{} // in a service: a node
	limited := middleware.New(limiter, middleware.Options{Policy: "pages", TrustedProxies: 1})
	handler := limited(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))

	for range 2 {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("X-Forwarded-For", "203.0.113.7")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		fmt.Printf("%d %s %q\n", w.Code, w.Header().Get("RateLimit"), w.Header().Get("Retry-After"))
	}
	// Output:
	// 200 "1/min";r=0;t=60 ""
	// 429 "1/min";r=0;t=60 "60"
}

// Clients are told apart by the key that the gateway in front has checked; without one they are refused. If nobody can decide, nobody
// gets in.
func ExampleHeaderKey() {
	limited := middleware.New(once{}, middleware.Options{
		Policy:     "keys",
		Key:        middleware.HeaderKey("X-API-Key"),
		FailClosed: true,
	})
	handler := limited(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	for _, key := range []string{"ann", "ann", ""} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("X-API-Key", key)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		fmt.Println(w.Code)
	}
	// Output:
	// 200
	// 429
	// 400
}

// The route of a mux says which policy applies, health checks are nobody's, and what the policies match is up to them.
func ExampleOptions_byRoute() {
	limited := middleware.New(once{}, middleware.Options{
		PolicyFor: func(r *http.Request) string {
			if r.Pattern == "POST /login" {
				return "logins"
			}
			return "" // all policies that match
		},
		Attributes: func(r *http.Request) map[string]string {
			all := middleware.Attributes(r, 1)
			all["tenant"] = r.Header.Get("X-Tenant") // that somebody in front has checked
			return all
		},
		Skip: func(r *http.Request) bool { return r.URL.Path == "/healthz" },
	})
	mux := http.NewServeMux()
	mux.Handle("POST /login", limited(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "welcome") })))
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("POST", "/login", nil))
	fmt.Println(w.Code, w.Body)
	// Output: 200 welcome
}
