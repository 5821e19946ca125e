package headers_test

import (
	"fmt"
	"net/http/httptest"
	"time"

	"github.com/drossel-dev/drossel/bucket/policy"
	"github.com/drossel-dev/drossel/transport/headers"
)

func ExampleFields() {
	d := policy.Decision{Allowed: true, LimitName: "burst", Limit: 100, Remaining: 50, Window: time.Minute, ResetAfter: 30 * time.Second}
	for _, f := range headers.Fields(headers.Default(), time.Now(), d) {
		fmt.Printf("%s: %s\n", f.Name, f.Value)
	}
	// Output:
	// RateLimit-Policy: "burst";q=100;w=60
	// RateLimit: "burst";r=50;t=30
	// X-RateLimit-Limit: 100
	// X-RateLimit-Remaining: 50
	// X-RateLimit-Reset: 30
}

func ExampleDeny() {
	w := httptest.NewRecorder()
	headers.Deny(policy.Decision{LimitName: "burst", RetryAfter: 1500 * time.Millisecond}).Write(w, 0)
	fmt.Println(w.Code, w.Header().Get("Retry-After"))
	fmt.Println(w.Body)
	// Output:
	// 429 2
	// {"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Too many requests","status":429,"detail":"The quota is used up for now.","violated-policies":["burst"]}
}

func ExampleParseStyles() {
	_, err := headers.ParseStyles([]string{"github", "x-ratelimit"})
	fmt.Println(err)
	// Output: header styles github and x-ratelimit both set X-RateLimit-Limit: leave one out
}
