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
